"""Rebalances in Chrome's trace format, which ui.perfetto.dev opens: a track per member, arrows from holder to waiter.

It must not know files.
"""

from collections.abc import Iterator, Sequence

import orjson

from bridge.telemetry.cause.words import shorten
from bridge.telemetry.rebalances.stories import MemberStory, Rebalance, Stretch
from bridge.telemetry.schema.terms import Phase
from bridge.telemetry.trace.wording import CAUSE_WORDS, PHASE_WORDS, tell_client

Entry = dict[str, object]
GROUP_TRACK = 0


def perfetto_trace(rebalances: Sequence[Rebalance]) -> bytes:
    """The trace as JSON; times are microseconds of the wall clock at each rebalance's beginning."""
    entries: list[Entry] = []
    tracks = _Tracks(entries)
    for rebalance in rebalances:
        entries.extend(_of_rebalance(rebalance, tracks))
    return orjson.dumps({"traceEvents": entries, "displayTimeUnit": "ms"})


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
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": {"name": name}}


def _of_rebalance(rebalance: Rebalance, tracks: _Tracks) -> Iterator[Entry]:
    pid = tracks.group(rebalance.group_id)
    explained = rebalance.explained
    yield {
        "ph": "X",
        "name": f"epoch {rebalance.epoch}: {CAUSE_WORDS[explained.cause]}",
        "cat": "rebalance",
        "pid": pid,
        "tid": GROUP_TRACK,
        "ts": rebalance.began_wall_us,
        "dur": rebalance.duration_us,
        "args": {
            "rebalance_id": rebalance.rebalance_id,
            "sentence": explained.sentence,
            "moved": rebalance.moved,
            "forced_minimum": rebalance.forced_minimum,
            "disturbed": rebalance.disturbed_count,
            "critical_member": explained.critical_member,
        },
    }
    for member in rebalance.touched:
        for number, stretch in enumerate(member.stretches):
            tid = tracks.member(rebalance.group_id, _track_name(member, stretch))
            yield _slice(rebalance, member, stretch, pid, tid)
            for holder in stretch.waits_on:
                arrow = f"{rebalance.rebalance_id}/{member.member_id}/{number}/{holder}"
                at_us = rebalance.began_wall_us + stretch.end_us - 1
                yield _arrow("s", arrow, (pid, tracks.member(rebalance.group_id, shorten(holder))), at_us)
                yield _arrow("f", arrow, (pid, tid), at_us)


def _track_name(member: MemberStory, stretch: Stretch) -> str:
    name = shorten(member.member_id)
    return f"{name}: first fetch" if stretch.phase is Phase.FETCHING else name


def _slice(rebalance: Rebalance, member: MemberStory, stretch: Stretch, pid: int, tid: int) -> Entry:
    return {
        "ph": "X",
        "name": PHASE_WORDS[stretch.phase],
        "cat": "member",
        "pid": pid,
        "tid": tid,
        "ts": rebalance.began_wall_us + stretch.begin_us,
        "dur": stretch.duration_us,
        "args": {
            "member_id": member.member_id,
            "client": tell_client(member),
            "waits_on": stretch.waits_on,
            "gained": member.gained,
            "lost": member.lost,
        },
    }


def _arrow(end: str, arrow: str, place: tuple[int, int], at_us: int) -> Entry:
    pid, tid = place
    entry: Entry = {"ph": end, "name": "release", "cat": "wait", "id": arrow, "pid": pid, "tid": tid, "ts": at_us}
    return {**entry, "bp": "e"} if end == "f" else entry
