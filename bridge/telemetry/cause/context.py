"""Sorts the events around one rebalance: its own, those before, and those that may have caused it.

What a rebalance before this one was made for can't have caused this one too; `keep_past` says which events have to be
remembered for that.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from bridge.telemetry.schema.facts import (
    BridgeStarted,
    CoordinatorMoved,
    Event,
    GroupConverted,
    GroupCreated,
    GroupFact,
    GroupRevived,
    MemberFact,
    MemberJoined,
    MemberLeft,
    MemberRejoined,
    MemberSubscribed,
    OperatorActed,
    PhaseBegan,
    PhaseEnded,
    RebalanceBegan,
    RebalanceEnded,
    TargetComputed,
    TopicsChanged,
)
from bridge.telemetry.schema.terms import Departure, Phase, Protocol, Road

SECOND_US = 1_000_000
SAME_TURN_US = SECOND_US
"""The engine tells what happened and what follows from it in one turn; a request may have waited a little for that."""
SHORTLY_BEFORE_US = 15 * SECOND_US
"""Elsewhere a change is noticed with the next heartbeat of some member: three to five seconds, and a margin."""
MOVED_US = 60 * SECOND_US
"""A member comes to a new coordinator when it misses the former one: after a session without answer, and a margin."""
METADATA_AGE_US = 330 * SECOND_US
"""A classic leader notices new partitions when it refreshes its metadata: every five minutes, and a margin."""
WAVE_WINDOW_US = 60 * SECOND_US
WAVE_CHANGES_MIN = 3
"""So many joins and leaves, some of each, within the window are a deployment."""


TYPED = GroupCreated | GroupRevived | GroupConverted
NOTICED_LATE = (Departure.SESSION_EXPIRED, Departure.VANISHED, Departure.REBALANCE_TIMED_OUT)
"""Departures that a classic group tells of when its members are counted."""
ANSWERED = (Phase.SYNCING, Phase.AWAITING_RELEASE, Phase.STABLE)
"""What a member does once its join was answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """One rebalance. `at_first` may have caused it: what happened until it began. `later` happened while members were
    still coming together, and has caused it if nothing else has: an expiry is noticed when the others are counted.

    `is_barrier`: all members stop and meet, as in a classic group; otherwise each epoch has a rebalance of its own.
    `reach_us` is how long before the beginning a cause may lie; only topics and moved coordinators are noticed
    later.
    """

    opening: Event
    fact: GroupFact
    past: tuple[Event, ...]
    own: tuple[Event, ...]
    at_first: tuple[Event, ...]
    later: tuple[Event, ...]
    is_barrier: bool
    reach_us: int
    begin_us: int
    end_us: int

    @property
    def group_epoch(self) -> int:
        """The last epoch that its events name: a classic generation is handed out in its middle."""
        facts = (event.fact for event in reversed(self.own) if isinstance(event.fact, GroupFact))
        own = (fact.group_epoch for fact in facts if fact.rebalance_id == self.fact.rebalance_id)
        return next(own, self.fact.group_epoch)


def context_of(events: Sequence[Event]) -> Context | None:
    """The context of the last rebalance among the events, None if there is none."""
    rebalance_id = _last_id(events)
    if not rebalance_id:
        return None
    opening = _opening(events, rebalance_id)
    fact = opening.fact
    assert isinstance(fact, GroupFact), "a rebalance is of a group"
    boot, number, begin_us = opening.stamp.boot, opening.stamp.number, opening.stamp.mono_us
    run = sorted((event for event in events if event.stamp.boot == boot), key=lambda event: event.stamp.number)
    past = [event for event in run if event.stamp.number < number]
    own = [event for event in run if event.stamp.number >= number]
    is_barrier = _is_barrier(past, own)
    meeting = _meeting(own, rebalance_id) if is_barrier else frozenset[int]()
    reach_us = SAME_TURN_US if fact.road is Road.EMBEDDED and not is_barrier else SHORTLY_BEFORE_US
    at_first = [
        event
        for event in _open_past(past, is_barrier=is_barrier)
        if _is_recent(event, begin_us, _reach_us(event, reach_us))
    ]
    at_first += (event for event in own if event.stamp.mono_us <= begin_us)
    return Context(
        opening=opening,
        fact=fact,
        past=(*(event for event in events if event.stamp.boot != boot), *past),
        own=tuple(own),
        at_first=tuple(at_first),
        later=tuple(event for event in own if event.stamp.number in meeting and event.stamp.mono_us > begin_us),
        is_barrier=is_barrier,
        reach_us=reach_us,
        begin_us=begin_us,
        end_us=max(begin_us, _end_us(own, rebalance_id)),
    )


