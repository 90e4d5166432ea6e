"""Rebalances for other programs: Chrome's trace format, which ui.perfetto.dev opens, and JSON.

A track per member, arrows from who caused a rebalance to it, from it to those whom it made give something up, and from
holder to waiter. Perfetto's importer drops slices of one track that overlap without nesting, and arrows that touch no
slice.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import orjson

from bridge.telemetry.cause.sentences import shorten
from bridge.telemetry.rebalances.rebalance import MemberStory, Rebalance, Stretch
from bridge.telemetry.schema.terms import Phase
from bridge.telemetry.trace.drawing import CAUSE_WORDS, PHASE_WORDS, tell_client, tell_name

Document = dict[str, object]
GROUP_TRACK = 0
GONE_US = 1_000
"""How long the slice of a member is that was gone before the rebalance began."""
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
    names = {(one.group_id, member.member_id): tell_name(member) for one in rebalances for member in one.members}
    tracks = _Tracks(entries, names)
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

    def __init__(self, entries: list[Entry], names: Mapping[tuple[str, str], str]) -> None:
        self._entries = entries
        self._names = names
        self._groups: dict[str, int] = {}
        self._members: dict[tuple[str, str, bool], int] = {}

    def group(self, group_id: str) -> int:
        """The group's process."""
        if group_id not in self._groups:
            self._groups[group_id] = len(self._groups) + 1
            pid = self._groups[group_id]
            self._entries.append(_name("process_name", pid, GROUP_TRACK, f"group {group_id}"))
            self._entries.append(_name("thread_name", pid, GROUP_TRACK, "rebalances"))
        return self._groups[group_id]

    def member(self, group_id: str, member_id: str, *, is_fetching: bool = False) -> int:
        """The member's thread, called as its client is; fetching runs beside other phases and has one of its own."""
        key = (group_id, member_id, is_fetching)
        if key not in self._members:
            self._members[key] = len(self._members) + 1
            name = self._names.get((group_id, member_id)) or shorten(member_id)
            name = f"{name}: first fetch" if is_fetching else name
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
            is_fetching = stretch.phase is Phase.FETCHING
            tid = tracks.member(rebalance.group_id, member.member_id, is_fetching=is_fetching)
            yield _slice(rebalance, member, stretch, pid, tid)
            for holder in stretch.waits_on:
                released_us = _released_us(rebalance, holder, stretch)
                if released_us is not None:
                    arrow = f"{rebalance.rebalance_id}/{member.member_id}/{number}/{holder}"
                    place = (pid, tracks.member(rebalance.group_id, holder))
                    yield from _arrow(
                        "release", arrow, (*place, released_us), (pid, tid, stretch.end_us - 1), rebalance
                    )
    yield from _causes(rebalance, pid, tracks)


def _causes(rebalance: Rebalance, pid: int, tracks: _Tracks) -> Iterator[Entry]:
    """From those who caused it to the rebalance, and from there to those who were made to give something up."""
    last_us = rebalance.duration_us - 1
    if last_us < 0:
        return
    for member in rebalance.touched:
        tid = tracks.member(rebalance.group_id, member.member_id)
        seen = [one for one in member.stretches if one.phase is not Phase.FETCHING and one.duration_us > 0]
        if member.member_id in rebalance.explained.caused_by:
            at_us = _cause_us(member, seen)
            if at_us is None:
                # Who is gone before it began has no phase in it.
                at_us = -GONE_US
                yield _gone(rebalance, member, pid, tid)
            arrow = f"{rebalance.rebalance_id}/{member.member_id}/cause"
            begun = (pid, GROUP_TRACK, min(max(0, at_us), last_us))
            yield from _arrow("cause", arrow, (pid, tid, at_us), begun, rebalance)
        else:
            told = next((one for one in seen if one.phase is Phase.REVOKING and one.end_us > 0), None)
            if told is not None and told.begin_us <= last_us:
                arrow = f"{rebalance.rebalance_id}/{member.member_id}/effect"
                from_us = max(0, told.begin_us)
                yield from _arrow("effect", arrow, (pid, GROUP_TRACK, from_us), (pid, tid, from_us), rebalance)


def _cause_us(member: MemberStory, seen: Sequence[Stretch]) -> int | None:
    """When a member did what caused the rebalance: it came with its first phase, or went with its last."""
    if not seen:
        return None
    return seen[-1].end_us - 1 if member.departure is not None else seen[0].begin_us


def _gone(rebalance: Rebalance, member: MemberStory, pid: int, tid: int) -> Entry:
    departure = "gone" if member.departure is None else member.departure.value.replace("-", " ")
    return Slice(
        name=departure,
        cat="member",
        pid=pid,
        tid=tid,
        ts=rebalance.began_wall_us - GONE_US,
        dur=GONE_US,
        args={"member_id": member.member_id, "client": tell_client(member)},
    )


def _released_us(rebalance: Rebalance, holder: str, waited: Stretch) -> int | None:
    """When a member was about to have given up what another one waited for; None if nothing shows that it did."""
    stretches = (one for member in rebalance.members if member.member_id == holder for one in member.stretches)
    ends = (one.end_us - 1 for one in stretches if one.phase is Phase.REVOKING and one.begin_us < waited.end_us)
    return max(ends, default=None)


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


def _arrow(
    name: str, arrow: str, begin: tuple[int, int, int], end: tuple[int, int, int], rebalance: Rebalance
) -> Iterator[Entry]:
    """Both ends, each with its track and its time since the rebalance began."""
    for kind, (pid, tid, at_us), more in (("s", begin, {}), ("f", end, {"bp": "e"})):
        place: Document = {"pid": pid, "tid": tid, "ts": rebalance.began_wall_us + at_us}
        yield Plain({"ph": kind, "name": name, "cat": "wait", "id": arrow, **place, **more})


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
