"""How a client of the new protocol is played: intervals, giving up, leaving, dying, being fenced."""

from bridge.telemetry.schema.facts import (
    MemberLeft,
    PartitionsAssigned,
    PartitionsFetched,
    PartitionsReleased,
    PartitionsTold,
)
from bridge.telemetry.schema.terms import Departure
from bridge.whatif.configuration import configure
from bridge.whatif.inputs import Changed, History
from bridge.whatif.play import predict
from tests.support.whatif_history import BEGINS_US, SECOND_US, at, came, client, history, left, silent, slower, vacated

HEARTBEAT = "group.consumer.heartbeat.interval.ms=1000"
MOVES = PartitionsAssigned | PartitionsFetched | PartitionsReleased | PartitionsTold


def moves(one: History, *settings: str, since_s: float = 0) -> list[tuple[float, str, str, int]]:
    """What happened to partitions: seconds, kind, member, how many."""
    events = predict(one, configure("consumer", None, (HEARTBEAT, *settings))).events
    return [
        (
            (event.stamp.wall_us - BEGINS_US) / SECOND_US,
            fact.kind.removeprefix("partitions-"),
            fact.member_id,
            len(fact.partitions),
        )
        for event in events
        if isinstance(fact := event.fact, MOVES) and event.stamp.wall_us >= at(since_s)
    ]


def departures(one: History, *settings: str) -> list[tuple[float, str, Departure]]:
    """Who went, when and how."""
    events = predict(one, configure("consumer", None, (HEARTBEAT, *settings))).events
    return [
        ((event.stamp.wall_us - BEGINS_US) / SECOND_US, event.fact.member_id, event.fact.departure)
        for event in events
        if isinstance(event.fact, MemberLeft)
    ]


def test_member_hears_with_its_next_heartbeat_gives_up_in_its_pace_and_the_other_gets_with_its_next() -> None:
    """a beats at whole seconds, b at 2.3, 3.3 …; a takes 0.1 s to give up, b 0.03 s to fetch."""
    assert moves(history(came(0, "a"), came(2.3, "b")), since_s=1) == [
        (3.0, "told", "a", 3),
        (3.1, "released", "a", 3),
        (3.3, "assigned", "b", 3),
        (3.33, "fetched", "b", 3),
    ]


def test_slow_member_holds_the_other_up() -> None:
    """b's heartbeat after the release is the one at 6.3."""
    found = moves(slower(history(came(0, "a"), came(2.3, "b")), "a", 2.5), since_s=1)
    assert [one[:2] for one in found] == [(3.0, "told"), (5.5, "released"), (6.3, "assigned"), (6.33, "fetched")]


def test_member_that_takes_longer_than_its_rebalance_timeout_is_fenced_and_comes_back() -> None:
    """60 s are over at 63; it has nothing then, and joins again when it has given up."""
    assert departures(slower(history(came(0, "a"), came(2.3, "b")), "a", 90)) == [
        (63.0, "a", Departure.REBALANCE_TIMED_OUT)
    ]
    found = moves(slower(history(came(0, "a"), came(2.3, "b")), "a", 90), since_s=93)
    assert ("assigned", "a") in [one[1:3] for one in found]


def test_member_that_leaves_frees_at_once_and_who_dies_after_its_session() -> None:
    """a leaves at 10.5, b at 20.5 has beaten for the last time and is kept for 8 s."""
    one = history(came(0, "a"), came(1, "b"), came(2, "c"), left(10.5, "a"), silent(20.5, "b"))
    assert departures(one, "group.consumer.session.timeout.ms=8000") == [
        (10.5, "a", Departure.LEFT),
        (28.5, "b", Departure.SESSION_EXPIRED),
    ]


def test_frozen_member_that_wakes_within_its_session_goes_on_as_if_nothing_had_been() -> None:
    """It was put out in the record, 20 s after its last heartbeat, and would not have been with a longer session."""
    one = history(came(0, "a"), came(1, "b"), silent(20, "b"), came(45, "b"))
    assert departures(one, "group.consumer.session.timeout.ms=30000") == []
    assert moves(one, "group.consumer.session.timeout.ms=30000", since_s=10) == []
    assert departures(history(*one.inputs, left(50, "b")), "group.consumer.session.timeout.ms=30000") == [
        (50.0, "b", Departure.LEFT)
    ]


def test_frozen_member_that_wakes_too_late_hears_it_and_joins_again() -> None:
    """It had nothing by then; who has its partitions gives up half of them with its next heartbeat."""
    one = history(came(0, "a"), came(1, "b"), silent(20, "b"), came(45.2, "b"))
    settings = "group.consumer.session.timeout.ms=8000"
    assert departures(one, settings) == [(28.0, "b", Departure.SESSION_EXPIRED)]
    found = [each[:3] for each in moves(one, settings, since_s=40)]
    assert found == [(46.1, "told", "a"), (46.2, "released", "a"), (46.2, "assigned", "b"), (46.23, "fetched", "b")]


def test_static_member_that_comes_back_in_time_moves_nothing() -> None:
    """It left with epoch -2, and takes its seat with all it had."""
    one = history(came(0, "a"), came(1, "b", seat="s"), vacated(10, "b"), came(15, "b2", seat="s", former="b"))
    found = [each for each in moves(one, since_s=9) if each[1] != "released"]
    assert found == [(15.0, "assigned", "b2", 3), (15.03, "fetched", "b2", 3)]


def test_static_member_of_a_classic_record_goes_without_a_word_and_says_so_here() -> None:
    """The record knows it by who took its seat."""
    one = history(came(0, "a"), came(1, "b", seat="s"), came(15, "b2", seat="s", former="b"))
    assert departures(one) == [(15.0, "b", Departure.STATIC_LEFT)]


def test_static_seat_is_given_up_after_the_session_timeout() -> None:
    """It never comes back; its session began anew when it left."""
    one = history(came(0, "a"), came(1, "b", seat="s"), vacated(10, "b"))
    found = moves(one, "group.consumer.session.timeout.ms=8000", since_s=10)
    assert [each[:3] for each in found if each[1] != "released"] == [(18.1, "assigned", "a"), (18.13, "fetched", "a")]


def test_member_that_wants_another_topic_gives_up_the_old_one() -> None:
    """It says so in a full heartbeat."""
    changed = Changed(at_us=at(10.5), event_id="a changed", client=client("a", "other"))
    assert [one[1:] for one in moves(history(came(0, "a"), changed), since_s=10)] == [
        ("told", "a", 6),
        ("released", "a", 6),
        ("assigned", "a", 2),
        ("fetched", "a", 2),
    ]


def test_group_that_is_full_takes_nobody_more() -> None:
    """The third hears that it is, and does not try again."""
    one = history(came(0, "a"), came(1, "b"), came(2, "c"))
    assert {found[2] for found in moves(one, "group.consumer.max.size=2")} == {"a", "b"}
