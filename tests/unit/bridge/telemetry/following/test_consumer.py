"""Consumer groups that pass are followed from their members' heartbeats."""

from dataclasses import replace

from bridge.telemetry.following.connections import CONSUMER_SESSION_MS
from bridge.telemetry.schema.facts import (
    GroupConverted,
    MemberAdvanced,
    MemberJoined,
    MemberLeft,
    MemberSubscribed,
    MemberTold,
    PartitionsAssigned,
    PartitionsReleased,
    RebalanceBegan,
)
from bridge.telemetry.schema.terms import Conversion, Departure, News, Protocol
from tests.support.heard import Ears
from tests.support.passing_words import TOPIC_ID, join, joined, report, reported
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import InstanceId, Topic, TopicName


def _ears() -> Ears:
    ears = Ears()
    ears.topics.change([Topic(TOPIC_ID, TopicName("t"), 3)], ())
    return ears


def _seated(member: str, epoch: int) -> ConsumerGroupHeartbeat:
    return replace(report(member, epoch), instance_id=InstanceId("seat"))


def test_member_joins_is_given_partitions_and_gives_some_up() -> None:
    """KIP-848: one heartbeat tells, a later one acknowledges with what is still owned."""
    ears = _ears()
    ears.pass_by(report("a", 0), reported(1, (0, 1)))
    ears.pass_by(report("a", 1), reported(1, (0,)))
    ears.pass_by(report("a", 1, owned=(0,)), reported(2))
    assert ears.log.lines("a") == [
        "member-joined",
        "begins joining",
        "told assign by ConsumerGroupHeartbeat",
        "partitions-assigned t-0 t-1",
        "begins fetching",
        "ends joining",
        "begins stable",
        "partitions-told t-1",
        "told revoke by ConsumerGroupHeartbeat",
        "ends stable",
        "begins revoking",
        "partitions-released t-1",
        "ends revoking",
        "begins stable",
        "member-advanced",
    ]


def test_each_epoch_is_a_rebalance_that_ends_when_all_have_heard_of_it() -> None:
    """The member epoch in the answers is all there is to see."""
    ears = _ears()
    ears.pass_by(report("a", 0), reported(1, (0, 1)))
    ears.pass_by(report("b", 0), reported(2, ()))
    assert ears.log.lines()[-1] == "begins stable"
    ears.pass_by(report("a", 1), reported(2))
    assert ears.log.lines()[-2:] == ["rebalance-ended completed", "rebalance-explained"]
    epochs = [one.group_epoch for one in ears.log.of(RebalanceBegan) if isinstance(one, RebalanceBegan)]
    assert epochs == [1, 2]


def test_ordinary_heartbeat_says_nothing() -> None:
    """Nor does one that repeats what is known."""
    ears = _ears()
    ears.pass_by(report("a", 0), reported(1, (0,)))
    before = len(ears.log.events)
    ears.pass_by(report("a", 1, topics=None), reported(1))
    ears.pass_by(report("a", 1), reported(1, (0,)))
    assert len(ears.log.events) == before


def test_member_that_says_something_new_is_told() -> None:
    """Other topics are a cause."""
    ears = _ears()
    ears.pass_by(report("a", 0), reported(1, (0,)))
    ears.pass_by(report("a", 1, topics=("t", "u")), reported(1))
    (subscribed,) = ears.log.of(MemberSubscribed)
    assert isinstance(subscribed, MemberSubscribed)
    assert subscribed.topics == ("t", "u")


