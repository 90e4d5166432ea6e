"""The rows of the live table: what each seat's client tells about itself, joined with what the admin API says."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from http.client import HTTPConnection, HTTPException
from urllib.parse import quote

from bridge.demo.events import (
    Assigned,
    Consumed,
    Ended,
    Event,
    Failed,
    Lost,
    Partition,
    Produced,
    Protocol,
    RebalanceEvent,
    Started,
)
from bridge.demo.judge_evidence import ClientLog
from bridge.demo.judge_ownership import owned_at

ADMIN_TIMEOUT_S = 2.0
ANSWER_BYTES_MAX = 4_194_304


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberView:
    """One member as the bridge sees it; numbers are None where the member's protocol has none."""

    client_id: str
    protocol: str
    state: str
    generation: int | None
    member_epoch: int | None


Views = Mapping[tuple[str, str], MemberView]
"""By client id and protocol: a seat that is being rolled may have two members for a moment."""


def ask_views(admin: str, group: str) -> Views:
    """Ask the admin API at HOST:PORT; empty while it can't answer. Blocks up to 2 s."""
    return parse_views(_ask(admin, f"/groups/{quote(group, safe='')}"))


def ask_roads(admin: str, group: str) -> Views:
    """The same of a group that is moved: for its state each member has the road on which the last move has it."""
    roads = parse_roads(_ask(admin, f"/moves?group={quote(group, safe='')}"))
    known = ask_views(admin, group) if roads else {}
    return {key: replace(known.get(key, view), state=view.state) for key, view in roads.items()}


def ask_progress(admin: str, group: str) -> str:
    """How far the move of a group is, in a few words; "" while nobody tells."""
    move, rows = _parse(_ask(admin, f"/moves?group={quote(group, safe='')}"))
    if not move:
        return ""
    moved = sum(row.get("stage") == "moved" for row in rows)
    return f"{move.get('stage')}, {moved} of {len(rows)} members moved"


def unmoved_views(seats: Iterable[str]) -> Views:
    """The same of whom no move has touched: its classic clients pass, its KIP-848 clients have the broker's address."""
    states = {Protocol.CLASSIC.value: "pass", Protocol.CONSUMER.value: "direct"}
    return {
        (seat, protocol): MemberView(client_id=seat, protocol=protocol, state=state, generation=None, member_epoch=None)
        for seat in seats
        for protocol, state in states.items()
    }


def _ask(admin: str, path: str) -> str:
    host, _, port = admin.rpartition(":")
    connection = HTTPConnection(host, int(port), timeout=ADMIN_TIMEOUT_S)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        text = answer.read(ANSWER_BYTES_MAX).decode(errors="replace")
        return text if answer.status == 200 else ""
    except (OSError, HTTPException):
        return ""
    finally:
        connection.close()


def parse_views(text: str) -> Views:
    """The members in an answer; what is no group's JSON has none, for the table only adds what the bridge knows."""
    _, rows = _parse(text)
    return {(view.client_id, view.protocol): view for view in map(_member, rows)}


def parse_roads(text: str) -> Views:
    """The classic members in a move's JSON, each with its road, or `moving` while it is between two, for its state."""
    move, rows = _parse(text)
    roads = {"moved": move.get("to"), "waiting": move.get("from"), "stays": move.get("from"), "moving": "moving"}
    states = [str(roads.get(str(row.get("stage")), "-")) for row in rows]
    classic = Protocol.CLASSIC.value
    views = [replace(_member(row), protocol=classic, state=state) for row, state in zip(rows, states, strict=True)]
    return {(view.client_id, view.protocol): view for view in views}


def _parse(text: str) -> tuple[Mapping[str, object], Sequence[Mapping[str, object]]]:
    try:
        answer: object = json.loads(text)
    except json.JSONDecodeError:
        return {}, ()
    if not isinstance(answer, dict):
        return {}, ()
    members = answer.get("members")
    return answer, [row for row in members if isinstance(row, dict)] if isinstance(members, list) else ()


def _member(row: Mapping[str, object]) -> MemberView:
    return MemberView(
        client_id=str(row.get("client_id", "")),
        protocol=str(row.get("protocol", "")),
        state=str(row.get("state", "")),
        generation=_integer(row.get("generation")),
        member_epoch=_integer(row.get("member_epoch")),
    )


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) else None


FRESH_NS = 3_000_000_000
REASON_CHARS = 48


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatRow:
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


def rows_of(logs: Sequence[ClientLog], views: Views, at_ns: int) -> tuple[SeatRow, ...]:
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


def _row(processes: Sequence[ClientLog], views: Views, at_ns: int) -> SeatRow:
    log = processes[-1]
    started = log.started
    view = views.get((log.seat, started.protocol.value)) if started is not None and log.died_ns is None else None
    read = sum(event.last - event.first + 1 for one in processes for event in one.events if isinstance(event, Consumed))
    return SeatRow(
        seat=log.seat,
        library="" if started is None else _library(started),
        protocol="" if started is None else started.protocol.value,
        state=_state(log, view),
        generation=_shown(None if view is None else view.generation),
        epoch=_shown(None if view is None else view.member_epoch),
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


def _shown(value: int | None) -> str:
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
