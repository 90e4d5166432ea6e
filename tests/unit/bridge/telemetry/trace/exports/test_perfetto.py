"""The trace for ui.perfetto.dev."""

import json
from itertools import pairwise

from bridge.telemetry.rebalances.assembling import assemble
from bridge.telemetry.schema.terms import News, Phase
from bridge.telemetry.trace.exports import perfetto_trace
from tests.support.event_stories import START_WALL_US, Story, cooperative_handover, eager_meeting

Entry = dict[str, object]


def entries(*kinds: str) -> list[Entry]:
    """The entries of two rebalances, of these kinds."""
    events = [*eager_meeting().events, *cooperative_handover().events]
    found: dict[str, list[Entry]] = json.loads(perfetto_trace(assemble(events[:-21]) + assemble(events[-21:])))
    return [entry for entry in found["traceEvents"] if entry["ph"] in kinds]


def test_slices_have_name_place_and_time() -> None:
    """Complete events on the wall clock, microseconds."""
    trace: dict[str, list[Entry]] = json.loads(perfetto_trace(assemble(cooperative_handover().events)))
    slices = {(entry["name"], entry["ts"], entry["dur"]) for entry in trace["traceEvents"] if entry["ph"] == "X"}
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


def superseded() -> Story:
    """c1 takes two seconds over two rebalances to give up something, each of which has read the wall clock anew."""
    story = Story().at(0)
    story.joined("c8")
    story.began(3).target(3).enters("c8", Phase.AWAITING_RELEASE, "c1")
    story.at(100).told("c1", News.REVOKE).loses("c1", "orders-1").enters("c1", Phase.REVOKING)
    story.at(900).joined("c9")
    story.clock_jumps(1)
    story.began(4, supersedes=story.rebalance_id).target(4)
    story.at(2_100).releases("c1", "orders-1").leaves("c1", Phase.REVOKING)
    return story.at(2_110).leaves("c8", Phase.AWAITING_RELEASE, "c1").ended()


def test_phase_over_two_rebalances_is_one_slice() -> None:
    """What overlaps without nesting is dropped when it is opened, so nothing does."""
    trace: dict[str, list[Entry]] = json.loads(perfetto_trace(assemble(superseded().events)))
    slices = [entry for entry in trace["traceEvents"] if entry["ph"] == "X"]
    assert [one["dur"] for one in slices if one["name"] == "giving up"] == [2_001_000]
    assert overlaps(slices) == []


def test_arrows_begin_and_end_on_slices() -> None:
    """An arrow that touches no slice is not drawn."""
    trace: dict[str, list[Entry]] = json.loads(perfetto_trace(assemble(superseded().events)))
    slices = [entry for entry in trace["traceEvents"] if entry["ph"] == "X"]
    arrows = [entry for entry in trace["traceEvents"] if entry["ph"] in ("s", "f")]
    assert arrows
    assert [arrow for arrow in arrows if not any(holds(one, arrow) for one in slices)] == []


def holds(one: Entry, arrow: Entry) -> bool:
    """Whether a slice is under an end of an arrow."""
    begin, took, at = (number(entry) for entry in (one["ts"], one["dur"], arrow["ts"]))
    return (one["pid"], one["tid"]) == (arrow["pid"], arrow["tid"]) and begin <= at < begin + took


def overlaps(slices: list[Entry]) -> list[tuple[object, object]]:
    """Neighbours on one track of which the second begins before the first ends."""
    ordered = sorted(slices, key=lambda one: (number(one["pid"]), number(one["tid"]), number(one["ts"])))
    return [
        (one["name"], other["name"])
        for one, other in pairwise(ordered)
        if (one["pid"], one["tid"]) == (other["pid"], other["tid"])
        and number(one["ts"]) + number(one["dur"]) > number(other["ts"])
    ]


def number(value: object) -> int:
    """A number of the document."""
    assert isinstance(value, int)
    return value
