"""What is remembered between rebalances."""

from bridge.telemetry.cause.context import CHANGES_MAX, LATEST_MAX, keep_past
from bridge.telemetry.schema.facts import MemberLeft
from bridge.telemetry.schema.terms import Departure, Phase
from tests.support.event_stories import Story


def test_departure_kept_whatever_follows() -> None:
    """An expiry explains a static member's return, however many phases lie between."""
    story = Story()
    gone = story.left("c1", Departure.SESSION_EXPIRED)
    for _ in range(LATEST_MAX * 3):
        story.enters("c2", Phase.STABLE)
    kept = keep_past(story.events)
    assert kept == [gone, *story.events[-LATEST_MAX:]]


def test_past_kept_is_bounded() -> None:
    """Ten thousand departures are not kept."""
    story = Story()
    for number in range(1_000):
        story.left(f"c{number}")
    kept = keep_past(story.events)
    assert len(kept) == CHANGES_MAX + LATEST_MAX
    assert all(isinstance(event.fact, MemberLeft) for event in kept)


def test_who_opened_a_rebalance_is_kept_with_what_it_ended() -> None:
    """A second round of cooperative members is known by these, also when a third one begins much later."""
    story = Story().at(0).began(4)
    story.rejoined("c1")
    opening = story.leaves("c1", Phase.REVOKING).events[-3:]
    for _ in range(LATEST_MAX * 3):
        story.rejoined("c2")
    assert keep_past(story.events)[:3] == opening
