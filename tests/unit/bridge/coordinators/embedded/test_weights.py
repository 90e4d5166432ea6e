"""Weights are at least what the journal's own entries take, and not much more."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.coordinators.embedded.weights import (
    blob_bytes,
    classic_bytes,
    group_bytes,
    heartbeat_growth,
    hidden_bytes,
    join_bytes,
    join_bytes_at_most,
    names_bytes,
    pattern_bytes,
    profile_bytes,
    subscription_bytes,
    text_bytes,
)
from bridge.engine import records_codec
from bridge.engine.assignors.registry import registry
from bridge.engine.commands import Speaks
from bridge.engine.model import ClassicMember, Subscription
from bridge.engine.records import ClassicGroupSynced, MemberSubscribed, RegularExpressionResolved, TopicsHidden
from bridge.engine.recovery import condense
from bridge.engine.settings import EngineSettings
from bridge.engine.state import ClassicGroup, Group, Shard
from tests.support.embedded_world import join_request, native_join
from tests.support.owned_group import CLIENT, GROUP
from translators.classic_member.member_records import MemberSeated, encode
from translators.classic_member.profile import Profile, read_profile
from translators.dialects.classic import JoinGroup, Protocol
from translators.dialects.consumer_protocol import Subscription as Said
from translators.dialects.consumer_protocol import encode_subscription
from translators.dialects.ids import ClientIdentity, GroupId, MemberId, TopicName, TopicPartition

NAMES = st.frozensets(st.text(min_size=1, max_size=20).map(TopicName), max_size=20)
OWNED = st.frozensets(st.builds(TopicPartition, st.sampled_from(["t", "é"]).map(TopicName), st.integers(0, 2**31 - 1)))


def says(names: frozenset[TopicName], owned: frozenset[TopicPartition], user_data: bytes) -> JoinGroup:
    """A range member that subscribes so."""
    blob = encode_subscription(Said(version=1, topics=tuple(names), owned=owned, user_data=user_data))
    request = join_request("member")
    return JoinGroup(
        group_id=request.group_id,
        member_id=request.member_id,
        instance_id=None,
        protocol_type="consumer",
        protocols=(Protocol("range", blob), Protocol("roundrobin", blob)),
        session_timeout_ms=10_000,
        rebalance_timeout_ms=60_000,
    )


@pytest.mark.parametrize("text", ["plain", "é", "\x00", '"quoted"', "\\", "😀", ""])
def test_text_takes_what_json_makes_of_it(text: str) -> None:
    """Quotes and a comma included."""
    entry = records_codec.encode(_subscribed(frozenset({TopicName(text)})))
    empty = records_codec.encode(_subscribed(frozenset()))
    assert len(entry) - len(empty) <= text_bytes(text) + 2
    assert text_bytes(None) == 0


@given(names=NAMES, owned=OWNED, user_data=st.binary(max_size=3_000))
def test_join_weighs_what_its_entries_take(
    names: frozenset[TopicName], owned: frozenset[TopicPartition], user_data: bytes
) -> None:
    """What a join is judged by is no less than what is kept of it, and the quick look no less than that."""
    request = says(names, owned, user_data)
    profile = read_profile(request)
    assert isinstance(profile, Profile)
    member_id = MemberId(request.member_id)
    kept = len(encode(MemberSeated(group_id=GROUP, member_id=member_id, instance_id=None, profile=profile)))
    subscribed = _subscribed(names)
    kept += len(records_codec.encode(subscribed))
    weight = profile_bytes(profile) + subscription_bytes(GROUP, subscribed.subscription)
    exact = join_bytes(request, CLIENT, is_translated=True)
    assert kept <= weight <= exact <= join_bytes_at_most(request, CLIENT)
    assert exact < kept + 1_000 + 12 * len(owned)


@given(blob=st.binary(max_size=3_000), assignment=st.binary(max_size=3_000))
def test_member_of_a_classic_group_weighs_what_a_sync_writes(blob: bytes, assignment: bytes) -> None:
    """All that it offers, and its assignment."""
    member = ClassicMember(
        member_id=MemberId("member"),
        instance_id=None,
        identity=CLIENT,
        session_timeout_ms=10_000,
        rebalance_timeout_ms=60_000,
        protocols=(Protocol("own", blob),),
        assignment=assignment,
    )
    record = ClassicGroupSynced(
        group_id=GROUP, generation=1, protocol_type="x", protocol_name="own", leader=member.member_id, members=(member,)
    )
    kept, weight = len(records_codec.encode(record)), classic_bytes(GROUP, member, assignment)
    assert kept <= weight < kept + 1_000
    assert blob_bytes(assignment) < weight


def test_heartbeat_adds_what_is_new_in_it() -> None:
    """Names replace names; what is not named stays."""
    known = _subscribed(frozenset({TopicName("x" * 1_000)})).subscription
    request = native_join("member")
    assert heartbeat_growth(request, CLIENT, None) > 0
    assert heartbeat_growth(request, CLIENT, known) == names_bytes(("t",)) - names_bytes(known.names)


def _subscribed(names: frozenset[TopicName]) -> MemberSubscribed:
    said = Subscription(
        member_id=MemberId("member"),
        identity=ClientIdentity(client_id="client", client_host="/127.0.0.1"),
        speaks=Speaks.CLASSIC,
        names=names,
    )
    return MemberSubscribed(GROUP, said)


@given(pattern=st.text(max_size=20), topics=NAMES)
def test_pattern_weighs_what_its_entry_takes(pattern: str, topics: frozenset[TopicName]) -> None:
    """With every topic that it matches."""
    taken = len(records_codec.encode(RegularExpressionResolved(pattern, topics, None)))
    assert taken <= pattern_bytes(pattern, topics) <= taken + 40 + 3 * len(topics)


@given(group_id=st.text(max_size=20), pattern=st.text(max_size=20), topics=NAMES)
def test_what_is_hidden_weighs_what_its_entry_takes(group_id: str, pattern: str, topics: frozenset[TopicName]) -> None:
    """Nothing where nothing is hidden: that is written once, if something was."""
    taken = len(records_codec.encode(TopicsHidden(GroupId(group_id), pattern, topics)))
    weight = hidden_bytes(group_id, pattern, topics)
    assert taken <= weight <= taken + 40 + 3 * len(topics) if topics else weight == 0


@given(name=st.text(min_size=1, max_size=40).map(GroupId), is_classic=st.booleans())
def test_group_that_nobody_is_in_weighs_what_its_entries_take(name: GroupId, *, is_classic: bool) -> None:
    """Of either type, with numbers as large as they get."""
    shard, most = Shard(settings=EngineSettings(), assignors=registry), 2**31 - 1
    if is_classic:
        shard.classic_groups[name] = ClassicGroup(group_id=name, last_generation=most, has_lost_member=True)
    else:
        shard.groups[name] = Group(
            group_id=name, epoch=most, assignment_epoch=most, assignor="uniform", lost_natives=True
        )
    taken = sum(len(records_codec.encode(record)) for record in condense(shard))
    assert taken <= group_bytes(name)
