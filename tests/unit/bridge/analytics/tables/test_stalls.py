"""How long a partition stood still between two owners."""

import json
from dataclasses import replace

import pytest
from pyspark.sql import functions as f

from bridge.analytics.intake.reading import accepted, parsed
from bridge.analytics.tables.positions import positioned, runs
from bridge.analytics.tables.stalls import partition_rows, stalls
from bridge.analytics.tables.store import Store
from bridge.telemetry.schema.facts import Event, Fact, RebalanceBegan
from bridge.telemetry.schema.terms import Protocol, Road
from bridge.whatif.measures import measure
from bridge.whatif.timed_events import on_one_timeline
from tests.support.fleet_words import MemberWords
from tests.support.spark import START_US, lines_of, python_nodes, stamped, taken, text_of

Told = tuple[int, Fact]
ANNA = MemberWords("g", "r1", 1, Protocol.CLASSIC, "anna")
BORIS = MemberWords("g", "r2", 1, Protocol.CONSUMER, "boris")
CLARA = MemberWords("g", "r2", 1, Protocol.CONSUMER, "clara")
FIRST: list[Told] = [(1, ANNA.assigned(["t-0", "t-1"], 2)), (2, ANNA.fetched(["t-0", "t-1"]))]


def found(store: Store, events: list[Event]) -> list[tuple[object, ...]]:
    """Partition, who before, who after, how long, the same owner."""
    rows = stalls(taken(store, events)).sort("fetched_us", "partition")
    return [tuple(row) for row in rows.select("partition", "before", "after", "stall_us", "is_same_owner").collect()]


def test_stall_lasts_from_told_to_first_fetch_of_the_next_owner(store: Store) -> None:
    """Who before, who after (issue 5)."""
    moved: list[Told] = [(10, ANNA.to_release(["t-0"])), (14, ANNA.released(["t-0"])), (20, BORIS.assigned(["t-0"], 1))]
    events = stamped([*FIRST, *moved, (33, BORIS.fetched(["t-0"]))])
    (row,) = stalls(taken(store, events)).collect()
    times = [row[name] - START_US for name in ("told_us", "released_us", "assigned_us", "fetched_us")]
    assert times == [10_000, 14_000, 20_000, 33_000]
    assert (row["before"], row["after"], row["stall_us"], row["is_same_owner"]) == ("anna", "boris", 23_000, False)
    assert (row["protocol_before"], row["protocol_after"], row["rebalance_id"]) == ("classic", "consumer", "r2")


GONE: Told = (10, replace(ANNA.released(["t-0"]), rebalance_id=""))
DEALT: list[Told] = [(12, BORIS.assigned(["t-0"], 1)), (15, BORIS.fetched(["t-0"]))]
UNNAMED: list[Told] = [(12, BORIS.assigned(["t-0"], 1)), (15, replace(BORIS.fetched(["t-0"]), rebalance_id=""))]
DEALING: dict[str, tuple[list[Told], str]] = {
    "given up in the one before": ([(10, ANNA.released(["t-0"])), *DEALT], "r2"),
    "gone before any began": ([GONE, *DEALT], "r2"),
    "nobody says which one dealt it": ([(10, ANNA.released(["t-0"])), *UNNAMED], "r1"),
}


@pytest.mark.parametrize(("told", "rebalance_id"), DEALING.values(), ids=DEALING)
def test_stall_is_of_the_rebalance_that_dealt_the_partition_anew(
    store: Store, told: list[Told], rebalance_id: str
) -> None:
    """Who leaves on road `pass` is gone before the others meet; the measures of a play say the same."""
    events = stamped([*FIRST, *told])
    assert [row["rebalance_id"] for row in stalls(taken(store, events)).collect()] == [rebalance_id]
    began = [RebalanceBegan(group_id="g", road=Road.EMBEDDED, rebalance_id=name) for name in ("r1", "r2")]
    measured = measure(on_one_timeline(stamped([*((0, one) for one in began), *FIRST, *told])))
    assert {one.rebalance_id: one.stalls for one in measured if one.stalls} == {rebalance_id: 1}


def test_first_assignment_is_no_stall(store: Store) -> None:
    """Nobody had it."""
    assert found(store, stamped(FIRST)) == []


def test_partition_given_back_is_a_stall_for_nothing(store: Store) -> None:
    """An eager member releases without being told to, and gets the same again."""
    again: list[Told] = [
        (10, ANNA.released(["t-0", "t-1"])),
        (20, ANNA.assigned(["t-0"], 1)),
        (25, ANNA.fetched(["t-0"])),
    ]
    assert found(store, stamped([*FIRST, *again])) == [("t-0", "anna", "anna", 15_000, True)]


