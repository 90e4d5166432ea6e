"""What follows from a member's story."""

from bridge.telemetry.cause.waits import Span
from bridge.telemetry.rebalances.assembling import tell_member
from bridge.telemetry.rebalances.rebalance import MemberStory, Stretch
from bridge.telemetry.schema.terms import News, Phase
from tests.support.event_stories import Story


def member_with(*spans: Span) -> MemberStory:
    """A member that was told of an assignment and did this."""
    return tell_member(Story().at(0).told("c1", News.ASSIGN).events, spans, None, 0)


def span(phase: Phase, begin_us: int, end_us: int) -> Span:
    """A phase."""
    return Span(member_id="c1", phase=phase, begin_us=begin_us, end_us=end_us)


def test_stall_counts_overlap_once_and_waiting_not() -> None:
    """Fetching runs beside syncing; who awaits a release goes on with what it has."""
    member = member_with(
        span(Phase.SYNCING, 0, 50), span(Phase.FETCHING, 40, 90), span(Phase.AWAITING_RELEASE, 100, 900)
    )
    assert member.stall_us == 90


def test_member_with_new_epoch_only_is_untouched() -> None:
    """It heard nothing but a number."""
    assert not member_with().is_touched
    assert member_with(span(Phase.AWAITING_RELEASE, 0, 5)).is_touched


def test_stretch_counts_from_the_beginning() -> None:
    """What began before is negative."""
    stretch = Stretch.of(span(Phase.JOINING, 100, 300), 250)
    assert (stretch.begin_us, stretch.end_us, stretch.duration_us) == (-150, 50, 200)
