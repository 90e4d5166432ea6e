"""Who waited for whom in a rebalance, how long, and in which phase of the one that was waited for.

It must not know causes or words; all times are of the run's monotonic clock.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from bridge.telemetry.cause.scene import Scene, find_handed
from bridge.telemetry.cause.spans import Span, pair_spans
from bridge.telemetry.schema.facts import (
    Fact,
    MemberJoined,
    MemberLeft,
    MemberRejoined,
    PartitionsAssigned,
    PartitionsReleased,
    PartitionsTold,
    RebalanceBegan,
    TargetComputed,
)
from bridge.telemetry.schema.terms import Departure, Phase

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


def find_critical(scene: Scene, gone_before: Collection[str] = ()) -> Critical | None:
    """The member that was waited for longest, None if nobody was.

    `gone_before` are members whose absence made the rebalance: it began without them.
    """
    spans = pair_spans((*scene.past, *scene.own), scene.begin_us, scene.end_us)
    spans = [span for span in spans if span.end_us > scene.begin_us and span.begin_us < scene.end_us]
    waits_of: dict[str, list[Wait]] = {}
    for wait in find_waits(scene, spans, gone_before):
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
        partitions=() if scene.is_barrier else _given_up(scene, holder),
        is_gone=any(isinstance(event.fact, MemberLeft) and event.fact.member_id == holder for event in scene.own),
        is_by_all=scene.is_barrier,
    )


def find_waits(scene: Scene, spans: Sequence[Span], gone_before: Collection[str] = ()) -> Iterator[Wait]:
    """Every wait of the rebalance, given the phases that touch it."""
    if scene.is_barrier:
        yield from _waits_for_last(scene, spans, gone_before)
        yield from _waits_for_leader(scene, spans)
        yield from _waits_for_next_round(scene, spans)
    else:
        yield from _waits_for_release(scene, spans)
        yield from _waits_for_handover(scene, spans)


def union_us(intervals: Iterable[tuple[int, int]]) -> int:
    """How much time is covered by at least one of these intervals."""
    total = reached = 0
    for begin_us, end_us in sorted(intervals):
        if end_us > reached:
            total += end_us - max(begin_us, reached)
            reached = end_us
    return total


# ---------------------------------------------------------------------------------------------- classic groups


def _waits_for_last(scene: Scene, spans: Sequence[Span], gone_before: Collection[str]) -> Iterator[Wait]:
    """Members that have joined wait for the last one to do so, or to be given up."""
    spans_of = _by_member(spans)
    # Who joins again once the generation was handed out, as a leader may, is given it again.
    handed_us = find_handed(scene.own, scene.fact.rebalance_id)
    limit_us = scene.end_us if handed_us is None else handed_us
    joining = (span for span in spans if span.phase is Phase.JOINING and span.has_begin)
    joins = {span.member_id: span for span in joining if span.begin_us <= limit_us}
    if not joins:
        return
    last = max(joins.values(), key=lambda span: (span.begin_us, span.member_id))
    holder, until_us = last.member_id, last.begin_us
    missed = [
        event.fact.member_id
        for event in scene.own
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


def _waits_for_leader(scene: Scene, spans: Sequence[Span]) -> Iterator[Wait]:
    """Members that have joined wait for the leader's assignment; one that never came they waited for to the end."""
    leader = next((e.fact.member_id for e in scene.own if isinstance(e.fact, MemberRejoined) and e.fact.is_leader), "")
    brought = [event.stamp.mono_us for event in scene.own if isinstance(event.fact, TargetComputed)]
    until_us = brought[-1] if brought else scene.end_us
    for span in spans:
        if span.phase is Phase.SYNCING and leader and span.member_id != leader:
            yield Wait(
                holder=leader,
                waiter=span.member_id,
                begin_us=span.begin_us,
                end_us=min(max(until_us, span.begin_us), span.end_us),
                phase=Phase.SYNCING,
            )


def _waits_for_next_round(scene: Scene, spans: Sequence[Span]) -> Iterator[Wait]:
    """Newcomers to a cooperative group wait for those who give something up when they have their assignment."""
    newcomers = _newcomers(scene) | _still_coming(scene)
    synced = {span.member_id: span.end_us for span in spans if span.phase is Phase.SYNCING}
    for span in spans:
        if span.phase is Phase.REVOKING and span.begin_us >= synced.get(span.member_id, span.end_us):
            for waiter in newcomers - {span.member_id}:
                yield Wait(
                    holder=span.member_id,
                    waiter=waiter,
                    begin_us=span.begin_us,
                    end_us=min(span.end_us, scene.end_us),
                    phase=Phase.REVOKING,
                )


def _newcomers(scene: Scene) -> set[str]:
    return {event.fact.member_id for event in (*scene.at_first, *scene.own) if isinstance(event.fact, MemberJoined)}


