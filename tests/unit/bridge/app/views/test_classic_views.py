"""Members of classic groups as the admin room shows them."""

from dataclasses import replace

import pytest

from bridge.admin.contracts import TopicPartitions
from bridge.app.views import by_topic, member_views
from bridge.engine.describe import ClassicGroupSnapshot
from bridge.engine.model import ClassicMember
from translators.dialects.consumer_protocol import encode_assignment
from translators.dialects.ids import ClientIdentity, GroupId, MemberId, TopicName, TopicPartition

PARTITIONS = frozenset({TopicPartition(TopicName("t"), 1), TopicPartition(TopicName("t"), 0)})
MEMBER = ClassicMember(
    member_id=MemberId("m"),
    instance_id=None,
    identity=ClientIdentity(client_id="c", client_host="/127.0.0.1", software_name="lib", software_version="1"),
    session_timeout_ms=10_000,
    rebalance_timeout_ms=60_000,
    protocols=(),
    assignment=encode_assignment(PARTITIONS),
)
GROUP = ClassicGroupSnapshot(
    group_id=GroupId("g"),
    state="Stable",
    generation=3,
    protocol_type="consumer",
    protocol_name="range",
    leader=MemberId("m"),
    members=(MEMBER,),
    joining=frozenset(),
    syncing=frozenset(),
    pending=frozenset(),
    is_draining=False,
)


def test_consumer_shows_its_generation_and_what_its_leader_gave_it() -> None:
    """No epoch: the group has none."""
    (view,) = member_views(GROUP)
    assert (view.protocol, view.state, view.generation, view.member_epoch) == ("classic", "Stable", 3, None)
    assert (view.library, view.library_version) == ("lib", "1")
    assert view.assigned == view.target == (TopicPartitions("t", (0, 1)),)


@pytest.mark.parametrize(
    ("protocol_type", "assignment"),
    [("connect", MEMBER.assignment), ("consumer", b""), ("consumer", b"\0")],
)
def test_assignment_that_nobody_can_read_is_left_out(protocol_type: str, assignment: bytes) -> None:
    """Connect has words of its own."""
    member = replace(MEMBER, assignment=assignment)
    (view,) = member_views(replace(GROUP, protocol_type=protocol_type, members=(member,)))
    assert view.assigned == ()


def test_member_shows_what_it_waits_for() -> None:
    """As a translated one would."""
    parked = frozenset({MEMBER.member_id})
    (joining,) = member_views(replace(GROUP, state="PreparingRebalance", joining=parked))
    (syncing,) = member_views(replace(GROUP, state="CompletingRebalance", syncing=parked))
    assert (joining.state, syncing.state) == ("PreparingRebalance", "CompletingRebalance")


def test_topics_and_partitions_are_in_order() -> None:
    """However they came."""
    other = TopicPartition(TopicName("a"), 7)
    assert by_topic([*PARTITIONS, other]) == (TopicPartitions("a", (7,)), TopicPartitions("t", (0, 1)))
