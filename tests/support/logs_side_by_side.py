"""The event log beside the logs of the clients it is about: what each was given and gave up, in order."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bridge.demo.events import Assigned, Lost, Partition, Revoked
from bridge.demo.judge_evidence import ClientLog
from bridge.telemetry.schema.facts import (
    Event,
    MemberInputs,
    PartitionsAssigned,
    PartitionsReleased,
    PhaseBegan,
    PhaseEnded,
)
from tests.support.logged_events import read_events


@dataclass(frozen=True, slots=True)
class Change:
    """Partitions given (`+`) or given up (`-`), and when (monotonic microseconds of the host)."""

    sign: str
    partitions: frozenset[str]
    at_us: int


def told_by(log: ClientLog) -> list[Change]:
    """What a client's callbacks said, empty ones left out."""
    return [
        Change("+" if isinstance(event, Assigned) else "-", _names(event.partitions), event.at_ns // 1000)
        for event in log.events
        if isinstance(event, Assigned | Revoked | Lost) and event.partitions
    ]


def heard_of(events: Iterable[Event], client_id: str) -> list[Change]:
    """What the event log says of the members of one client id."""
    members: set[str] = set()
    found: list[Change] = []
    for event in events:
        fact = event.fact
        if isinstance(fact, MemberInputs) and fact.client_id == client_id:
            members.add(fact.member_id)
        if isinstance(fact, PartitionsAssigned | PartitionsReleased) and fact.member_id in members:
            sign = "+" if isinstance(fact, PartitionsAssigned) else "-"
            found.append(Change(sign, frozenset(fact.partitions), event.stamp.mono_us))
    return found


def without_unseen(heard: list[Change], told: list[Change]) -> list[Change]:
    """What was heard, less assignments that the client gave up again before it told its application.

    kafka-python does so when the topics changed while it joined: it takes the answer, and asks anew. librdkafka does so
    when it is closed just as the partitions of a member that has left come to it.
    """
    kept = list(heard)
    while len(kept) > len(told):
        shorter = [_unsaid(kept, place) for place in range(len(kept) - 1) if _is_given_back(*kept[place : place + 2])]
        if not shorter:
            break
        kept = next((one for one in shorter if signs(one) == signs(told)), shorter[0])
    return kept


def _is_given_back(one: Change, other: Change) -> bool:
    return (one.sign, other.sign) == ("+", "-") and one.partitions <= other.partitions


def _unsaid(changes: list[Change], place: int) -> list[Change]:
    """Without what came at this place, and what of it was given back right after."""
    given, back = changes[place : place + 2]
    rest = back.partitions - given.partitions
    return [*changes[:place], *([Change("-", rest, back.at_us)] if rest else []), *changes[place + 2 :]]


def signs(changes: Iterable[Change]) -> list[tuple[str, frozenset[str]]]:
    """The changes without their times."""
    return [(change.sign, change.partitions) for change in changes]


def events_in(folder: Path, group_id: str) -> list[Event]:
    """Every event about one group."""
    return [event for event in read_events(folder) if getattr(event.fact, "group_id", "") == group_id]


def open_phases(events: Iterable[Event]) -> Iterator[str]:
    """Phases that began twice, ended without having begun, or never ended."""
    began: defaultdict[tuple[str, str, str], int] = defaultdict(int)
    for event in events:
        fact = event.fact
        if isinstance(fact, PhaseBegan | PhaseEnded):
            key = (fact.member_id, fact.rebalance_id, fact.phase.value)
            began[key] += 1 if isinstance(fact, PhaseBegan) else -1
            if began[key] not in (0, 1):
                yield f"{event.stamp.event_id}: {key} {began[key]}"
    yield from (f"never ended: {key}" for key, count in began.items() if count)


def _names(partitions: Iterable[Partition]) -> frozenset[str]:
    return frozenset(f"{one.topic}-{one.partition}" for one in partitions)