def _last_id(events: Sequence[Event]) -> str:
    for event in reversed(events):
        if isinstance(event.fact, (RebalanceBegan, RebalanceEnded)):
            return event.fact.rebalance_id
    return ""


def _opening(events: Sequence[Event], rebalance_id: str) -> Event:
    """What opened the rebalance, or the first that is known of it if the log lacks that."""
    own = [event for event in events if isinstance(event.fact, GroupFact) and event.fact.rebalance_id == rebalance_id]
    return next((event for event in own if isinstance(event.fact, RebalanceBegan)), own[0])


def _end_us(own: Sequence[Event], rebalance_id: str) -> int:
    ends = (event.stamp.mono_us for event in own if is_end_of(event, rebalance_id))
    return next(ends, max(event.stamp.mono_us for event in own))


def is_end_of(event: Event, rebalance_id: str) -> bool:
    """Whether a rebalance is over with this event."""
    return isinstance(event.fact, RebalanceEnded) and event.fact.rebalance_id == rebalance_id


def _is_barrier(past: Sequence[Event], own: Sequence[Event]) -> bool:
    """Whether the group is classic: by what is said of it, or else because its members have no epochs."""
    kinds = [event.fact.group_type for event in past if isinstance(event.fact, TYPED)]
    if kinds:
        return kinds[-1] is Protocol.CLASSIC
    members = [event.fact for event in (*past, *own) if isinstance(event.fact, MemberFact)]
    return bool(members) and all(_has_no_epoch(fact) for fact in members)


def _has_no_epoch(fact: MemberFact) -> bool:
    return fact.member_epoch < 0 and fact.protocol is Protocol.CLASSIC


def _meeting(own: Sequence[Event], rebalance_id: str) -> frozenset[int]:
    """Numbers of the events that happened before a generation was handed out, and of the departures noticed by it."""
    handed_us = find_handed(own, rebalance_id)
    if handed_us is None:
        return frozenset(event.stamp.number for event in own)
    counted = min((event.stamp.number for event in own if _counts(event, handed_us)), default=None)
    return frozenset(
        event.stamp.number
        for event in own
        if event.stamp.mono_us <= handed_us
        or (_is_noticed(event) and (counted is None or event.stamp.number < counted))
    )


def _counts(event: Event, handed_us: int) -> bool:
    """Whether nobody is dropped from a meeting after this: all are given shares, or another broker counts anew."""
    is_moved = isinstance(event.fact, CoordinatorMoved) and event.stamp.mono_us > handed_us
    return is_moved or isinstance(event.fact, TargetComputed)


def find_handed(own: Sequence[Event], rebalance_id: str) -> int | None:
    """When a classic rebalance's generation was handed out, None if it was not.

    Who had joined for the one before, and hears of its generation only now, has not met the others yet.
    """
    late: set[str] = set()
    for event in own:
        fact = event.fact
        if isinstance(fact, PhaseEnded) and fact.phase is Phase.JOINING and fact.rebalance_id != rebalance_id:
            late.add(fact.member_id)
        elif isinstance(fact, PhaseBegan) and fact.phase is Phase.JOINING:
            late.discard(fact.member_id)
        elif isinstance(fact, PhaseBegan) and fact.phase is Phase.SYNCING and fact.member_id not in late:
            return event.stamp.mono_us
    return None


def _is_noticed(event: Event) -> bool:
    return isinstance(event.fact, MemberLeft) and event.fact.departure in NOTICED_LATE


def _open_past(past: Sequence[Event], *, is_barrier: bool) -> list[Event]:
    """The past without what led to the rebalance before, was dealt with in it, or led to none."""
    idle = _let_in(past)
    return [event for event in _not_dealt_with(past, is_barrier=is_barrier) if event.stamp.number not in idle]


