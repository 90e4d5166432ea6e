"""The trace for ui.perfetto.dev."""

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest

from bridge.telemetry.rebalances.assembling import assemble
from bridge.telemetry.schema.facts import Event, MemberJoined
from bridge.telemetry.schema.terms import Departure, News, Phase
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


def gone() -> Story:
    """c3 is put out, and the others share what it had; nothing else is known of it."""
    story = Story().at(0)
    for member_id in ("c3", "c4"):
        story.joined(member_id)
    story.began(8).target(2).ended()
    story.at(900_000).left("c3", Departure.SESSION_EXPIRED)
    story.began(9).target(1).told("c4", News.ASSIGN).enters("c4", Phase.SYNCING)
    return story.at(900_500).leaves("c4", Phase.SYNCING).ended()


def arrows_of(story: Story, name: str) -> list[tuple[object, object]]:
    """From which track to which arrows of this name lead, as tracks are named."""
    trace: dict[str, list[Entry]] = json.loads(perfetto_trace(assemble(story.events)))
    entries = trace["traceEvents"]
    tracks = {entry["tid"]: entry["args"] for entry in entries if entry["name"] == "thread_name"}
    ends = {kind: {one["id"]: one for one in entries if one["ph"] == kind and one["name"] == name} for kind in "sf"}
    assert all(number(one["ts"]) <= number(ends["f"][key]["ts"]) for key, one in ends["s"].items())
    both = [(tracks[one["tid"]], tracks[ends["f"][key]["tid"]]) for key, one in ends["s"].items()]
    return [tuple(named["name"] for named in pair if isinstance(named, dict)) for pair in both]


def test_arrows_lead_from_the_cause_to_its_effects() -> None:
    """Who came to the rebalance, and from there to whom it made give something up."""
    assert arrows_of(cooperative_handover(), "cause") == [("c4", "rebalances")]
    assert arrows_of(cooperative_handover(), "effect") == [("rebalances", "c1")]
    assert arrows_of(cooperative_handover(), "release") == [("c1", "c4")]
    assert arrows_of(gone(), "cause")[-1] == ("c3", "rebalances")


def test_rows_are_called_as_their_clients_are() -> None:
    """A random member id says nothing; holders that are seen first by an arrow are no exception."""
    ((one, other),) = arrows_of(renamed(), "release")
    assert (one, other) == ("billing-1 · 6fa0e9f2", "billing-2 · 0b6d4c1e")


def renamed() -> Story:
    """Members with random ids, as of the consumer protocol; the one that holds is told of after the one that waits."""
    waiter, holder = "0b6d4c1e-1111-4222-8333-944455556666", "6fa0e9f2-1111-4222-8333-944455556666"
    story = Story().at(0)
    for member_id, client_id in ((waiter, "billing-2"), (holder, "billing-1")):
        came = story.joined(member_id)
        assert isinstance(came.fact, MemberJoined)
        story.events[-1] = Event(came.stamp, replace(came.fact, client_id=client_id))
    story.began(3).target(2).enters(waiter, Phase.AWAITING_RELEASE, holder)
    story.at(100).told(holder, News.REVOKE).loses(holder, "orders-1").enters(holder, Phase.REVOKING)
    story.at(2_100).releases(holder, "orders-1").leaves(holder, Phase.REVOKING)
    return story.at(2_110).leaves(waiter, Phase.AWAITING_RELEASE, holder).ended()


@pytest.mark.parametrize("tell", [superseded, gone, renamed, cooperative_handover, eager_meeting])
def test_arrows_begin_and_end_on_slices(tell: Callable[[], Story]) -> None:
    """An arrow that touches no slice is not drawn."""
    trace: dict[str, list[Entry]] = json.loads(perfetto_trace(assemble(tell().events)))
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
