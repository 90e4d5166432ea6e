"""Questions as heartbeats, and answers as grants."""

from dataclasses import replace

import pytest

from bridge.coordinators.catalog import Catalog
from bridge.coordinators.upstream.heartbeats import INTERVAL_MIN_MS, UNKNOWN_TOPIC, Said, to_answer, to_heartbeat
from tests.support.owned_group import GROUP, TOPIC
from tests.support.upstream_world import INTERVAL_MS, TOPIC_ID, granted, refused, unchanged
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.coordinator import DepartReason, Farewell, Granted, Inquiry, Refused
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import InstanceId, MemberId, Topic, TopicIdPartition, TopicPartition

ONE = TopicPartition(TOPIC, 1)
ASKED = Inquiry(
    group_id=GROUP,
    member_id=MemberId("m"),
    member_epoch=4,
    instance_id=None,
    rack_id="r",
    topics=frozenset({TOPIC}),
    rebalance_timeout_ms=60_000,
    owned=frozenset({ONE}),
    assignor="range",
)
SHORT = ConsumerGroupHeartbeat(group_id=GROUP, member_id=MemberId("m"), member_epoch=4)
FULL = replace(
    SHORT,
    rack_id="r",
    rebalance_timeout_ms=60_000,
    subscribed_topic_names=(TOPIC,),
    server_assignor="range",
    owned=frozenset({TopicIdPartition(TOPIC_ID, 1)}),
)


def catalog() -> Catalog:
    """One topic."""
    known = Catalog()
    known.update([Topic(TOPIC_ID, TOPIC, 6)])
    return known


def test_what_the_broker_knows_is_not_said_again() -> None:
    """Another epoch is no news of the member's; anything else, and any doubt, is said in full."""
    said = Said(replace(ASKED, member_epoch=3))
    assert to_heartbeat(ASKED, said, catalog()) == SHORT
    assert to_heartbeat(ASKED, None, catalog()) == FULL
    assert to_heartbeat(replace(ASKED, owned=frozenset()), said, catalog()) == replace(FULL, owned=frozenset())


def test_who_joins_says_everything() -> None:
    """Kafka takes epoch 0 without a subscription for an invalid request (K2.4)."""
    joining = replace(ASKED, member_epoch=0)
    assert to_heartbeat(joining, Said(joining), catalog()) == replace(FULL, member_epoch=0)


def test_who_takes_a_seat_takes_no_pattern_with_it() -> None:
    """The broker copies what the KIP-848 client said that had it, and no classic client reads by patterns (K2.30)."""
    seat = InstanceId("seat")
    joining = replace(ASKED, member_epoch=0, instance_id=seat)
    told = replace(FULL, member_epoch=0, instance_id=seat, subscribed_topic_regex="")
    assert to_heartbeat(joining, None, catalog()) == told
    later = replace(ASKED, instance_id=seat)
    assert to_heartbeat(later, None, catalog()) == replace(FULL, instance_id=seat)


def test_farewell_is_short() -> None:
    """Nothing but who leaves, and how."""
    farewell = Farewell(
        group_id=GROUP, member_id=MemberId("m"), member_epoch=-1, instance_id=None, reason=DepartReason.LEFT
    )
    assert to_heartbeat(farewell, None, catalog()) == replace(SHORT, member_epoch=-1)


def test_answers_come_by_name() -> None:
    """What others still hold is not known, and the broker wants to hear of its members in time."""
    expected = Granted(member_epoch=5, assigned=frozenset({ONE}), pending=None, heartbeat_interval_ms=INTERVAL_MS)
    assert to_answer(granted(5, 1), catalog()) == expected
    assert to_answer(unchanged(5), catalog()) == replace(expected, assigned=None)
    assert to_answer(refused(ErrorCode.FENCED_MEMBER_EPOCH), catalog()) == Refused(ErrorCode.FENCED_MEMBER_EPOCH)


@pytest.mark.parametrize("interval_ms", [0, -1, -(2**31)])
def test_member_is_not_asked_for_without_a_pause_whatever_its_broker_says(interval_ms: int) -> None:
    """Each answer would be the next question."""
    answer = to_answer(replace(unchanged(5), heartbeat_interval_ms=interval_ms), catalog())
    assert isinstance(answer, Granted)
    assert answer.heartbeat_interval_ms == INTERVAL_MIN_MS


def test_topic_that_nobody_has_seen_makes_no_answer() -> None:
    """Left out of the assignment it would be owned here by nobody, and at the broker by this member."""
    assert to_answer(granted(5, 1), Catalog()) is UNKNOWN_TOPIC
