"""Phases paired from their ends."""

from bridge.telemetry.cause.waits import Span, pair_spans
from bridge.telemetry.schema.terms import Phase
from tests.support.event_stories import Story


def shown(spans: list[Span]) -> list[tuple[str, Phase, int, int, bool, bool]]:
    """The parts that matter here, in milliseconds."""
    return [(s.member_id, s.phase, s.begin_us // 1_000, s.end_us // 1_000, s.has_begin, s.has_end) for s in spans]


def test_phase_with_both_ends_paired() -> None:
    """Whom it waited for last is what its end says."""
    story = Story().at(10).enters("c1", Phase.AWAITING_RELEASE, "c2", "c3")
    story.at(30).leaves("c1", Phase.AWAITING_RELEASE, "c3")
    (span,) = pair_spans(story.events, 0, 99_000)
    assert (span.duration_us, span.waits_on, span.has_begin, span.has_end) == (20_000, ("c3",), True, True)


def test_phase_without_begin_starts_at_limit() -> None:
    """A torn log lacks the beginning."""
    story = Story().at(30).leaves("c1", Phase.JOINING)
    assert shown(pair_spans(story.events, 5_000, 99_000)) == [("c1", Phase.JOINING, 5, 30, False, True)]


def test_phase_without_end_stops_at_next_or_limit() -> None:
    """Fetching runs beside other phases and ends none of them."""
    story = Story().at(10).enters("c1", Phase.JOINING)
    story.at(20).enters("c1", Phase.FETCHING)
    story.at(30).enters("c1", Phase.STABLE)
    assert shown(pair_spans(story.events, 0, 99_000)) == [
        ("c1", Phase.JOINING, 10, 30, True, False),
        ("c1", Phase.STABLE, 30, 99, True, False),
        ("c1", Phase.FETCHING, 20, 99, True, False),
    ]


def test_end_of_another_phase_pairs_with_nothing() -> None:
    """What began before and what ends now are two phases."""
    story = Story().at(10).enters("c1", Phase.JOINING)
    story.at(30).leaves("c1", Phase.SYNCING)
    assert shown(pair_spans(story.events, 0, 99_000)) == [("c1", Phase.SYNCING, 0, 30, False, True)]
