"""Who waited for whom in a rebalance, how long, and in which phase of the one that was waited for.

All times are of the run's monotonic clock; a span is what a member did from one moment to another.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from bridge.telemetry.cause.context import Context, find_handed
from bridge.telemetry.schema.facts import (
    Event,
    Fact,
    MemberJoined,
    MemberLeft,
    MemberRejoined,
    PartitionsAssigned,
    PartitionsReleased,
    PartitionsTold,
    PhaseBegan,
    PhaseEnded,
    RebalanceBegan,
    TargetComputed,
)
from bridge.telemetry.schema.terms import Departure, Phase


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
    assert isinstance(fact, PhaseBegan), "spans are made of these"
    return Span(
        member_id=fact.member_id,
        phase=fact.phase,
        begin_us=min(event.stamp.mono_us, end_us),
        end_us=end_us,
        waits_on=waits_on or fact.waits_on,
        rebalance_id=fact.rebalance_id,
        has_end=has_end,
    )


MISSED = frozenset((Departure.REBALANCE_TIMED_OUT, Departure.SESSION_EXPIRED))
SpansOf = dict[str, list[Span]]
NOTICEABLE_US = 1_000
"""Shorter waits are nobody's fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """A member stood still until another one had done something."""

    holder: str
    waiter: str
    begin_us: int
    end_us: int
    phase: Phase


@dataclass(frozen=True, slots=True, kw_only=True)
class Critical:
    """The member that was waited for longest: by whom, for how long in all, and what for."""

    member_id: str
    phase: Phase
    waited_us: int
    waiters: tuple[str, ...]
    partitions: tuple[str, ...] = ()
    is_gone: bool = False
    is_by_all: bool = False

    @property
    def is_by_nobody(self) -> bool:
        """Whether only what it was to get waited for it."""
        return self.waiters == (self.member_id,)


def find_critical(context: Context, gone_before: Collection[str] = ()) -> Critical | None:
    """The member that was waited for longest, None if nobody was.

    `gone_before` are members whose absence made the rebalance: it began without them.
    """
    spans = pair_spans((*context.past, *context.own), context.begin_us, context.end_us)
    spans = [span for span in spans if span.end_us > context.begin_us and span.begin_us < context.end_us]
    waits_of: dict[str, list[Wait]] = {}
    for wait in find_waits(context, spans, gone_before):
        waits_of.setdefault(wait.holder, []).append(wait)
    lengths = {holder: union_us((wait.begin_us, wait.end_us) for wait in waits) for holder, waits in waits_of.items()}
    held = sorted((-length, holder) for holder, length in lengths.items() if length >= NOTICEABLE_US)
    if not held:
        return None
    holder = held[0][1]
    longest = max(waits_of[holder], key=lambda wait: wait.end_us - wait.begin_us)
    return Critical(
        member_id=holder,
        phase=longest.phase,
        waited_us=lengths[holder],
        waiters=tuple(sorted({wait.waiter for wait in waits_of[holder]})),
        partitions=() if context.is_barrier else _awaited(context, holder, waits_of[holder]),
        is_gone=any(isinstance(event.fact, MemberLeft) and event.fact.member_id == holder for event in context.own),
        is_by_all=context.is_barrier,
    )


def find_waits(context: Context, spans: Sequence[Span], gone_before: Collection[str] = ()) -> Iterator[Wait]:
    """Every wait of the rebalance, given the phases that touch it."""
    if context.is_barrier:
        yield from _waits_for_last(context, spans, gone_before)
        yield from _waits_for_leader(context, spans)
        yield from _waits_for_next_round(context, spans)
    else:
        yield from _waits_for_release(context, spans)
        yield from _waits_for_handover(context, spans)
        yield from _waits_for_gainers(context, spans)


def union_us(intervals: Iterable[tuple[int, int]]) -> int:
    """How much time is covered by at least one of these intervals."""
    total = reached = 0
    for begin_us, end_us in sorted(intervals):
        if end_us > reached:
            total += end_us - max(begin_us, reached)
            reached = end_us
    return total


# ---------------------------------------------------------------------------------------------- classic groups


def _waits_for_last(context: Context, spans: Sequence[Span], gone_before: Collection[str]) -> Iterator[Wait]:
    """Members that have joined wait for the last one to do so, or to be given up."""
    spans_of = _by_member(spans)
    # Who joins again once the generation was handed out, as a leader may, is given it again.
    handed_us = find_handed(context.own, context.fact.rebalance_id)
    limit_us = context.end_us if handed_us is None else handed_us
    joining = (span for span in spans if span.phase is Phase.JOINING and span.has_begin)
    joins = {span.member_id: span for span in joining if span.begin_us <= limit_us}
    if not joins:
        return
    last = max(joins.values(), key=lambda span: (span.begin_us, span.member_id))
    holder, until_us = last.member_id, last.begin_us
    missed = [
        event.fact.member_id
        for event in context.own
        if isinstance(event.fact, MemberLeft) and event.fact.departure in MISSED
        if event.fact.member_id not in gone_before
    ]
    if missed:
        holder, until_us = missed[-1], max(span.end_us for span in joins.values())
    for span in joins.values():
        if span.member_id != holder and span.begin_us < until_us:
            begin_us, end_us = span.begin_us, min(until_us, span.end_us)
            yield Wait(
                holder=holder,
                waiter=span.member_id,
                begin_us=begin_us,
                end_us=end_us,
                phase=_phase_at(spans_of, holder, begin_us, end_us),
            )