def _still_coming(scene: Scene) -> set[str]:
    """Newcomers of rebalances that were cut short by the next, the last of them by this one."""
    chain = {scene.opening.fact.supersedes} if isinstance(scene.opening.fact, RebalanceBegan) else set[str]()
    for event in reversed(scene.past):
        if isinstance(event.fact, RebalanceBegan) and event.fact.rebalance_id in chain:
            chain.add(event.fact.supersedes)
    joins = [event.fact for event in scene.past if isinstance(event.fact, MemberJoined)]
    return {fact.member_id for fact in joins if fact.rebalance_id and fact.rebalance_id in chain}


# ---------------------------------------------------------------------------------------------- groups with epochs


def _waits_for_release(scene: Scene, spans: Sequence[Span]) -> Iterator[Wait]:
    """Members that name whom they wait for."""
    spans_of = _by_member(spans)
    for span in spans:
        if span.phase is Phase.AWAITING_RELEASE:
            begin_us, limit_us = max(span.begin_us, scene.begin_us), min(span.end_us, scene.end_us)
            for holder in span.waits_on:
                # Who waits for several goes on waiting when one of them has given up what it had.
                is_one_of_many = len(span.waits_on) > 1
                end_us = _released_us(scene, holder, limit_us) if is_one_of_many else limit_us
                if end_us > begin_us:
                    phase = _phase_at(spans_of, holder, begin_us, end_us)
                    yield Wait(holder=holder, waiter=span.member_id, begin_us=begin_us, end_us=end_us, phase=phase)


def _released_us(scene: Scene, holder: str, limit_us: int) -> int:
    """When a member gave up the last of what it gave up in this rebalance, the limit if it gave up nothing."""
    facts = ((event.fact, event.stamp.mono_us) for event in scene.own)
    return max((at for fact, at in facts if _releases(fact, holder) and at <= limit_us), default=limit_us)


def _releases(fact: Fact, holder: str) -> bool:
    return isinstance(fact, PartitionsReleased) and fact.member_id == holder


def _waits_for_handover(scene: Scene, spans: Sequence[Span]) -> Iterator[Wait]:
    """A partition that one member released and another one got kept the latter waiting, since it came at the latest."""
    spans_of = _by_member(spans)
    joined: dict[str, int] = {}
    for span in sorted(spans, key=lambda span: span.begin_us):
        if span.phase is Phase.JOINING:
            joined.setdefault(span.member_id, span.begin_us)
    released: dict[str, tuple[str, int]] = {}
    for event in scene.own:
        fact, at_us = event.fact, event.stamp.mono_us
        if isinstance(fact, PartitionsReleased):
            released.update((partition, (fact.member_id, at_us)) for partition in fact.partitions)
        elif isinstance(fact, PartitionsAssigned):
            begin_us = max(scene.begin_us, joined.get(fact.member_id, scene.begin_us))
            for holder, end_us in {released[name] for name in fact.partitions if name in released}:
                if holder != fact.member_id and end_us > begin_us:
                    phase = _phase_at(spans_of, holder, begin_us, end_us)
                    yield Wait(holder=holder, waiter=fact.member_id, begin_us=begin_us, end_us=end_us, phase=phase)
            for name in fact.partitions:
                released.pop(name, None)
    yield from _waits_of_newcomers(scene, spans_of, set(released.values()) | _never_released(scene))


def _never_released(scene: Scene) -> set[tuple[str, int]]:
    """Members that were told to give something up and had not done so when the rebalance ended, with that time."""
    told: dict[str, str] = {}
    for event in scene.own:
        fact = event.fact
        if event.stamp.mono_us > scene.end_us:
            break
        if isinstance(fact, PartitionsTold):
            told.update(dict.fromkeys(fact.partitions, fact.member_id))
        elif isinstance(fact, PartitionsReleased | PartitionsAssigned):
            for name in fact.partitions:
                told.pop(name, None)
    return {(holder, scene.end_us) for holder in told.values()}


def _waits_of_newcomers(scene: Scene, spans_of: SpansOf, unclaimed: set[tuple[str, int]]) -> Iterator[Wait]:
    """What was released and not given to anybody before the end is for those who have just come."""
    newcomers = _newcomers(scene)
    # Who was put out for being late was waited for until then.
    left = [event.fact for event in scene.own if isinstance(event.fact, MemberLeft)]
    gone = {fact.member_id for fact in left if fact.departure is not Departure.REBALANCE_TIMED_OUT}
    for holder, end_us in unclaimed:
        if holder not in gone and end_us > scene.begin_us:
            phase = _phase_at(spans_of, holder, scene.begin_us, end_us)
            for waiter in newcomers - {holder}:
                yield Wait(holder=holder, waiter=waiter, begin_us=scene.begin_us, end_us=end_us, phase=phase)


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


def _given_up(scene: Scene, holder: str) -> tuple[str, ...]:
    """What a member was to give up, or gave up, in this rebalance, and did not get back."""
    back = {
        partition
        for event in scene.own
        if isinstance(event.fact, PartitionsAssigned) and event.fact.member_id == holder
        for partition in event.fact.partitions
    }
    names = dict.fromkeys(
        partition
        for event in scene.own
        if isinstance(event.fact, PartitionsTold | PartitionsReleased) and event.fact.member_id == holder
        for partition in event.fact.partitions
    )
    return tuple(name for name in names if name not in back)
