"""Rebalances for other programs: Chrome's trace format, which ui.perfetto.dev opens, and JSON.

A track per member, arrows from holder to waiter. Perfetto's importer drops slices of one track that overlap without
nesting, and arrows that touch no slice.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import orjson

from bridge.telemetry.cause.sentences import shorten
from bridge.telemetry.rebalances.rebalance import MemberStory, Rebalance, Stretch
from bridge.telemetry.schema.terms import Phase
from bridge.telemetry.trace.drawing import CAUSE_WORDS, PHASE_WORDS, tell_client

Document = dict[str, object]
GROUP_TRACK = 0
SAME_US = 5_000
"""Beginnings no further apart are one: each rebalance has read the wall clock for itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """A complete event: something that took `dur` microseconds on a track."""

    name: str
    cat: str
    pid: int
    tid: int
    ts: int
    dur: int
    args: Document

    def document(self) -> Document:
        """The entry."""
        return {"ph": "X", **{name: getattr(self, name) for name in self.__slots__}}


@dataclass(frozen=True, slots=True)
class Plain:
    """A name, or an end of an arrow."""

    entry: Document

    def document(self) -> Document:
        """The entry."""
        return self.entry


Entry = Slice | Plain


def perfetto_trace(rebalances: Sequence[Rebalance]) -> bytes:
    """The trace as JSON; times are microseconds of the wall clock at each rebalance's beginning."""
    entries: list[Entry] = []
    tracks = _Tracks(entries)
    for rebalance in rebalances:
        entries.extend(_of_rebalance(rebalance, tracks))
    slices = [entry for entry in entries if isinstance(entry, Slice)]
    others = [entry.document() for entry in entries if not isinstance(entry, Slice)]
    drawn = [one.document() for one in _apart(slices)]
    return orjson.dumps({"traceEvents": [*others, *drawn], "displayTimeUnit": "ms"})


def _apart(slices: Iterable["Slice"]) -> Iterator["Slice"]:
    """Slices that don't overlap on any track.

    A phase that goes on over two rebalances is told by both, the second time in full.
    """
    tracks: dict[tuple[int, int], list[Slice]] = {}
    for one in sorted(slices, key=lambda one: (one.ts, -one.dur)):
        track = tracks.setdefault((one.pid, one.tid), [])
        last = track[-1] if track else None
        if last is not None and last.name == one.name and one.ts - last.ts <= SAME_US:
            track[-1] = replace(last, dur=max(last.dur, one.ts + one.dur - last.ts), args=one.args)
        else:
            if last is not None and last.ts + last.dur > one.ts:
                track[-1] = replace(last, dur=one.ts - last.ts)
            track.append(one)
    for track in tracks.values():
        yield from track


class _Tracks:
    """Numbers for groups and members, each named once."""

    def __init__(self, entries: list[Entry]) -> None:
        self._entries = entries
        self._groups: dict[str, int] = {}
        self._members: dict[tuple[str, str], int] = {}

    def group(self, group_id: str) -> int:
        """The group's process."""
        if group_id not in self._groups:
            self._groups[group_id] = len(self._groups) + 1
            pid = self._groups[group_id]
            self._entries.append(_name("process_name", pid, GROUP_TRACK, f"group {group_id}"))
            self._entries.append(_name("thread_name", pid, GROUP_TRACK, "rebalances"))
        return self._groups[group_id]

    def member(self, group_id: str, name: str) -> int:
        """The member's thread; fetching runs beside other phases and has one of its own."""
        key = (group_id, name)
        if key not in self._members:
            self._members[key] = len(self._members) + 1
            self._entries.append(_name("thread_name", self.group(group_id), self._members[key], name))
        return self._members[key]


def _name(kind: str, pid: int, tid: int, name: str) -> Entry:
    return Plain({"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": {"name": name}})


def _of_rebalance(rebalance: Rebalance, tracks: _Tracks) -> Iterator[Entry]:
    pid = tracks.group(rebalance.group_id)
    explained = rebalance.explained
    yield Slice(
        name=f"epoch {rebalance.epoch}: {CAUSE_WORDS[explained.cause]}",
        cat="rebalance",
        pid=pid,
        tid=GROUP_TRACK,
        ts=rebalance.began_wall_us,
        dur=rebalance.duration_us,
        args={
            "rebalance_id": rebalance.rebalance_id,
            "sentence": explained.sentence,
            "moved": rebalance.moved,
            "forced_minimum": rebalance.forced_minimum,
            "disturbed": rebalance.disturbed_count,
            "critical_member": explained.critical_member,
        },
    )
    for member in rebalance.touched:
        for number, stretch in enumerate(member.stretches):
            tid = tracks.member(rebalance.group_id, _track_name(member, stretch))
            yield _slice(rebalance, member, stretch, pid, tid)
            for holder in stretch.waits_on:
                released_us = _released_us(rebalance, holder, stretch)
                if released_us is not None:
                    arrow = f"{rebalance.rebalance_id}/{member.member_id}/{number}/{holder}"
                    place = (pid, tracks.member(rebalance.group_id, shorten(holder)))
                    yield _arrow("s", arrow, place, rebalance.began_wall_us + released_us)
                    yield _arrow("f", arrow, (pid, tid), rebalance.began_wall_us + stretch.end_us - 1)


def _released_us(rebalance: Rebalance, holder: str, waited: Stretch) -> int | None:
    """When a member was about to have given up what another one waited for; None if nothing shows that it did."""
    stretches = (one for member in rebalance.members if member.member_id == holder for one in member.stretches)
    ends = (one.end_us - 1 for one in stretches if one.phase is Phase.REVOKING and one.begin_us < waited.end_us)
    return max(ends, default=None)


def _track_name(member: MemberStory, stretch: Stretch) -> str:
    name = shorten(member.member_id)
    return f"{name}: first fetch" if stretch.phase is Phase.FETCHING else name


def _slice(rebalance: Rebalance, member: MemberStory, stretch: Stretch, pid: int, tid: int) -> Entry:
    return Slice(
        name=PHASE_WORDS[stretch.phase],
        cat="member",
        pid=pid,
        tid=tid,
        ts=rebalance.began_wall_us + stretch.begin_us,
        dur=stretch.duration_us,
        args={
            "member_id": member.member_id,
            "client": tell_client(member),
            "waits_on": stretch.waits_on,
            "gained": member.gained,
            "lost": member.lost,
        },
    )


def _arrow(end: str, arrow: str, place: tuple[int, int], at_us: int) -> Entry:
    pid, tid = place
    entry: Document = {"ph": end, "name": "release", "cat": "wait", "id": arrow, "pid": pid, "tid": tid, "ts": at_us}
    return Plain({**entry, "bp": "e"} if end == "f" else entry)


def rebalances_document(rebalances: Sequence[Rebalance]) -> bytes:
    """`{"rebalances": [...]}`; what follows from the fields stands beside them."""
    return orjson.dumps({"rebalances": [_document(one) for one in rebalances]}, option=orjson.OPT_INDENT_2)


def _document(rebalance: Rebalance) -> dict[str, object]:
    fields: dict[str, object] = orjson.loads(orjson.dumps(rebalance))
    members = [
        {**orjson.loads(orjson.dumps(member)), "stall_us": member.stall_us, "is_touched": member.is_touched}
        for member in rebalance.members
    ]
    derived = {"disturbed_count": rebalance.disturbed_count, "untouched_count": rebalance.untouched_count}
    return {**fields, **derived, "members": members}
