"""The rules that name a rebalance's cause, in order: the first that finds evidence holds."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from bridge.telemetry.cause.context import MOVED_US, SAME_TURN_US, WAVE_CHANGES_MIN, WAVE_WINDOW_US, Context, context_of
from bridge.telemetry.cause.topics import find_movers, find_topics
from bridge.telemetry.schema.facts import (
    CoordinatorMoved,
    Event,
    Fact,
    GroupConverted,
    GroupCreated,
    GroupRevived,
    MemberFact,
    MemberJoined,
    MemberLeft,
    MemberRejoined,
    MemberSubscribed,
    OperatorActed,
    PartitionsAssigned,
    PartitionsReleased,
    PhaseBegan,
    PhaseEnded,
    RebalanceBegan,
    RebalanceEnded,
    TargetComputed,
    TopicsChanged,
)
from bridge.telemetry.schema.terms import Cause, Conversion, Departure, OperatorAction, Outcome, Phase, Protocol, Road

Events = Sequence[Event]
Find = Callable[[Context, Events], tuple[Event, ...]]
"""Takes the context and the events that may have caused the rebalance; gives those that show the cause."""

CLEAN = frozenset((Departure.LEFT, Departure.REPLACED, Departure.FENCED, Departure.GROUP_FULL))
EXPIRED = frozenset((Departure.SESSION_EXPIRED, Departure.CONNECTION_LOST, Departure.VANISHED))
NOT_POLLED = frozenset((Departure.POLL_TIMED_OUT,))
TIMED_OUT = frozenset((Departure.REBALANCE_TIMED_OUT, Departure.SYNC_TIMED_OUT))
DEALT_LATER_US = 7_000_000
"""Within that time a member hears of what a broker computed a second later: it beats every five (Kafka's default)."""
FIRST_EPOCH_MAX = 2
"""A broker gives the first member of a new group epoch 1 or 2: creating the group may count as a change."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A cause and how it is found."""

    cause: Cause
    find: Find


@dataclass(frozen=True, slots=True)
class Finding:
    """A cause and the events that show it, oldest first; `is_again`: it had a rebalance already, and needs another."""

    cause: Cause
    evidence: tuple[Event, ...]
    is_again: bool = False


def find_cause(context: Context) -> Finding:
    """What caused the rebalance; what happened before it counts first, then what came while members met."""
    return (
        _apply(CHANGES, context, _still_open(context))
        or _find_round(context)
        or _apply(NOTICES, context, context.at_first)
        or _apply((*CHANGES, *NOTICES), context, context.later)
        or _find_seat_expired(context)
        or _find_dropped(context)
        or _find_together(context)
        or _find_dealt_later(context)
        or Finding(Cause.UNKNOWN, ())
    )


def _still_open(context: Context) -> Events:
    """What happened until it began, without departures that were noticed only after they had made a rebalance."""
    late = [event for event in context.at_first if _left(event) in EXPIRED | TIMED_OUT]
    former = context_of(context.past) if late and not context.is_barrier else None
    dealt_with = () if former is None else find_cause(former).evidence
    return tuple(event for event in context.at_first if event not in late or event not in dealt_with)


def _apply(rules: Sequence["Rule"], context: Context, candidates: Events) -> Finding | None:
    for rule in rules:
        evidence = rule.find(context, candidates)
        if evidence:
            together = (*evidence, *_joined_meanwhile(context, rule.cause, evidence))
            return Finding(rule.cause, tuple(sorted(together, key=lambda event: event.stamp.mono_us)))
    return None


def _joined_meanwhile(context: Context, cause: Cause, evidence: Events) -> Iterator[Event]:
    """Those who came while the others were still meeting because somebody had come."""
    if cause in (Cause.JOIN, Cause.FIRST_JOIN):
        yield from (event for event in context.later if isinstance(event.fact, MemberJoined) and event not in evidence)


def _find_round(context: Context) -> Finding | None:
    """A cooperative member gave up what it lost in a rebalance and joins again, so that others get it (KIP-429)."""
    movers = {member_of(event) for event in find_movers(context, context.own)} if context.is_barrier else set[str]()
    if not any(_gave_up_before(context, event) and member_of(event) in movers for event in context.own):
        return None
    former = context_of(context.past)
    found = None if former is None else find_cause(former)
    if found is None or found.cause is Cause.UNKNOWN:
        return None
    more = tuple(_joined_meanwhile(context, found.cause, found.evidence))
    return replace(found, evidence=(*found.evidence, *more), is_again=True)


def _gave_up_before(context: Context, event: Event) -> bool:
    """Whether a member ends what an earlier rebalance told it to give up."""
    fact = event.fact
    is_revoking = isinstance(fact, PhaseEnded) and fact.phase is Phase.REVOKING
    return is_revoking and event.stamp.mono_us <= context.begin_us and _is_earlier(context, fact)


def _is_earlier(context: Context, fact: Fact) -> bool:
    return isinstance(fact, PhaseEnded) and fact.rebalance_id not in ("", context.fact.rebalance_id)


def _of(kind: type[object]) -> Find:
    return lambda _, candidates: tuple(event for event in candidates if isinstance(event.fact, kind))


def _departed(departures: frozenset[Departure]) -> Find:
    return lambda _, candidates: tuple(event for event in candidates if _left(event) in departures)


def _left(event: Event) -> Departure | None:
    return event.fact.departure if isinstance(event.fact, MemberLeft) else None


# ---------------------------------------------------------------------------------------------- one finder per cause


def _find_operator(_: Context, candidates: Events) -> tuple[Event, ...]:
    return tuple(event for event in candidates if _is_operators(event))


def _is_operators(event: Event) -> bool:
    fact = event.fact
    if isinstance(fact, GroupConverted):
        return fact.conversion is Conversion.OPERATOR
    # A move disturbs nobody: what happens after one has a cause of its own.
    is_order = isinstance(fact, OperatorActed) and fact.action is not OperatorAction.MOVE
    return is_order or _left(event) is Departure.REMOVED


def _find_restart(context: Context, candidates: Events) -> tuple[Event, ...]:
    """A group that goes on after a restart, and nothing has happened to it since."""
    revivals = [place for place, event in enumerate(candidates) if isinstance(event.fact, GroupRevived)]
    if not revivals:
        return () if any(_is_change(event) for event in candidates) else _left_open(context)
    return () if any(_is_change(event) for event in candidates[revivals[-1] :]) else (candidates[revivals[-1]],)


def _left_open(context: Context) -> tuple[Event, ...]:
    """On road `pass`: the run before ended in the middle of a rebalance, and this is the first one of this run."""
    run = [event for event in context.past if event.stamp.boot == context.opening.stamp.boot]
    if context.fact.road is Road.EMBEDDED or any(isinstance(event.fact, RebalanceBegan) for event in run):
        return ()
    return tuple(event for event in run if _is_interruption(context, event))


def _is_interruption(context: Context, event: Event) -> bool:
    fact = event.fact
    if not isinstance(fact, RebalanceEnded) or fact.group_id != context.fact.group_id:
        return False
    return fact.outcome is Outcome.INTERRUPTED


def _is_change(event: Event) -> bool:
    return isinstance(event.fact, (MemberJoined, MemberLeft, MemberSubscribed, TopicsChanged))


def _find_first_join(context: Context, candidates: Events) -> tuple[Event, ...]:
    joins = _of(MemberJoined)(context, candidates)
    return joins if joins and _was_empty(context, joins) else ()


def _was_empty(context: Context, joins: Events) -> bool:
    """Whether the newcomers are all that there is: by the target's count, the group's past, or nobody else showing."""
    counts = [event.fact.member_count for event in context.own if isinstance(event.fact, TargetComputed)]
    if counts:
        newcomers = {member_of(event) for event in (*joins, *_of(MemberJoined)(context, context.own))}
        return counts[0] == len(newcomers) and not any(_left(event) for event in context.at_first)
    if any(isinstance(event.fact, GroupCreated) for event in context.at_first):
        return True
    endings = [event.fact.outcome for event in context.past if isinstance(event.fact, RebalanceEnded)]
    if endings:
        return endings[-1] is Outcome.EMPTIED
    is_new = 0 <= context.fact.group_epoch <= FIRST_EPOCH_MAX or context.is_barrier
    return is_new and not _residents(context, joins)


def _residents(context: Context, joins: Events) -> set[str]:
    known = context.own if context.is_barrier else (*context.past, *context.own)
    members = {member_of(event) for event in known} - {member_of(event) for event in joins}
    return members - {member_of(event) for event in context.own if isinstance(event.fact, MemberJoined)} - {""}


def _find_wave(context: Context, candidates: Events) -> tuple[Event, ...]:
    """Members leave and others come, one after the other; it begins with the first that leaves."""
    if not any(_is_deployed(event) for event in candidates) or _is_left_empty(context):
        return ()
    since_us, boot = context.begin_us - WAVE_WINDOW_US, context.opening.stamp.boot
    known = {event.stamp.number: event for event in (*context.past, *context.at_first, *context.later)}
    recent = [event for event in known.values() if event.stamp.boot == boot and event.stamp.mono_us >= since_us]
    changes = sorted((event for event in recent if _is_deployed(event)), key=lambda event: event.stamp.mono_us)
    first = next((place for place, event in enumerate(changes) if _left(event)), len(changes))
    wave = changes[first:]
    joins = sum(isinstance(event.fact, MemberJoined) for event in wave)
    return tuple(wave) if len(wave) >= WAVE_CHANGES_MIN and joins else ()


def _is_left_empty(context: Context) -> bool:
    counts = [event.fact.member_count for event in context.own if isinstance(event.fact, TargetComputed)]
    emptied = any(isinstance(e.fact, RebalanceEnded) and e.fact.outcome is Outcome.EMPTIED for e in context.own)
    return emptied or counts[:1] == [0]


def _is_deployed(event: Event) -> bool:
    return isinstance(event.fact, MemberJoined) or _left(event) is Departure.LEFT


def _find_static_return(context: Context, candidates: Events) -> tuple[Event, ...]:
    """A static member that came back and was not simply let in again: its seat had expired."""
    evidence: list[Event] = []
    for event in candidates:
        fact = event.fact
        if isinstance(fact, MemberJoined) and fact.instance_id is not None:
            departures = _departures_of(context.past, fact.instance_id)
            last = departures[-1] if departures else None
            if fact.is_return or (last is not None and _left(last) in EXPIRED | TIMED_OUT | {Departure.STATIC_LEFT}):
                evidence += (event,) if last is None else (last, event)
    return tuple(evidence)


def _departures_of(events: Iterable[Event], instance_id: str) -> list[Event]:
    return [event for event in events if isinstance(event.fact, MemberLeft) and event.fact.instance_id == instance_id]


def _find_moved(context: Context, candidates: Events) -> tuple[Event, ...]:
    """The coordinator moved since the rebalance before began; members join again at the new one."""
    opening = context.opening.stamp.number
    former = max((event.stamp.number for event in context.past if _is_former(context, event)), default=-1)
    since_us = context.begin_us - max(context.reach_us, MOVED_US)
    found = tuple(
        event
        for event in dict.fromkeys((*context.past, *candidates))
        if isinstance(event.fact, CoordinatorMoved)
        and event.stamp.boot == context.opening.stamp.boot
        and (former < event.stamp.number < opening or event in candidates)
        and event.stamp.mono_us >= since_us
    )
    return found or _find_moved_before(context)


def _find_forgotten(context: Context, candidates: Events) -> tuple[Event, ...]:
    """The new coordinator has not heard of the last generation: members that were in it only are newcomers there."""
    is_passing = context.fact.road is Road.PASSING
    is_forgotten = any(_left(event) is Departure.VANISHED for event in candidates)
    return _find_moved(context, candidates) if is_passing and is_forgotten else ()


def _find_expired(context: Context, candidates: Events) -> tuple[Event, ...]:
    """Members whose coordinator waited for them in vain.

    On road `pass` it never heard of those that vanished, and misses nobody: what they make is a join, when they come
    again under another id.
    """
    was_known = EXPIRED - {Departure.VANISHED} if context.fact.road is Road.PASSING else EXPIRED
    return tuple(event for event in candidates if _left(event) in was_known)


def _find_moved_before(context: Context) -> tuple[Event, ...]:
    """Another member was at the new coordinator sooner, and this rebalance cuts short the one that it opened."""
    former = _superseded(context)
    finding = None if former is None else find_cause(former)
    return finding.evidence if finding is not None and finding.cause is Cause.COORDINATOR_MOVED else ()


def _superseded(context: Context) -> Context | None:
    """The rebalance that this one cut short, if it did."""
    began = context.opening.fact
    former = context_of(context.past) if isinstance(began, RebalanceBegan) and began.supersedes else None
    is_it = former is not None and isinstance(began, RebalanceBegan) and former.fact.rebalance_id == began.supersedes
    return former if is_it else None


def _find_together(context: Context) -> Finding | None:
    """Requests that came together made two epochs one after the other: what led to both was told before the first."""
    former = _superseded(context)
    if former is None or context.fact.road is not Road.EMBEDDED or context.begin_us - former.begin_us > SAME_TURN_US:
        return None
    found = find_cause(former)
    return None if found.cause is Cause.UNKNOWN else replace(found, is_again=True)


def _find_dealt_later(context: Context) -> Finding | None:
    """Of several who came or went together a broker deals for the first at once, and for the others a second later:
    Kafka 4.3 computes a consumer group's target no more often (`group.consumer.assignment.interval.ms`).
    """
    if context.is_barrier or context.fact.road is Road.EMBEDDED:
        return None
    former = context_of(context.past)
    if former is None or context.begin_us - former.begin_us > DEALT_LATER_US:
        return None
    found = _apply(CHANGES, former, former.at_first)
    several = () if found is None else [e for e in found.evidence if isinstance(e.fact, (MemberJoined, MemberLeft))]
    return replace(found, is_again=True) if found is not None and len(several) > 1 else None


def _is_former(context: Context, event: Event) -> bool:
    return isinstance(event.fact, RebalanceBegan) and event.stamp.boot == context.opening.stamp.boot


def _find_leader(context: Context, candidates: Events) -> tuple[Event, ...]:
    """The leader of a classic group joined again before anybody was called."""
    return tuple(event for event in find_movers(context, candidates) if _is_leaders(event))


def _is_leaders(event: Event) -> bool:
    return isinstance(event.fact, MemberRejoined) and event.fact.is_leader


def _find_seat_expired(context: Context) -> Finding | None:
    """A static member went away for a while, did not come back, and nothing else happened."""
    away: dict[str, Event] = {}
    for event in context.past:
        fact = event.fact
        if isinstance(fact, MemberLeft) and fact.departure is Departure.STATIC_LEFT and fact.instance_id is not None:
            away[fact.instance_id] = event
        elif isinstance(fact, MemberJoined) and fact.instance_id is not None:
            away.pop(fact.instance_id, None)
    return Finding(Cause.SESSION_EXPIRED, tuple(away.values())) if away else None


def _find_dropped(context: Context) -> Finding | None:
    """On road `pass` nobody tells of a consumer member that has expired; but others get what it never released."""
    had: dict[str, Event] = {}
    for event in context.past:
        fact = event.fact
        if isinstance(fact, PartitionsAssigned):
            had.update(dict.fromkeys(fact.partitions, event))
        elif isinstance(fact, PartitionsReleased):
            for partition in fact.partitions:
                had.pop(partition, None)
    left = {member_of(event): event for event in context.own if _left(event) in EXPIRED | TIMED_OUT}
    # Of a classic client in whose place it beats the bridge tells its broker, and no later one is noticed by others.
    left = {name: event for name, event in left.items() if not _is_translated(event)}
    alive = {member_of(event) for event in context.own} - left.keys()
    taken = [
        name for event in context.own if isinstance(event.fact, PartitionsAssigned) for name in event.fact.partitions
    ]
    # Who was given something without a name was so by an answer that no client can use.
    owners = {member_id: had[name] for name in taken if name in had and (member_id := member_of(had[name]))}
    lost = {member_id: left.get(member_id, event) for member_id, event in owners.items() if member_id not in alive}
    if not lost:
        return _find_late(context, tuple(left.values()))
    was_called = lost.keys() <= _giving_up(context.past)
    return Finding(Cause.REBALANCE_TIMED_OUT if was_called else Cause.SESSION_EXPIRED, tuple(lost.values()))


def _is_translated(event: Event) -> bool:
    fact = event.fact
    return isinstance(fact, MemberFact) and fact.road is Road.UPSTREAM and fact.protocol is Protocol.CLASSIC


def _find_late(context: Context, left: Events) -> Finding | None:
    """A member heard that it was out after others had heard of the epoch without it."""
    if context.is_barrier or context.fact.road is Road.EMBEDDED or not left:
        return None
    is_late = all(_left(event) in TIMED_OUT for event in left)
    return Finding(Cause.REBALANCE_TIMED_OUT if is_late else Cause.SESSION_EXPIRED, tuple(left))


def _giving_up(events: Events) -> set[str]:
    """Members that were told to give something up, and did not say that they have."""
    phases = {member_of(event): event.fact.phase for event in events if isinstance(event.fact, PhaseBegan)}
    return {member_id for member_id, phase in phases.items() if phase is Phase.REVOKING}


CHANGES: tuple[Rule, ...] = (
    Rule(Cause.BRIDGE_RESTARTED, _find_restart),
    Rule(Cause.OPERATOR, _find_operator),
    Rule(Cause.FIRST_JOIN, _find_first_join),
    Rule(Cause.COORDINATOR_MOVED, _find_forgotten),
    Rule(Cause.SESSION_EXPIRED, _find_expired),
    Rule(Cause.REBALANCE_TIMED_OUT, _departed(TIMED_OUT)),
    Rule(Cause.POLL_TIMED_OUT, _departed(NOT_POLLED)),
    Rule(Cause.STATIC_RETURN, _find_static_return),
    Rule(Cause.DEPLOY_WAVE, _find_wave),
    Rule(Cause.LEAVE, _departed(CLEAN)),
    Rule(Cause.JOIN, _of(MemberJoined)),
)
"""Somebody came, went or gave an order."""
NOTICES: tuple[Rule, ...] = (
    Rule(Cause.TOPICS_CHANGED, find_topics),
    Rule(Cause.SUBSCRIPTION_CHANGED, _of(MemberSubscribed)),
    Rule(Cause.COORDINATOR_MOVED, _find_moved),
    Rule(Cause.LEADER_REJOINED, _find_leader),
)
"""Members that were there want or see something else."""


def member_of(event: Event) -> str:
    """The member that an event is about, "" for none."""
    return event.fact.member_id if isinstance(event.fact, MemberFact) else ""


def members_behind(finding: Finding) -> tuple[str, ...]:
    """The members that caused it, each once, in the order of the evidence; those that an operator named count."""
    told = {event.fact.instance_id for event in finding.evidence if isinstance(event.fact, MemberFact)}
    named: Mapping[str, None] = dict.fromkeys(
        member_id
        for event in finding.evidence
        for member_id in (_beyond(event.fact, told) if isinstance(event.fact, OperatorActed) else (member_of(event),))
        if member_id
    )
    return tuple(named)


def _beyond(ordered: OperatorActed, told: Collection[str | None]) -> Iterator[str]:
    """Whom an order names, without the instance ids of members that tell of themselves.

    A member itself always counts: a client may choose its instance id for its member id, too.
    """
    return (name for name in ordered.members if name not in told)