def _waits_for_leader(context: Context, spans: Sequence[Span]) -> Iterator[Wait]:
    """Members that have joined wait for the leader's assignment; one that never came they waited for to the end."""
    leader = next(
        (e.fact.member_id for e in context.own if isinstance(e.fact, MemberRejoined) and e.fact.is_leader), ""
    )
    brought = [event.stamp.mono_us for event in context.own if isinstance(event.fact, TargetComputed)]
    until_us = brought[-1] if brought else context.end_us
    for span in spans:
        if span.phase is Phase.SYNCING and leader and span.member_id != leader:
            yield Wait(
                holder=leader,
                waiter=span.member_id,
                begin_us=span.begin_us,
                end_us=min(max(until_us, span.begin_us), span.end_us),
                phase=Phase.SYNCING,
            )


def _waits_for_next_round(context: Context, spans: Sequence[Span]) -> Iterator[Wait]:
    """Newcomers to a cooperative group wait for those who give something up when they have their assignment."""
    newcomers = _newcomers(context) | _still_coming(context)
    synced = {span.member_id: span.end_us for span in spans if span.phase is Phase.SYNCING}
    for span in spans:
        if span.phase is Phase.REVOKING and span.begin_us >= synced.get(span.member_id, span.end_us):
            for waiter in newcomers - {span.member_id}:
                yield Wait(
                    holder=span.member_id,
                    waiter=waiter,
                    begin_us=span.begin_us,
                    end_us=min(span.end_us, context.end_us),
                    phase=Phase.REVOKING,
                )


def _newcomers(context: Context) -> set[str]:
    return {event.fact.member_id for event in (*context.at_first, *context.own) if isinstance(event.fact, MemberJoined)}


def _still_coming(context: Context) -> set[str]:
    """Newcomers of rebalances that were cut short by the next, the last of them by this one."""
    chain = {context.opening.fact.supersedes} if isinstance(context.opening.fact, RebalanceBegan) else set[str]()
    for event in reversed(context.past):
        if isinstance(event.fact, RebalanceBegan) and event.fact.rebalance_id in chain:
            chain.add(event.fact.supersedes)
    joins = [event.fact for event in context.past if isinstance(event.fact, MemberJoined)]
    return {fact.member_id for fact in joins if fact.rebalance_id and fact.rebalance_id in chain}


# ---------------------------------------------------------------------------------------------- groups with epochs


def _waits_for_release(context: Context, spans: Sequence[Span]) -> Iterator[Wait]:
    """Members that name whom they wait for."""
    spans_of = _by_member(spans)
    for span in spans:
        if span.phase is Phase.AWAITING_RELEASE:
            begin_us, limit_us = max(span.begin_us, context.begin_us), min(span.end_us, context.end_us)
            for holder in span.waits_on:
                # Who waits for several goes on waiting when one of them has given up what it had.
                is_one_of_many = len(span.waits_on) > 1
                end_us = _released_us(context, holder, limit_us) if is_one_of_many else limit_us
                if end_us > begin_us:
                    phase = _phase_at(spans_of, holder, begin_us, end_us)
                    yield Wait(holder=holder, waiter=span.member_id, begin_us=begin_us, end_us=end_us, phase=phase)


def _released_us(context: Context, holder: str, limit_us: int) -> int:
    """When a member gave up the last of what it gave up in this rebalance, the limit if it gave up nothing."""
    facts = ((event.fact, event.stamp.mono_us) for event in context.own)
    return max((at for fact, at in facts if _releases(fact, holder) and at <= limit_us), default=limit_us)


def _releases(fact: Fact, holder: str) -> bool:
    return isinstance(fact, PartitionsReleased) and fact.member_id == holder


def _waits_for_handover(context: Context, spans: Sequence[Span]) -> Iterator[Wait]:
    """A partition that one member released and another one got kept the latter waiting, since it came at the latest."""
    spans_of = _by_member(spans)
    joined: dict[str, int] = {}
    for span in sorted(spans, key=lambda span: span.begin_us):
        if span.phase is Phase.JOINING:
            joined.setdefault(span.member_id, span.begin_us)
    released: dict[str, tuple[str, int]] = {}
    for event in context.own:
        fact, at_us = event.fact, event.stamp.mono_us
        if isinstance(fact, PartitionsReleased):
            released.update((partition, (fact.member_id, at_us)) for partition in fact.partitions)
        elif isinstance(fact, PartitionsAssigned):
            begin_us = max(context.begin_us, joined.get(fact.member_id, context.begin_us))
            for holder, end_us in {released[name] for name in fact.partitions if name in released}:
                if holder != fact.member_id and end_us > begin_us:
                    phase = _phase_at(spans_of, holder, begin_us, end_us)
                    yield Wait(holder=holder, waiter=fact.member_id, begin_us=begin_us, end_us=end_us, phase=phase)
            for name in fact.partitions:
                released.pop(name, None)
    yield from _waits_of_newcomers(context, spans_of, set(released.values()) | _never_released(context))


