"""Gathers the events of a running bridge into rebalances, and hands each to those who trace and measure it."""

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from bridge.telemetry.cause.context import keep_past
from bridge.telemetry.event_log.sinks import Fate, Line
from bridge.telemetry.rebalances.assembling import assemble
from bridge.telemetry.rebalances.rebalance import Rebalance
from bridge.telemetry.schema.facts import (
    CommitPassed,
    Event,
    GroupDeleted,
    GroupFact,
    MemberAdvanced,
    MemberFact,
    MemberInputs,
    MemberLeft,
    PartitionsAssigned,
    PhaseBegan,
    PhaseEnded,
    RebalanceBegan,
    RebalanceEnded,
    RebalanceExplained,
)
from bridge.telemetry.schema.lean import lean
from bridge.telemetry.schema.terms import Phase
from translators.dialects.kept_names import NAME_CHARS_MAX, kept_name

# ---------------------------------------------------------------------------------------- gathering
# Gathers the events of a running bridge into rebalances, and gives each out once everything about it has happened.
#
# The clock comes in with events and calls, and everything it keeps has a limit.

LINGER_US = 15_000_000
"""How long after its end a rebalance is kept for first Fetches and commits; kafka clients commit every five seconds."""
EXPLANATION = "", "explanation"
"""What a rebalance itself owes. It may never come: the log was full when it was told, or making it failed."""
OPEN_MAX = 1_000
EVENTS_MAX = 50_000
OPEN_EVENTS_MAX = 400_000
"""Events of all rebalances that are not given out yet; further ones are missing in their stories."""
EVERYWHERE_MAX = 16
PAST_EVENTS = 256
PAST_EVENTS_MAX = 20_000
"""Events before rebalances, of all groups together; where nothing was told for longest they are forgotten first."""
GROUPS_MAX = 10_000
INPUTS_MAX = 100_000
DEPARTED_MAX = 2_000
"""Members that are gone, of which what they told is kept for rebalances that begin later."""


@dataclass(slots=True, kw_only=True)
class _Open:
    """A rebalance that is not given out yet; `owing` are members of which a Fetch or a commit is to come, and its
    explanation, `told` what members told that left since it began.
    """

    past: tuple[Event, ...]
    events: list[Event] = field(default_factory=list)
    ended_us: int | None = None
    owing: set[tuple[str, str]] = field(default_factory=set)
    told: dict[str, Event] = field(default_factory=dict)

    def end(self, at_us: int) -> None:
        """It is over, if it was not before."""
        if self.ended_us is None:
            self.ended_us = at_us
            self.owing.add(EXPLANATION)


@dataclass(slots=True, kw_only=True)
class _Group:
    """What was told of a group lately, and the rebalance under way."""

    past: list[Event] = field(default_factory=list)
    current: str = ""


