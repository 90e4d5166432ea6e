"""A record beside its play."""

import pytest

from bridge.whatif.comparison import Became, Comparison, became_words, compare
from bridge.whatif.configuration import configure
from bridge.whatif.history import BEGINS_IN_THE_MIDDLE
from bridge.whatif.measures import Measured
from bridge.whatif.play import predict
from tests.support.event_stories import Story
from tests.support.whatif_history import GROUP, at, came, grown, history, left, silent

CLASSIC = configure("classic", "cooperative-sticky", ["heartbeat.interval.ms=1000"])
CONSUMER = configure("consumer", None, ["group.consumer.heartbeat.interval.ms=1000"])
SCRIPT = (came(0, "a"), came(10.5, "b"), came(20.2, "c"), left(40.7, "a"), silent(60, "b"), grown(150, 9))


def became(found: Comparison) -> list[tuple[str, list[str]]]:
    """Causes on both sides."""
    return [
        ("" if row.recorded is None else row.recorded.cause, [one.cause for one in row.predicted]) for row in found.rows
    ]


def test_second_rebalances_of_cooperative_members_would_not_have_happened() -> None:
    """The new protocol needs one for each change, whoever asks for it; a leader's second look has no counterpart."""
    found = compare(GROUP, predict(history(*SCRIPT), CLASSIC).events, CONSUMER)
    gone = [row for row in found.rows if not row.predicted]
    assert (len(found.rows), len(gone)) == (8, 2)
    assert [one.cause for row in found.rows for one in row.predicted] == [
        "first-join",
        "join",
        "join",
        "leave",
        "session-expired",
        "topics-changed",
    ]


def test_record_and_play_of_the_same_configuration_are_the_same() -> None:
    """Cause by cause."""
    found = compare(GROUP, predict(history(*SCRIPT), CONSUMER).events, CONSUMER)
    assert became(found) == [(cause, [cause]) for cause, _ in became(found)]
    assert len(found.rows) == len(SCRIPT)


def test_record_that_begins_in_the_middle_begins_with_what_is_known() -> None:
    """b and c join again when a has left, of which nothing is known but that: what called them has no cause left."""
    eager = configure("classic", "range", ["heartbeat.interval.ms=1000"])
    events = [event for event in predict(history(*SCRIPT), eager).events if event.stamp.wall_us > at(30)]
    found = compare(GROUP, events, CONSUMER)
    assert (found.set_aside, [len(row.predicted) for row in found.rows]) == (0, [0, 1, 1])


def test_group_that_nothing_is_known_of_says_why() -> None:
    """And how many rebalances that concerns."""
    story = Story()
    story.at(1).began(2)
    story.at(2).left("c1")
    assert compare("orders", story.events, CONSUMER) == Comparison(set_aside=1, reason=BEGINS_IN_THE_MIDDLE)
    assert Became(None).predicted == ()


BEFORE = Measured(rebalance_id="r1", began_us=0, duration_us=4_200_000, disturbed=3, stalls=6, stall_us=9_000_000)
AFTER = Measured(rebalance_id="p1", began_us=0, duration_us=500_000, disturbed=1, stalls=1, stall_us=400_000)
LOOSE = Measured(rebalance_id="", began_us=0, stalls=2, stall_us=1_000_000)
OLD = "4.2 s, 3 members disturbed, 6 partitions still for 9.0 s"
NOTHING = "0.0 s, nobody disturbed, no partition still"
STILL = "0.0 s, nobody disturbed, 2 partitions still for 1.0 s"
NEW = "0.5 s, 1 member disturbed, 1 partition still for 0.4 s"


@pytest.mark.parametrize(
    ("became", "words"),
    [
        (Became(BEFORE), f"would not have happened; it was {OLD}"),
        (Became(BEFORE, (AFTER,)), f"would have been one of {NEW}, instead of {OLD}"),
        (
            Became(BEFORE, (AFTER, AFTER)),
            f"would have been 2 of 1.0 s, 2 members disturbed, 2 partitions still for 0.8 s, instead of {OLD}",
        ),
        (Became(None, (AFTER,)), f"would have happened besides: {NEW}"),
        (
            Became(LOOSE, ()),
            f"outside of rebalances {NOTHING} instead of {STILL}",
        ),
        (
            Became(None, (LOOSE,)),
            f"outside of rebalances {STILL}",
        ),
    ],
)
def test_words_say_count_seconds_disturbances_and_stalls(became: Became, words: str) -> None:
    """Of both sides, where there are two."""
    assert became_words(became) == words
