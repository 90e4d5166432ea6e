"""Every cause by its story, told from beginning to end: label, members, evidence, and who was waited for."""

from collections.abc import Callable

import pytest

from bridge.telemetry.cause.explain import explain, introductions
from bridge.telemetry.schema import facts
from bridge.telemetry.schema.terms import Cause, Departure, News, OperatorAction, Outcome, Phase, Protocol, Road
from tests.support.event_stories import Story, cooperative_handover, eager_meeting


def first_join() -> Story:
    """A group's first member."""
    story = Story().at(0).created()
    story.joined("c1")
    return story.at(1).began(1).target(1).ended()


def second_join() -> Story:
    """Another one comes; the first join belongs to the rebalance before."""
    story = first_join()
    story.at(5_000).joined("c2")
    return story.at(5_001).began(2).target(2).ended()


def clean_leave() -> Story:
    """A member of an embedded group leaves."""
    story = Story().at(1_000)
    story.left("c3", reason="the consumer is being closed")
    return story.began(9).target(2).ended()


def expired_on_pass() -> Story:
    """Nobody sees a classic member die; the coordinator's count shows it."""
    story = eager_meeting()
    story.at(60_000).began(5).told("c1", News.REVOKE).enters("c1", Phase.REVOKING)
    story.at(60_100).leaves("c1", Phase.REVOKING).rejoined("c1", is_leader=True)
    story.enters("c1", Phase.JOINING)
    story.epoch = 6
    story.at(60_200).leaves("c1", Phase.JOINING).enters("c1", Phase.SYNCING)
    story.at(60_201).left("c2", Departure.SESSION_EXPIRED)
    return story.at(60_210).target(2).leaves("c1", Phase.SYNCING).enters("c1", Phase.STABLE).ended()


def expired() -> Story:
    """A member of an embedded group is silent for too long."""
    story = Story().at(1_000)
    story.left("c3", Departure.SESSION_EXPIRED)
    return story.began(9).target(2).ended()


def not_polled() -> Story:
    """A member leaves by itself because its application does not poll."""
    story = Story().at(1_000)
    story.left("c3", Departure.POLL_TIMED_OUT)
    return story.began(9).target(2).ended()


def timed_out() -> Story:
    """A member kept its partitions too long, and the rebalance that waited for it is superseded."""
    story = Story().at(0)
    story.joined("c4")
    story.began(8).target(4)
    former = story.rebalance_id
    story.at(1).enters("c4", Phase.AWAITING_RELEASE, "c1")
    story.at(60_000).left("c1", Departure.REBALANCE_TIMED_OUT)
    story.ended(Outcome.SUPERSEDED).began(9, supersedes=former)
    return story.target(3).ended()


def subscription() -> Story:
    """A member wants other topics."""
    story = Story().at(1_000)
    story.subscribed("c2", "orders", "payments")
    return story.began(9).target(3).ended()


def more_partitions() -> Story:
    """A topic grew."""
    story = Story().at(1_000)
    story.tell(facts.TopicsChanged(topics=("orders",), partition_counts=(12,)))
    return story.began(9).target(3).ended()


def more_partitions_on_pass() -> Story:
    """A topic grew, and two minutes later a classic leader noticed."""
    story = Story(road=Road.PASSING, protocol=Protocol.CLASSIC).at(1_000)
    story.tell(facts.TopicsChanged(topics=("orders",), partition_counts=(12,)))
    story.epoch = 3
    story.at(120_000).began(3)
    story.rejoined("c1", is_leader=True)
    return story.at(120_100).ended()


def static_return() -> Story:
    """A static member's seat expired, and then it came back."""
    story = Story().at(0)
    story.joined("c1-old", seat="seat-1")
    story.began(3).target(3).ended()
    story.at(50_000).left("c1-old", Departure.SESSION_EXPIRED)
    story.began(4).target(2).ended()
    story.at(80_000).joined("c1-new", seat="seat-1")
    return story.began(5).target(3).ended()


def leader_again() -> Story:
    """The leader of a classic group joins again, and nobody knows why."""
    story = Story(road=Road.PASSING, protocol=Protocol.CLASSIC)
    story.epoch = 3
    story.at(9_000).began(3)
    story.rejoined("c1", is_leader=True)
    return story.at(9_100).told("c2", News.REVOKE).ended()


def wave() -> Story:
    """Members are replaced one after the other."""
    story = Story()
    for number, second in enumerate((0, 10, 20)):
        story.at(second * 1_000).left(f"old{number}")
        story.began(10 + 2 * number).target(2).ended()
        story.at(second * 1_000 + 4_000).joined(f"new{number}")
        story.began(11 + 2 * number).target(3).ended()
    return story


def removal() -> Story:
    """An operator removes a member."""
    story = Story().at(1_000)
    story.tell(
        facts.OperatorActed(group_id="orders", action=OperatorAction.REMOVE_MEMBERS, members=("c2",)),
    )
    story.left("c2", Departure.REMOVED)
    return story.began(9).target(2).ended()


def restart() -> Story:
    """The bridge restarts in the middle of a rebalance."""
    story = Story(boot="b2").at(10)
    story.epoch = 7
    return story.revived().began(7).ended()