class Gatherer:
    """Takes events in the order of one run of the bridge."""

    def __init__(self) -> None:
        self.dropped = 0
        """Rebalances that there was no room for."""
        self._everywhere: deque[Event] = deque(maxlen=EVERYWHERE_MAX)
        self._groups: dict[str, _Group] = {}
        """In the order in which something was told of them last."""
        self._past_count = 0
        self._open_count = 0
        self._open: dict[str, _Open] = {}
        self._inputs: dict[str, Event] = {}
        self._departed: dict[str, None] = {}

    def add(self, event: Event) -> None:
        """Take one event."""
        # Every member of a group advances to every epoch; of those to whom that was more there are other facts.
        kept = None if isinstance(event.fact, MemberAdvanced) else lean(event)
        if kept is not None:
            self._take(kept)

    def _depart(self, member_id: str, under_way: Iterable[_Open]) -> None:
        """A member is gone: what it told is kept while its last rebalances may need it, not for ever."""
        told = self._inputs.get(member_id)
        if told is not None:
            for opened in under_way:
                opened.told[member_id] = told
        self._departed.pop(member_id, None)
        self._departed[member_id] = None
        if len(self._departed) > DEPARTED_MAX:
            oldest = next(iter(self._departed))
            del self._departed[oldest]
            self._inputs.pop(oldest, None)

    def _take(self, event: Event) -> None:
        fact = event.fact
        if isinstance(fact, MemberInputs):
            self._introduce(fact.member_id, event)
        if not isinstance(fact, GroupFact):
            self._everywhere.append(event)
            return
        group = self._group(fact.group_id)
        if isinstance(fact, RebalanceBegan):
            self._leave(group, event)
            self._begin(group, fact.rebalance_id)
        under_way = [self._open[one] for one in {fact.rebalance_id, group.current} if one in self._open]
        for opened in under_way:
            if len(opened.events) < EVENTS_MAX and self._open_count < OPEN_EVENTS_MAX:
                opened.events.append(event)
                self._open_count += 1
        named = self._open.get(fact.rebalance_id)
        if named is not None:
            _owe(named, event)
        if isinstance(fact, MemberLeft):
            self._depart(fact.member_id, under_way)
        if isinstance(fact, RebalanceExplained) and group.current == fact.rebalance_id:
            group.current = ""
        self._keep(fact, group, event)

    def _keep(self, fact: GroupFact, group: _Group, event: Event) -> None:
        """Keep an event for rebalances to come, unless its group is gone.

        Of groups with long names nothing is kept: each event names its group, and 10,000 of 32 kB were 320 MB.
        """
        if isinstance(fact, GroupDeleted):
            self._leave(group, event)
            self._forget(kept_name(fact.group_id))
        elif len(fact.group_id) <= NAME_CHARS_MAX:
            self._remember(group, event)
        elif isinstance(fact, MemberLeft):
            self._departed.pop(fact.member_id, None)
            self._inputs.pop(fact.member_id, None)

    def _remember(self, group: _Group, event: Event) -> None:
        group.past.append(event)
        self._past_count += 1
        if len(group.past) > PAST_EVENTS:
            self._condense(group)
        while self._past_count > PAST_EVENTS_MAX:
            oldest = next(iter(self._groups))
            former = self._forget(oldest)
            if former.current in self._open:
                self._groups[oldest] = _Group(current=former.current)

    def _condense(self, group: _Group) -> None:
        before = len(group.past)
        group.past = keep_past(group.past)
        self._past_count += len(group.past) - before

    def _forget(self, group_id: str) -> _Group:
        former = self._groups.pop(group_id)
        self._past_count -= len(former.past)
        return former

    @property
    def known(self) -> frozenset[str]:
        """Members of which it is known what they told."""
        return frozenset(self._inputs)

    @property
    def kept(self) -> int:
        """How many events are kept: of rebalances under way, before those to come, and of what members told."""
        return self._open_count + self._past_count + len(self._inputs)

    def settle(self, now_us: int) -> Iterator[Rebalance]:
        """Give out those about which everything is known, or that nobody waits for any longer."""
        done = [
            rebalance_id
            for rebalance_id, opened in self._open.items()
            if opened.ended_us is not None and (not opened.owing or now_us - opened.ended_us > LINGER_US)
        ]
        for rebalance_id in done:
            yield from self._finish(rebalance_id)

    def flush(self) -> Iterator[Rebalance]:
        """Give out all that have ended: the bridge stops."""
        for rebalance_id in [known for known, opened in self._open.items() if opened.ended_us is not None]:
            yield from self._finish(rebalance_id)

    def _finish(self, rebalance_id: str) -> Iterator[Rebalance]:
        opened = self._open.pop(rebalance_id)
        self._open_count -= len(opened.events)
        ids = {event.fact.member_id for event in opened.events if isinstance(event.fact, MemberFact)}
        numbers = {event.stamp.number for event in (*opened.past, *opened.events)}
        told = opened.told | {member_id: self._inputs[member_id] for member_id in ids & self._inputs.keys()}
        known = [event for member_id, event in told.items() if member_id in ids]
        introductions = [event for event in known if event.stamp.number not in numbers]
        events = sorted((*introductions, *opened.past, *opened.events), key=lambda event: event.stamp.number)
        yield from (found for found in assemble(events) if found.rebalance_id == rebalance_id)

    def _introduce(self, member_id: str, event: Event) -> None:
        self._departed.pop(member_id, None)
        self._inputs.pop(member_id, None)
        self._inputs[member_id] = event
        if len(self._inputs) > INPUTS_MAX:
            del self._inputs[next(iter(self._inputs))]

    def _group(self, group_id: str) -> _Group:
        name = kept_name(group_id)
        group = self._groups.pop(name, None)
        if group is None:
            if len(self._groups) >= GROUPS_MAX:
                self._forget(next(iter(self._groups)))
            group = _Group()
        self._groups[name] = group
        return group

    def _leave(self, group: _Group, event: Event) -> None:
        """The rebalance under way is over, though nobody told its end: the log was full then."""
        former = self._open.get(group.current)
        if former is not None:
            former.end(event.stamp.mono_us)

    def _begin(self, group: _Group, rebalance_id: str) -> None:
        if len(self._open) >= OPEN_MAX:
            self.dropped += 1
            return
        self._condense(group)
        group.current = rebalance_id
        self._open[rebalance_id] = _Open(past=(*self._everywhere, *group.past))


