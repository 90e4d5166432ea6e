"""Pairs the beginnings and ends of members' phases.

It must not know why a phase began or what it was good for.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from bridge.telemetry.schema.facts import PhaseBegan, PhaseEnded
from bridge.telemetry.schema.stamps import Event
from bridge.telemetry.schema.terms import Phase


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A phase of a member, in microseconds of the run's monotonic clock.

    `has_begin` and `has_end` say which ends were seen; the other is the limit that was given.
    """

    member_id: str
    phase: Phase
    begin_us: int
    end_us: int
    waits_on: tuple[str, ...] = ()
    rebalance_id: str = ""
    has_begin: bool = True
    has_end: bool = True

    @property
    def duration_us(self) -> int:
        """How long it lasted."""
        return self.end_us - self.begin_us


def pair_spans(events: Iterable[Event], begin_us: int, end_us: int) -> list[Span]:
    """The phases of the events of one run, in the order in which they ended; ends that were not seen are the limits.

    A phase whose end was not told ends with the next one of the same member, `FETCHING` excepted, which runs beside.
    """
    opened: dict[tuple[str, Phase | None], Event] = {}
    spans: list[Span] = []
    for event in events:
        fact, at_us = event.fact, event.stamp.mono_us
        if isinstance(fact, PhaseBegan):
            key = _track(fact)
            former = opened.get(key)
            if former is not None:
                spans.append(_span(former, at_us, has_end=False))
            opened[key] = event
        elif isinstance(fact, PhaseEnded):
            key = _track(fact)
            former = opened.pop(key, None)
            if former is not None and isinstance(former.fact, PhaseBegan) and former.fact.phase is fact.phase:
                spans.append(_span(former, at_us, has_end=True, waits_on=fact.waits_on))
            else:
                spans.append(_headless(fact, begin_us, at_us))
    spans += (_span(event, max(end_us, event.stamp.mono_us), has_end=False) for event in opened.values())
    return spans


def _track(fact: PhaseBegan | PhaseEnded) -> tuple[str, Phase | None]:
    return fact.member_id, fact.phase if fact.phase is Phase.FETCHING else None


def _headless(fact: PhaseEnded, begin_us: int, at_us: int) -> Span:
    return Span(
        member_id=fact.member_id,
        phase=fact.phase,
        begin_us=min(begin_us, at_us),
        end_us=at_us,
        waits_on=fact.waits_on,
        rebalance_id=fact.rebalance_id,
        has_begin=False,
    )


def _span(event: Event, end_us: int, *, has_end: bool, waits_on: tuple[str, ...] = ()) -> Span:
    fact = event.fact
    assert isinstance(fact, PhaseBegan)
    return Span(
        member_id=fact.member_id,
        phase=fact.phase,
        begin_us=min(event.stamp.mono_us, end_us),
        end_us=end_us,
        waits_on=waits_on or fact.waits_on,
        rebalance_id=fact.rebalance_id,
        has_end=has_end,
    )