def test_group_that_passes_is_converted_by_who_comes_and_goes() -> None:
    """KIP-848: the first heartbeat makes it a consumer group, and a leader that is named a classic one again."""
    ears = _ears()
    ears.pass_by(join("k"), joined("k", 1, leader="k", members=("k",)))
    ears.pass_by(report("a", 0), reported(2, ()))
    ears.pass_by(report("a", 2), reported(3))
    ears.pass_by(report("a", -1), reported(-1))
    ears.pass_by(join("k"), joined("k", 4, leader="k", members=("k",)))
    told = [(one.group_type, one.conversion) for one in ears.log.of(GroupConverted) if isinstance(one, GroupConverted)]
    assert told == [
        (Protocol.CONSUMER, Conversion.MEMBER_JOINED),
        (Protocol.CLASSIC, Conversion.LAST_MEMBER_LEFT),
    ]
    (advanced,) = ears.log.of(MemberAdvanced)
    assert isinstance(advanced, MemberAdvanced)
    assert (advanced.member_id, advanced.member_epoch) == ("a", 3)


def test_departures_are_told_by_their_kind() -> None:
    """A leave, a static leave that keeps its partitions, a fence and an unknown member."""
    cases = {
        Departure.LEFT: (report("a", -1), reported(-1)),
        Departure.STATIC_LEFT: (report("a", -2), reported(-2)),
        Departure.FENCED: (report("a", 1), reported(0, error=ErrorCode.FENCED_INSTANCE_ID)),
        Departure.SESSION_EXPIRED: (report("a", 1), reported(0, error=ErrorCode.UNKNOWN_MEMBER_ID)),
    }
    found = {}
    for departure, (request, reply) in cases.items():
        ears = _ears()
        ears.pass_by(report("a", 0), reported(1, (0,)))
        ears.pass_by(request, reply)
        (left,) = ears.log.of(MemberLeft)
        assert isinstance(left, MemberLeft)
        found[departure] = (left.departure, "partitions-released t-0" in ears.log.lines())
    assert found == {departure: (departure, departure is not Departure.STATIC_LEFT) for departure in cases}


def test_member_whose_epoch_is_fenced_stays_one() -> None:
    """KIP-848: it drops what it has and joins again by its id, or leaves; both are known for what they are."""
    ears = _ears()
    ears.pass_by(report("a", 0), reported(1, (0,)))
    ears.pass_by(report("a", 1), reported(0, error=ErrorCode.FENCED_MEMBER_EPOCH))
    assert not ears.log.of(MemberLeft)
    (told,) = (one for one in ears.log.of(MemberTold) if isinstance(one, MemberTold) and one.news is News.FENCED)
    assert told.member_id == "a"
    assert "partitions-released t-0" in ears.log.lines()
    ears.pass_by(report("a", 0), reported(2, (0,)))
    assert len(ears.log.of(MemberJoined)) == 1, "the same member joins again"
    assert len(ears.log.of(PartitionsAssigned)) == 2
    ears.pass_by(report("a", 2), reported(0, error=ErrorCode.FENCED_MEMBER_EPOCH))
    ears.pass_by(report("a", -1), reported(-1))
    (left,) = ears.log.of(MemberLeft)
    assert isinstance(left, MemberLeft)
    assert (left.member_id, left.departure) == ("a", Departure.LEFT)


def test_static_member_that_is_back_takes_over_what_was_kept_for_it() -> None:
    """What it had is released when somebody sits on its seat again, or its session is over."""
    for after_ms, comes_back in ((700, True), (CONSUMER_SESSION_MS, False)):
        ears = _ears()
        ears.pass_by(_seated("a", 0), reported(1, (0,)))
        ears.pass_by(_seated("a", -2), reported(-2))
        ears.now_ms += after_ms
        if comes_back:
            ears.pass_by(_seated("b", 0), reported(1, (0,)))
        else:
            ears.follower.expire(ears.now_ms * 1000)
        (released,) = ears.log.of(PartitionsReleased)
        assert isinstance(released, PartitionsReleased)
        assert (released.member_id, released.idle_us) == ("a", after_ms * 1000)


def test_refused_join_is_no_membership() -> None:
    """Nothing is told of it."""
    ears = _ears()
    ears.pass_by(report("a", 0), reported(0, error=ErrorCode.INVALID_REQUEST))
    assert ears.log.lines() == []