def _owe(opened: _Open, event: Event) -> None:
    """Note which Fetches and commits are to come."""
    match event.fact:
        case PhaseBegan(member_id=member_id, phase=Phase.FETCHING):
            opened.owing.add((member_id, "fetch"))
        case PhaseEnded(member_id=member_id, phase=Phase.FETCHING):
            opened.owing.discard((member_id, "fetch"))
        case PartitionsAssigned(member_id=member_id):
            opened.owing.add((member_id, "commit"))
        case CommitPassed(member_id=member_id, is_on_revoke=False):
            opened.owing.discard((member_id, "commit"))
        case MemberLeft(member_id=member_id):
            opened.owing -= {(member_id, "fetch"), (member_id, "commit")}
        case RebalanceEnded():
            opened.end(event.stamp.mono_us)
        case RebalanceExplained():
            opened.ended_us = event.stamp.mono_us
            opened.owing.discard(EXPLANATION)
        case _:
            pass


# ----------------------------------------------------------------------------------- rebalance sink
# Hands ended rebalances to those who trace and measure them, in the thread of the event log.
#
# One that fails is logged and costs the others nothing.

LOG = logging.getLogger("epochbridge.telemetry")
FAILURES_LOGGED_MAX = 10


class Taker(Protocol):
    """Somebody who makes something of rebalances."""

    def take(self, rebalance: Rebalance) -> None:
        """A rebalance is over."""
        ...

    def close(self) -> None:
        """No more will come: send what is held, within seconds."""
        ...


class RebalanceSink:
    """A place for events (`event_log.sinks.Sink`) that keeps none."""

    def __init__(self, takers: Sequence[Taker], now_us: Callable[[], int]) -> None:
        self.fate = Fate()
        self._takers = tuple(takers)
        self._now_us = now_us
        self._gatherer = Gatherer()

    def write(self, lines: Sequence[Line]) -> None:
        """See `Sink.write`."""
        for line in lines:
            self._gatherer.add(line.event)
        self.tend()

    def tend(self) -> None:
        """See `Sink.tend`."""
        self._hand_out(self._gatherer.settle(self._now_us()))

    def close(self) -> None:
        """See `Sink.close`."""
        self._hand_out(self._gatherer.flush())
        for taker in self._takers:
            self._guarded(taker.close)

    def _hand_out(self, rebalances: Iterable[Rebalance]) -> None:
        for rebalance in rebalances:
            for taker in self._takers:
                self._guarded(partial(taker.take, rebalance))

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception:
            self.fate.failures += 1
            if self.fate.failures <= FAILURES_LOGGED_MAX:
                LOG.exception("EB-OTEL-003: a rebalance could not be traced or measured; please report this")