def _let_in(past: Sequence[Event]) -> frozenset[int]:
    """Numbers of the returns of static members that were let in again, with those that they replaced (KIP-345).

    Their joins were answered with what the group has, before the rebalance that is to be explained: they made none.
    """
    found: set[int] = set()
    back: dict[str, Event] = {}
    for event in past:
        fact = event.fact
        if isinstance(fact, MemberJoined) and fact.is_return:
            back[fact.member_id] = event
        elif isinstance(fact, PhaseBegan) and fact.phase in ANSWERED and fact.member_id in back:
            found.add(back.pop(fact.member_id).stamp.number)
    former = {e.fact.former_id for e in past if isinstance(e.fact, MemberJoined) and e.stamp.number in found}
    return frozenset(found).union(event.stamp.number for event in past if _is_replaced(event, former))


def _is_replaced(event: Event, former: Collection[str]) -> bool:
    fact = event.fact
    return isinstance(fact, MemberLeft) and fact.departure is Departure.REPLACED and fact.member_id in former


def _not_dealt_with(past: Sequence[Event], *, is_barrier: bool) -> list[Event]:
    """The past without what led to the rebalance before, or was dealt with in it."""
    last = max((place for place, event in enumerate(past) if isinstance(event.fact, RebalanceBegan)), default=-1)
    if last < 0:
        return list(past)
    began = past[last]
    since = past[last + 1 :]
    ended = next((place for place, event in enumerate(since) if isinstance(event.fact, RebalanceEnded)), len(since))
    inside, after = since[:ended], since[ended:]
    if is_barrier:
        met = _meeting(inside, began.fact.rebalance_id if isinstance(began.fact, RebalanceBegan) else "")
        met |= _answered(inside)
        return [*(event for event in inside if event.stamp.number not in met), *after]
    # What is told after its target was not in it, though that was at the same instant.
    targets = (event.stamp.number for event in inside if isinstance(event.fact, TargetComputed))
    dealt = next(targets, inside[-1].stamp.number if inside else 0)
    return [*(e for e in inside if e.stamp.mono_us > began.stamp.mono_us or e.stamp.number > dealt), *after]


def _answered(inside: Sequence[Event]) -> frozenset[int]:
    """Numbers of the rejoins to which a generation was the answer: who came late let all meet once more."""
    found: set[int] = set()
    asked: dict[str, int] = {}
    for event in inside:
        fact = event.fact
        if isinstance(fact, MemberRejoined):
            asked[fact.member_id] = event.stamp.number
        elif isinstance(fact, PhaseBegan) and fact.phase is Phase.SYNCING and fact.member_id in asked:
            found.add(asked.pop(fact.member_id))
    return frozenset(found)


def _reach_us(event: Event, reach_us: int) -> int:
    """How long after this event somebody may notice it; others after `reach_us`."""
    match event.fact:
        case TopicsChanged():
            return METADATA_AGE_US
        case MemberLeft(departure=Departure.VANISHED, road=Road.PASSING):
            return max(reach_us, MOVED_US)
        case _:
            return reach_us


def _is_recent(event: Event, begin_us: int, reach_us: int) -> bool:
    return begin_us - reach_us <= event.stamp.mono_us <= begin_us


CHANGES = (
    BridgeStarted
    | CoordinatorMoved
    | GroupConverted
    | GroupCreated
    | GroupRevived
    | MemberJoined
    | MemberLeft
    | MemberSubscribed
    | OperatorActed
    | RebalanceBegan
    | RebalanceEnded
    | TargetComputed
    | TopicsChanged
)
_CHANGES = frozenset(CHANGES.__args__)
_OPENING = frozenset((MemberRejoined, PhaseEnded))
CHANGES_MAX = 80
OPENING_EVENTS = 3
LATEST_MAX = 32


def keep_past(events: Sequence[Event]) -> list[Event]:
    """The latest events, and the latest changes whatever has followed them, in their order.

    Changes are kept with who opened a rebalance, and what that was about to end.
    """
    latest, earlier = events[-LATEST_MAX:], events[:-LATEST_MAX]
    kept: list[Event] = []
    since_opening = OPENING_EVENTS
    for event in earlier:
        # Thousands of events of one large rebalance come by here at once: a look-up costs less than an isinstance.
        kind = type(event.fact)
        since_opening = 0 if kind is RebalanceBegan else since_opening + 1
        if kind in _CHANGES or (since_opening <= OPENING_EVENTS and kind in _OPENING):
            kept.append(event)
    return [*kept[-CHANGES_MAX:], *latest]