def test_owner_that_never_fetched_is_passed_over(store: Store) -> None:
    """The stall goes on until somebody reads: anna to clara, boris had it in between."""
    moved: list[Told] = [
        (10, ANNA.to_release(["t-0"])),
        (11, ANNA.released(["t-0"])),
        (12, BORIS.assigned(["t-0"], 1)),
        (13, BORIS.to_release(["t-0"])),
        (14, BORIS.released(["t-0"])),
        (15, CLARA.assigned(["t-0"], 1)),
        (30, CLARA.fetched(["t-0"])),
    ]
    assert found(store, stamped([*FIRST, *moved])) == [("t-0", "anna", "clara", 20_000, False)]


LATER = MemberWords("g", "r2", 2, Protocol.CLASSIC, "anna")
AGAIN = replace(ANNA.assigned(["t-0"], 1), is_again=True)
GIVEN: Told = (10, ANNA.assigned(["t-0"], 1))
GIVEN_UP: Told = (15, ANNA.released(["t-0"]))
FETCHED: Told = (30, ANNA.fetched(["t-0"]))
NEVER_BEGUN: dict[str, list[Told]] = {
    "asked again in its generation": [GIVEN, GIVEN_UP, (20, AGAIN), FETCHED],
    "and again": [GIVEN, GIVEN_UP, (16, AGAIN), (17, ANNA.released(["t-0"])), (20, AGAIN), FETCHED],
}
STOOD_STILL: dict[str, list[Told]] = {
    "it was given anew": [GIVEN, GIVEN_UP, (20, ANNA.assigned(["t-0"], 1)), FETCHED],
    "another one came to it": [GIVEN, GIVEN_UP, (20, BORIS.assigned(["t-0"], 1)), (30, BORIS.fetched(["t-0"]))],
    "the second time": [
        *(GIVEN, GIVEN_UP, (20, AGAIN), FETCHED, (45, ANNA.released(["t-0"]))),
        *((50, ANNA.assigned(["t-0"], 1)), (60, ANNA.fetched(["t-0"]))),
    ],
    "it had used it in the generation before": [
        *((5, ANNA.assigned(["t-0"], 1)), (6, ANNA.fetched(["t-0"])), (15, ANNA.released(["t-0"]))),
        *((20, LATER.assigned(["t-0"], 1)), (21, LATER.released(["t-0"])), (25, replace(AGAIN, generation=2))),
        (30, LATER.fetched(["t-0"])),
    ],
}


@pytest.mark.parametrize("told", NEVER_BEGUN.values(), ids=NEVER_BEGUN)
def test_member_that_asks_again_before_it_uses_anything_stops_nothing(store: Store, told: list[Told]) -> None:
    """Neither in the tables nor in the measures of a play."""
    assert found(store, stamped(told)) == []
    assert sum(one.stalls for one in measure(on_one_timeline(stamped(told)))) == 0


@pytest.mark.parametrize("told", STOOD_STILL.values(), ids=STOOD_STILL)
def test_partition_stands_still_once_somebody_may_have_used_it(store: Store, told: list[Told]) -> None:
    """All cases take 15 ms from giving up to fetching."""
    after = "boris" if told is STOOD_STILL["another one came to it"] else "anna"
    assert found(store, stamped(told)) == [("t-0", "anna", after, 15_000, after == "anna")]
    (one,) = measure(on_one_timeline(stamped(told)))
    assert (one.stalls, one.stall_us) == (1, 15_000)


def test_owner_that_was_told_and_fetches_once_more_ends_nothing(store: Store) -> None:
    """The news was on its way: anna had not fetched yet, and gives up what she fetched after she was told."""
    moved: list[Told] = [
        (1, ANNA.assigned(["t-0"], 1)),
        (2, ANNA.to_release(["t-0"])),
        (5, ANNA.fetched(["t-0"])),
        (6, ANNA.released(["t-0"])),
        (12, BORIS.assigned(["t-0"], 1)),
        (15, BORIS.fetched(["t-0"])),
    ]
    assert found(store, stamped(moved)) == [("t-0", "anna", "boris", 10_000, False)]
    (row,) = stalls(taken(store, stamped(moved))).collect()
    assert row["told_us"] - START_US == 2_000


def test_owner_that_is_gone_did_nothing_since_its_connection_was_lost(store: Store) -> None:
    """It expires long after; the log of an older bridge does not say since when."""
    gone = replace(ANNA.released(["t-0"]), idle_us=9_000)
    moved: list[Told] = [(12, gone), (13, BORIS.assigned(["t-0"], 1)), (15, BORIS.fetched(["t-0"]))]
    assert found(store, stamped([*FIRST, *moved])) == [("t-0", "anna", "boris", 12_000, False)]


