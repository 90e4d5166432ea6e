"""The rows of the live table: what each seat's client tells about itself, joined with what the bridge says of it.
It must not know how they are drawn, and reads no clock.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bridge.demo.events import (
    Assigned,
    Consumed,
    Ended,
    Event,
    Failed,
    Lost,
    Partition,
    Produced,
    RebalanceEvent,
    Started,
)
from bridge.demo.group_view import MemberView, Views
from bridge.demo.judge_evidence import ClientLog
from bridge.demo.judge_ownership import owned_at

FRESH_NS = 3_000_000_000
REASON_CHARS = 48


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One seat. `state`, `generation` and `epoch` are the bridge's; `read` counts records of all its processes."""

    seat: str
    library: str
    protocol: str
    state: str
    generation: str
    epoch: str
    partitions: tuple[Partition, ...]
    doing: str
    read: int
    alive: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Records acknowledged to producers, records read (each once), both over all partitions."""

    produced: int
    read: int


def rows_of(logs: Sequence[ClientLog], views: Views, at_ns: int) -> tuple[Row, ...]:
    """One row per seat, in order of seats' first start, for its latest process."""
    seats: dict[str, list[ClientLog]] = {}
    for log in logs:
        seats.setdefault(log.seat, []).append(log)
    return tuple(_row(processes, views, at_ns) for processes in seats.values())


def totals_of(producers: Sequence[ClientLog], members: Sequence[ClientLog]) -> Totals:
    """How far producers and members have come; a record read twice counts once, by the highest offset read."""
    wrote = _ends(event for log in producers for event in log.events)
    read = _ends(event for log in members for event in log.events)
    return Totals(produced=sum(wrote.values()), read=sum(read.values()))


def _ends(events: Iterable[Event]) -> dict[Partition, int]:
    ends: dict[Partition, int] = {}
    for event in events:
        if isinstance(event, (Produced, Consumed)):
            ends[event.partition] = max(event.last + 1, ends.get(event.partition, 0))
    return ends


def _row(processes: Sequence[ClientLog], views: Views, at_ns: int) -> Row:
    log = processes[-1]
    started = log.started
    view = views.get((log.seat, started.protocol.value)) if started is not None and log.died_ns is None else None
    read = sum(event.last - event.first + 1 for one in processes for event in one.events if isinstance(event, Consumed))
    return Row(
        seat=log.seat,
        library="" if started is None else _library(started),
        protocol="" if started is None else started.protocol.value,
        state=_state(log, view),
        generation=_number(None if view is None else view.generation),
        epoch=_number(None if view is None else view.member_epoch),
        partitions=tuple(sorted(owned_at(log, at_ns))),
        doing=doing_of(log, at_ns),
        read=read,
        alive=log.died_ns is None,
    )


def _library(started: Started) -> str:
    return f"{started.library} {started.assignor}".rstrip()


def _state(log: ClientLog, view: MemberView | None) -> str:
    if log.died_ns is not None:
        return "gone"
    return "-" if view is None else view.state


def _number(value: int | None) -> str:
    return "-" if value is None else str(value)


def doing_of(log: ClientLog, at_ns: int) -> str:
    """What a client is at, in a few words: its death, a fresh rebalance or failure, else reading or waiting."""
    if log.died_ns is not None:
        return "left the group" if any(isinstance(event, Ended) for event in log.events) else "killed"
    if log.started is None:
        return "starting"
    last = next((event for event in reversed(log.events) if _is_news(event)), None)
    if isinstance(last, RebalanceEvent) and at_ns - last.at_ns < FRESH_NS:
        return _moved(last)
    if isinstance(last, Failed) and at_ns - last.at_ns < FRESH_NS:
        return last.reason if len(last.reason) <= REASON_CHARS else last.reason[: REASON_CHARS - 1] + "…"
    if not any(isinstance(event, Assigned) for event in log.events):
        return "joining the group"
    if not owned_at(log, at_ns):
        return "has no partition"
    newest = log.events[-1]
    return "reading" if at_ns - newest.at_ns < FRESH_NS else "waiting for records"


def _is_news(event: Event) -> bool:
    # Clients that only add or take away also report an empty change after each rebalance.
    return isinstance(event, Failed) or (isinstance(event, RebalanceEvent) and bool(event.partitions))


def _moved(event: RebalanceEvent) -> str:
    listed = ", ".join(str(partition.partition) for partition in event.partitions)
    if isinstance(event, Assigned):
        return f"was given {listed}"
    if isinstance(event, Lost):
        return f"lost {listed}"
    return f"gives up {listed}"