def moved() -> Story:
    """Another broker coordinates the group."""
    story = Story(road=Road.PASSING).at(1_000)
    story.tell(facts.CoordinatorMoved(group_id="orders", road=Road.PASSING, broker="b2:9092"))
    return story.at(3_000).began(9).told("c1", News.REVOKE).ended()


def seat_expired() -> Story:
    """A static member goes away for a while and stays away."""
    story = Story().at(0)
    story.joined("c1", seat="seat-1")
    story.began(3).target(3).ended()
    story.at(1_000).left("c1", Departure.STATIC_LEFT)
    return story.at(46_000).began(4).target(2).ended()


def nothing_known() -> Story:
    """An epoch moved, and nothing shows why."""
    return Story(road=Road.PASSING).at(1_000).began(9).told("c1", News.REVOKE).ended()


STORIES: dict[Callable[[], Story], tuple[Cause, tuple[str, ...]]] = {
    first_join: (Cause.FIRST_JOIN, ("c1",)),
    second_join: (Cause.JOIN, ("c2",)),
    cooperative_handover: (Cause.JOIN, ("c4",)),
    eager_meeting: (Cause.JOIN, ("c3",)),
    clean_leave: (Cause.LEAVE, ("c3",)),
    expired: (Cause.SESSION_EXPIRED, ("c3",)),
    expired_on_pass: (Cause.SESSION_EXPIRED, ("c2",)),
    not_polled: (Cause.POLL_TIMED_OUT, ("c3",)),
    timed_out: (Cause.REBALANCE_TIMED_OUT, ("c1",)),
    subscription: (Cause.SUBSCRIPTION_CHANGED, ("c2",)),
    more_partitions: (Cause.TOPICS_CHANGED, ()),
    more_partitions_on_pass: (Cause.TOPICS_CHANGED, ("c1",)),
    static_return: (Cause.STATIC_RETURN, ("c1-old", "c1-new")),
    leader_again: (Cause.LEADER_REJOINED, ("c1",)),
    wave: (Cause.DEPLOY_WAVE, ("old0", "new0", "old1", "new1", "old2", "new2")),
    removal: (Cause.OPERATOR, ("c2",)),
    restart: (Cause.BRIDGE_RESTARTED, ()),
    moved: (Cause.COORDINATOR_MOVED, ()),
    seat_expired: (Cause.SESSION_EXPIRED, ("c1",)),
    nothing_known: (Cause.UNKNOWN, ()),
}


@pytest.mark.parametrize("tell", STORIES, ids=lambda tell: str(tell.__name__))
def test_story_explained_names_cause_and_members(tell: Callable[[], Story]) -> None:
    """Each story has the cause and the members that it was made with, and every evidence is an event of it."""
    story = tell()
    explained = explain(story.events)
    assert explained is not None
    assert (explained.cause, explained.caused_by) == STORIES[tell]
    assert set(explained.evidence) <= {event.stamp.event_id for event in story.events}
    assert bool(explained.evidence) is (explained.cause is not Cause.UNKNOWN)


def test_handover_explained_names_who_held_it_up() -> None:
    """The one that gives up a partition late is critical, with how long it was waited for and what for."""
    explained = explain(cooperative_handover().events)
    assert explained is not None
    assert (explained.critical_member, explained.critical_phase) == ("c1", Phase.REVOKING)
    assert explained.waited_us == 3_009_000
    assert explained.sentence == (
        "orders rebalanced because member c4 (kafka-python 3.0.12, host 10.0.0.7) joined; "
        "c4 waited 3 s for c1 to give up orders-4"
    )


def test_meeting_explained_names_the_last_to_join() -> None:
    """In a classic group everybody waits for the last one to join again."""
    explained = explain(eager_meeting().events)
    assert explained is not None
    assert (explained.critical_member, explained.waited_us) == ("c2", 1_550_000)
    assert explained.group_epoch == 5
    assert explained.sentence.endswith("; everybody waited 1.6 s for c2 to join again")


def test_expiry_explained_says_how_long_it_was_silent() -> None:
    """What the member told about itself may come from elsewhere."""
    told = introductions(cooperative_handover().events)["c4"]
    explained = explain(expired().events, lambda member_id: told if member_id == "c3" else None)
    assert explained is not None
    assert explained.sentence == (
        "orders rebalanced because member c3 (client c4, kafka-python 3.0.12, host 10.0.0.7) did not heartbeat for 10 s"
    )


def test_unknown_explained_says_what_is_known() -> None:
    """Nothing shows the cause: what was seen first is told."""
    explained = explain(nothing_known().events)
    assert explained is not None
    assert "the first that was seen of it is that member c1 was told to revoke" in explained.sentence


def test_every_cause_has_a_story() -> None:
    """No cause is left untold."""
    assert {cause for cause, _ in STORIES.values()} == set(Cause)


def test_events_without_rebalance_explained_none() -> None:
    """A leave alone is no rebalance."""
    story = Story().at(1)
    story.left("c1")
    assert explain(story.events) is None