def _waits_for_gainers(context: Context, spans: Sequence[Span]) -> Iterator[Wait]:
    """What is free waits for the member that is to have it, while that one gives up all that it has, as eager ones do.

    Nobody else waits for it, so it waits for itself.
    """
    revoking = _by_member(span for span in spans if span.phase is Phase.REVOKING)
    freed: dict[str, tuple[str, int]] = {}
    for event in context.own:
        fact, at_us = event.fact, event.stamp.mono_us
        if isinstance(fact, PartitionsReleased):
            freed.update((partition, (fact.member_id, at_us)) for partition in fact.partitions)
        elif isinstance(fact, PartitionsAssigned):
            others = [one for one in fact.partitions if freed.get(one, ("", 0))[0] != fact.member_id]
            free_us = min((freed.get(one, ("", context.begin_us))[1] for one in others), default=at_us)
            for span in revoking.get(fact.member_id, ()):
                begin_us, end_us = max(context.begin_us, span.begin_us, free_us), min(span.end_us, at_us)
                if end_us > begin_us:
                    yield Wait(
                        holder=fact.member_id,
                        waiter=fact.member_id,
                        begin_us=begin_us,
                        end_us=end_us,
                        phase=Phase.REVOKING,
                    )


def _never_released(context: Context) -> set[tuple[str, int]]:
    """Members that were told to give something up and had not done so when the rebalance ended, with that time."""
    told: dict[str, str] = {}
    for event in context.own:
        fact = event.fact
        if event.stamp.mono_us > context.end_us:
            break
        if isinstance(fact, PartitionsTold):
            told.update(dict.fromkeys(fact.partitions, fact.member_id))
        elif isinstance(fact, (PartitionsReleased, PartitionsAssigned)):
            for name in fact.partitions:
                told.pop(name, None)
    return {(holder, context.end_us) for holder in told.values()}


def _waits_of_newcomers(context: Context, spans_of: SpansOf, unclaimed: set[tuple[str, int]]) -> Iterator[Wait]:
    """What was released and not given to anybody before the end is for those who have just come."""
    newcomers = _newcomers(context)
    # Who was put out for being late was waited for until then.
    left = [event.fact for event in context.own if isinstance(event.fact, MemberLeft)]
    gone = {fact.member_id for fact in left if fact.departure is not Departure.REBALANCE_TIMED_OUT}
    for holder, end_us in unclaimed:
        if holder not in gone and end_us > context.begin_us:
            phase = _phase_at(spans_of, holder, context.begin_us, end_us)
            for waiter in newcomers - {holder}:
                yield Wait(holder=holder, waiter=waiter, begin_us=context.begin_us, end_us=end_us, phase=phase)


def _by_member(spans: Iterable[Span]) -> SpansOf:
    found: SpansOf = {}
    for span in spans:
        found.setdefault(span.member_id, []).append(span)
    return found


def _phase_at(spans_of: SpansOf, member_id: str, begin_us: int, end_us: int) -> Phase:
    """What a member did most of that time."""
    shares: dict[Phase, int] = {}
    for span in spans_of.get(member_id, ()):
        if span.phase is not Phase.FETCHING:
            share = min(span.end_us, end_us) - max(span.begin_us, begin_us)
            shares[span.phase] = shares.get(span.phase, 0) + max(share, 0)
    return max(shares, key=lambda phase: shares[phase]) if any(shares.values()) else Phase.STABLE


def _awaited(context: Context, holder: str, waits: Sequence[Wait]) -> tuple[str, ...]:
    """The partitions that were waited for: what a member was to give up or, if only they waited for it, what it got."""
    if any(wait.waiter != holder for wait in waits):
        return _given_up(context, holder)
    its_own: set[str] = set()
    got: dict[str, None] = {}
    for event in context.own:
        fact = event.fact
        if isinstance(fact, PartitionsReleased) and fact.member_id == holder:
            its_own.update(fact.partitions)
        elif isinstance(fact, PartitionsAssigned) and fact.member_id == holder:
            got.update(dict.fromkeys(fact.partitions))
    return tuple(name for name in got if name not in its_own)


def _given_up(context: Context, holder: str) -> tuple[str, ...]:
    """What a member was to give up, or gave up, in this rebalance, and did not get back."""
    back = {
        partition
        for event in context.own
        if isinstance(event.fact, PartitionsAssigned) and event.fact.member_id == holder
        for partition in event.fact.partitions
    }
    names = dict.fromkeys(
        partition
        for event in context.own
        if isinstance(event.fact, (PartitionsTold, PartitionsReleased)) and event.fact.member_id == holder
        for partition in event.fact.partitions
    )
    return tuple(name for name in names if name not in back)
