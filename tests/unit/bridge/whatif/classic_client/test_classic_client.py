"""How a client of the classic protocol is played: called by heartbeat, joining, led, syncing."""

from bridge.telemetry.schema.facts import MemberLeft, PartitionsReleased
from bridge.telemetry.schema.terms import Departure
from bridge.whatif.configuration import configure
from bridge.whatif.inputs import Changed, History
from bridge.whatif.measures import Measured, measure
from bridge.whatif.play import predict
from bridge.whatif.timed_events import on_one_timeline
from tests.support.whatif_history import BEGINS_US, SECOND_US, at, came, client, grown, history, left, silent, vacated

REACTION = ("heartbeat.interval.ms=1000", "group.initial.rebalance.delay.ms=0")


def rebalances(one: History, assignor: str | None = None, *settings: str) -> list[Measured]:
    """What the classic protocol makes of a history."""
    found = measure(on_one_timeline(predict(one, configure("classic", assignor, (*REACTION, *settings))).events))
    return [each for each in found if each.rebalance_id]


def figures(found: list[Measured]) -> list[tuple[str, int, int, float]]:
    """Cause, told, disturbed, seconds."""
    return [(one.cause, one.told, one.disturbed, one.duration_us / SECOND_US) for one in found]


def test_newcomer_waits_for_the_heartbeat_of_everybody_else() -> None:
    """a beats at whole seconds: called at 3, it joins at 3.1 after giving up all."""
    assert figures(rebalances(history(came(0, "a"), came(2.3, "b")))) == [
        ("first-join", 0, 0, 0.0),
        ("join", 1, 0, 0.8),
    ]


def test_stranger_disturbs_everybody_on_the_classic_protocol() -> None:
    """It wants another topic, so a and b end with what they had; on the new protocol nobody hears of it."""
    one = history(came(0, "a"), came(2.3, "b"), came(10, "s", "other"))
    assert figures(rebalances(one))[2][:3] == ("join", 2, 2)
    events = predict(one, configure("consumer", None, ())).events
    assert sum(found.disturbed for found in measure(on_one_timeline(events))) == 0


def test_cooperative_member_gives_up_only_what_it_loses_and_joins_twice() -> None:
    """KIP-429: the second rebalance hands out what the first freed."""
    one = history(came(0, "a"), came(2.3, "b"))
    events = predict(one, configure("classic", "cooperative-sticky", REACTION)).events
    released = [len(event.fact.partitions) for event in events if isinstance(event.fact, PartitionsReleased)]
    assert (released, len(rebalances(one, "cooperative-sticky"))) == ([3], 3)


def test_leader_finds_new_partitions_when_it_looks() -> None:
    """It began at 0 and looks each minute; the topic grew at 70, and giving up takes 0.1 s."""
    found = rebalances(history(came(0, "a"), grown(70, 9)), None, "metadata.max.age.ms=60000")
    assert [(one.began_us - BEGINS_US) / SECOND_US for one in found] == [0, 120.1]


def test_static_member_that_comes_back_in_time_makes_no_rebalance_and_else_its_session_ends() -> None:
    """It goes without a word, and had 8 s."""
    back = history(came(0, "a"), came(2, "b", seat="s"), vacated(10, "b"), came(15, "b2", seat="s", former="b"))
    gone = history(came(0, "a"), came(2, "b", seat="s"), vacated(10, "b"))
    assert len(rebalances(back, None, "session.timeout.ms=8000")) == 2
    events = predict(gone, configure("classic", None, (*REACTION, "session.timeout.ms=8000"))).events
    assert [
        ((event.stamp.wall_us - BEGINS_US) / SECOND_US, event.fact.departure)
        for event in events
        if isinstance(event.fact, MemberLeft)
    ] == [(18.0, Departure.SESSION_EXPIRED)]


def test_leaving_dying_and_wanting_something_else_are_a_rebalance_each() -> None:
    """The last one is left alone."""
    changed = Changed(at_us=at(80), event_id="c changed", client=client("c", "other"))
    inputs = (came(0, "a"), came(2, "b"), came(4, "c"), left(10, "a"), silent(20, "b"), changed)
    found = rebalances(history(*inputs))
    assert [one.cause for one in found[:5]] == ["first-join", "join", "join", "leave", "session-expired"]
    assert len(found) == len(inputs)


def test_group_that_is_full_takes_nobody_more() -> None:
    """The third hears that it is."""
    one = history(came(0, "a"), came(2, "b"), came(4, "c"))
    assert len(rebalances(one, None, "group.max.size=2")) == 2
