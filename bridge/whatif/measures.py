"""What rebalances came to, from the events of one group: how long, whom they disturbed, which partitions stood still.

It says the same as the tables of `bridge.analytics`, whose definitions it follows; a test holds both to each other.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bridge.telemetry.schema.disturbance import AT_WORK, is_disturbed, without
from bridge.telemetry.schema.facts import (
    MemberLeft,
    MemberTold,
    PartitionsAssigned,
    PartitionsReleased,
    PhaseBegan,
    PhaseEnded,
    RebalanceBegan,
    RebalanceEnded,
    RebalanceExplained,
)
from bridge.telemetry.schema.standstill import stalls_of
from bridge.telemetry.schema.terms import News, Phase
from bridge.whatif.timed_events import TimedEvent

DISTURBING = frozenset((News.REJOIN, News.REVOKE))


@dataclass(slots=True, kw_only=True)
class Measured:
    """One rebalance: times in microseconds, `duration_us` 0 while it is open.

    `told` are members told to rejoin or to give up, `disturbed` those that gave up for nothing, `stalls` partitions
    that stood still, for `stall_us` together, `busy_us` is the time of members at joining, syncing or giving up.
    """

    rebalance_id: str
    began_us: int
    duration_us: int = 0
    cause: str = ""
    told: int = 0
    disturbed: int = 0
    stalls: int = 0
    stall_us: int = 0
    busy_us: int = 0


@dataclass(slots=True)
class _Lot:
    """What a chain of rebalances was for one member: in which it was told, and in which told or gave something up."""

    told_in: set[str] = field(default_factory=set)
    touched_in: set[str] = field(default_factory=set)
    lost: list[str] = field(default_factory=list)
    gained: list[str] = field(default_factory=list)
    is_gone: bool = False

    @property
    def is_disturbed(self) -> bool:
        """The member gave something up, and has what it had before; one that only joined again went on working."""
        return is_disturbed(self.lost, self.gained, is_gone=self.is_gone)


def measure(moments: Sequence[TimedEvent]) -> tuple[Measured, ...]:
    """Every rebalance that began, in order; what belongs to none comes last, under "", if there is any."""
    found = _begun(moments)
    rest = Measured(rebalance_id="", began_us=moments[0].at_us if moments else 0)
    _count_disturbances(moments, found)
    _add_stalls(moments, found, rest)
    _add_work(moments, found, rest)
    has_rest = bool(rest.stalls or rest.busy_us)
    return (*found.values(), rest) if has_rest else tuple(found.values())


def _begun(moments: Sequence[TimedEvent]) -> dict[str, Measured]:
    found: dict[str, Measured] = {}
    for moment in moments:
        match moment.fact:
            case RebalanceBegan(rebalance_id=name):
                found[name] = Measured(rebalance_id=name, began_us=moment.at_us)
            case RebalanceEnded(rebalance_id=name) if name in found:
                found[name].duration_us = moment.at_us - found[name].began_us
            case RebalanceExplained(rebalance_id=name, cause=cause) if name in found:
                found[name].cause = cause.value
            case _:
                pass
    return found


def _chains(moments: Sequence[TimedEvent]) -> Mapping[str, str]:
    """The first of the rebalances that superseded one another up to each."""
    chains: dict[str, str] = {}
    before = ""
    for moment in moments:
        if isinstance(moment.fact, RebalanceBegan):
            name, cut = moment.fact.rebalance_id, moment.fact.supersedes
            chains[name] = chains[before] if cut and cut == before else name
            before = name
    return chains


def _count_disturbances(moments: Sequence[TimedEvent], found: Mapping[str, Measured]) -> None:
    chains = _chains(moments)
    lots: defaultdict[tuple[str, str], _Lot] = defaultdict(_Lot)
    for moment in moments:
        fact = moment.fact
        match fact:
            case MemberTold() | PartitionsReleased() | PartitionsAssigned() | MemberLeft() if fact.rebalance_id:
                _note(lots[chains.get(fact.rebalance_id, fact.rebalance_id), fact.member_id], fact)
            case _:
                pass
    for lot in lots.values():
        for name in lot.touched_in & found.keys():
            found[name].told += name in lot.told_in
            found[name].disturbed += lot.is_disturbed


def _note(lot: _Lot, fact: MemberTold | PartitionsReleased | PartitionsAssigned | MemberLeft) -> None:
    match fact:
        case MemberTold(news=news):
            if news in DISTURBING:
                lot.told_in.add(fact.rebalance_id)
                lot.touched_in.add(fact.rebalance_id)
        case PartitionsReleased(partitions=partitions):
            lot.lost += partitions
            lot.touched_in.add(fact.rebalance_id)
        case PartitionsAssigned(partitions=partitions, is_again=True):
            lot.lost = without(lot.lost, partitions)
        case PartitionsAssigned(partitions=partitions):
            lot.gained += partitions
        case MemberLeft():
            lot.is_gone = True


def _add_stalls(moments: Sequence[TimedEvent], found: Mapping[str, Measured], rest: Measured) -> None:
    for stall in stalls_of((moment.at_us, moment.fact) for moment in moments):
        owner = found.get(stall.dealt_by, rest)
        owner.stalls += 1
        owner.stall_us += stall.lasted_us


def _add_work(moments: Sequence[TimedEvent], found: Mapping[str, Measured], rest: Measured) -> None:
    began: dict[tuple[str, str, Phase], int] = {}
    for moment in moments:
        fact = moment.fact
        if not isinstance(fact, PhaseBegan | PhaseEnded) or fact.phase not in AT_WORK:
            continue
        key = (fact.member_id, fact.rebalance_id, fact.phase)
        if isinstance(fact, PhaseBegan):
            began[key] = moment.at_us
        elif key in began:
            found.get(fact.rebalance_id, rest).busy_us += moment.at_us - began.pop(key)


def summed(several: Sequence[Measured]) -> Measured:
    """All of them together, under no name."""
    return Measured(
        rebalance_id="",
        began_us=min((one.began_us for one in several), default=0),
        duration_us=sum(one.duration_us for one in several),
        told=sum(one.told for one in several),
        disturbed=sum(one.disturbed for one in several),
        stalls=sum(one.stalls for one in several),
        stall_us=sum(one.stall_us for one in several),
        busy_us=sum(one.busy_us for one in several),
    )