def test_log_of_the_first_schema_does_not_say_since_when(store: Store) -> None:
    """It has no `idle_us`: the stall begins with the release."""
    gone = replace(ANNA.released(["t-0"]), idle_us=9_000)
    events = stamped([*FIRST, (12, gone), (13, BORIS.assigned(["t-0"], 1)), (15, BORIS.fetched(["t-0"]))])
    lines = [
        json.dumps({**json.loads(line), "schema_version": 1, "idle_us": None}).replace(', "idle_us": null', "")
        for line in text_of(events)
    ]
    rows = accepted(parsed(lines_of(store.spark, lines)), 0)
    found = stalls(positioned(rows, runs(rows))).collect()
    assert [(row["before"], row["after"], row["stall_us"]) for row in found] == [("anna", "boris", 3_000)]


def test_log_of_the_schema_before_does_not_say_what_was_given_again(store: Store) -> None:
    """Version 2 has no `is_again`: what was given back stood still."""
    events = stamped(NEVER_BEGUN["asked again in its generation"])
    older = [{**json.loads(line), "schema_version": 2} for line in text_of(events)]
    lines = [json.dumps({name: value for name, value in one.items() if name != "is_again"}) for one in older]
    rows = accepted(parsed(lines_of(store.spark, lines)), 0)
    assert [row["stall_us"] for row in stalls(positioned(rows, runs(rows))).collect()] == [15_000]


def test_second_stall_begins_after_the_first(store: Store) -> None:
    """There and back."""
    moved: list[Told] = [
        (10, ANNA.to_release(["t-0"])),
        (15, BORIS.fetched(["t-0"])),
        (20, BORIS.to_release(["t-0"])),
        (26, ANNA.fetched(["t-0"])),
    ]
    assert found(store, stamped([*FIRST, *moved])) == [
        ("t-0", "anna", "boris", 5_000, False),
        ("t-0", "boris", "anna", 6_000, False),
    ]


def test_stall_begins_with_the_first_of_many_events_that_took_the_partition(store: Store) -> None:
    """Those after it, and an assignment between them, begin nothing; the last release is the one that is told."""
    moved: list[Told] = [
        (10, ANNA.to_release(["t-0"])),
        (11, ANNA.to_release(["t-0"])),
        (12, BORIS.assigned(["t-0"], 1)),
        (14, ANNA.released(["t-0"])),
        (16, BORIS.released(["t-0"])),
        (18, CLARA.assigned(["t-0"], 1)),
        (30, CLARA.fetched(["t-0"])),
        (40, BORIS.fetched(["t-0"])),
    ]
    (row,) = stalls(taken(store, stamped([*FIRST, *moved]))).collect()
    times = [row[name] - START_US for name in ("told_us", "released_us", "assigned_us", "fetched_us")]
    assert (times, row["stall_us"]) == ([10_000, 16_000, 18_000, 30_000], 20_000)


def test_fetch_after_one_told_without_a_name_begins_nothing(store: Store) -> None:
    """Whom that one told is not known; the one told before it does not stand in for it."""
    moved: list[Told] = [
        (10, ANNA.to_release(["t-0"])),
        (11, ANNA.to_release(["t-0"])),
        (12, ANNA.fetched(["t-0"])),
        (20, BORIS.fetched(["t-0"])),
    ]
    rows = taken(store, stamped([*FIRST, *moved]))
    nameless = rows.withColumn("member_id", f.when(f.col("number") != 4, f.col("member_id")))
    assert [row["before"] for row in stalls(rows).collect()] == ["anna"]
    assert stalls(nameless).collect() == []


def test_second_stall_tells_nothing_of_the_first(store: Store) -> None:
    """Told, released and assigned before it began are another stall's."""
    moved: list[Told] = [
        (10, ANNA.to_release(["t-0"])),
        (12, ANNA.released(["t-0"])),
        (14, BORIS.assigned(["t-0"], 1)),
        (15, BORIS.fetched(["t-0"])),
        (20, BORIS.released(["t-0"])),
        (26, CLARA.fetched(["t-0"])),
    ]
    rows = stalls(taken(store, stamped([*FIRST, *moved]))).sort("fetched_us").collect()
    told = [(row["told_us"], row["released_us"] - START_US, row["assigned_us"]) for row in rows]
    assert told == [(START_US + 10_000, 12_000, START_US + 14_000), (None, 20_000, None)]


def test_stall_over_a_restart_goes_by_the_wall_clock(store: Store) -> None:
    """Told by one run of the bridge, fetched under the next."""
    later = stamped([(1, BORIS.fetched(["t-0"]))], "b2", START_US + 2_000_000)
    assert found(store, [*stamped([*FIRST, (10, ANNA.to_release(["t-0"]))]), *later]) == [
        ("t-0", "anna", "boris", 1_991_000, False)
    ]


def test_event_is_a_row_per_partition(store: Store) -> None:
    """Of the kinds asked for."""
    rows = partition_rows(taken(store, stamped(FIRST)), "partitions-fetched")
    assert sorted(row["partition"] for row in rows.collect()) == ["t-0", "t-1"]


def test_stalls_call_no_python(store: Store) -> None:
    """Native expressions only."""
    assert python_nodes(stalls(taken(store, stamped(FIRST)))) == []
