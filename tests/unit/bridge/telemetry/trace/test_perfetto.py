"""The trace for ui.perfetto.dev."""

import json

from bridge.telemetry.rebalances.assembling import assemble
from bridge.telemetry.trace.perfetto import perfetto_trace
from tests.support.event_stories import START_WALL_US, cooperative_handover, eager_meeting

Entry = dict[str, object]


def entries(*kinds: str) -> list[Entry]:
    """The entries of two rebalances, of these kinds."""
    events = [*eager_meeting().events, *cooperative_handover().events]
    found: dict[str, list[Entry]] = json.loads(perfetto_trace(assemble(events[:-21]) + assemble(events[-21:])))
    return [entry for entry in found["traceEvents"] if entry["ph"] in kinds]


def test_slices_have_name_place_and_time() -> None:
    """Complete events on the wall clock, microseconds."""
    slices = {(entry["name"], entry["ts"], entry["dur"]) for entry in entries("X")}
    assert ("giving up", START_WALL_US + 900_000, 2_100_000) in slices
    assert ("waiting for release", START_WALL_US + 2_000, 3_008_000) in slices


def test_tracks_are_named_once() -> None:
    """A process for the group, a thread for each member."""
    names = [(entry["pid"], entry["tid"], entry["name"]) for entry in entries("M")]
    assert len(names) == len(set(names))
    used = {(entry["pid"], entry["tid"]) for entry in entries("X")}
    assert used <= {(pid, tid) for pid, tid, _ in names}


def test_arrows_lead_from_holder_to_waiter() -> None:
    """A start for each end, on another track."""
    starts, ends = entries("s"), entries("f")
    assert [one["id"] for one in starts] == [one["id"] for one in ends]
    assert all(one["tid"] != other["tid"] for one, other in zip(starts, ends, strict=True))
    assert starts
