"""Who was disturbed: told, but with the same assignment before and after."""

from dataclasses import replace

import pytest
from pyspark.sql import DataFrame, SparkSession

from bridge.analytics.tables import disturbance
from bridge.analytics.tables.definitions import CHAIN_HEAD
from bridge.analytics.tables.disturbance import CHAIN, chained, disturbances, marked
from bridge.analytics.tables.store import Store
from bridge.telemetry.schema.facts import Event, Fact, GroupFact, MemberLeft
from bridge.telemetry.schema.terms import Departure, News, Protocol, Road
from tests.support.disturbance_cases import DISTURBANCE_CASES
from tests.support.fleet_words import MemberWords
from tests.support.spark import python_nodes, stamped, taken


def words(member: str, rebalance: str = "r1") -> MemberWords:
    """What is told of a classic member of g."""
    return MemberWords("g", rebalance, 1, Protocol.CLASSIC, member)


def judged(store: Store, events: list[Event], chains: dict[str, str]) -> dict[str, tuple[int, list[str]]]:
    """Per rebalance: how many were told, and who was disturbed."""
    known = store.spark.createDataFrame(
        [("g", rebalance, chain) for rebalance, chain in chains.items()],
        "group_id string, rebalance_id string, chain_id string",
    )
    rows = disturbances(marked(taken(store, events)), known).collect()
    return {row["rebalance_id"]: (row["told"], row["disturbed_members"]) for row in rows}


def test_chains_are_cut_behind_so_many_wherever_they_are_known_from(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a group that never comes to rest only the last of them are at hand; they are cut where all of them are."""
    monkeypatch.setattr(disturbance, "CHAIN_MAX", 3)
    rows = [("g", f"r{place}", "" if place == 1 else f"r{place - 1}", place) for place in range(9)]
    columns = "group_id string, rebalance_id string, supersedes string, seq long"
    whole = {row["rebalance_id"]: row[CHAIN] for row in chained(spark.createDataFrame(rows, columns)).collect()}
    heads = ["r0", *["r1"] * 3, *["r4"] * 3, *["r7"] * 2]
    assert whole == {f"r{place}": head for place, head in enumerate(heads)}
    last = [(*row, row[1] == whole[row[1]]) for row in rows[3:]]
    cut = chained(spark.createDataFrame(last, f"{columns}, {CHAIN_HEAD} boolean")).collect()
    found = {row["rebalance_id"]: row[CHAIN] for row in cut}
    assert found == {**{name: whole[name] for name in found}, "r3": "r3"}


def gone(rebalance: str) -> MemberLeft:
    """Anna leaves g."""
    return MemberLeft(
        group_id="g",
        road=Road.EMBEDDED,
        rebalance_id=rebalance,
        member_id="anna",
        protocol=Protocol.CLASSIC,
        departure=Departure.LEFT,
    )


def leaves(frame: DataFrame) -> int:
    """How often something is read for it."""
    return int(frame._jdf.queryExecution().analyzed().collectLeaves().size())


def test_marks_are_added_up_once(store: Store) -> None:
    """What belongs to chains of several rebalances is moved a second time, and nothing where there are none."""
    chains = "group_id string, rebalance_id string, chain_id string"
    marks = marked(taken(store, stamped([words("anna").told(News.REJOIN)])))
    found = [
        disturbances(marks, store.spark.createDataFrame(rows, chains))
        for rows in ([("g", "r1", "r1")], [("g", "r1", "r1"), ("g", "r2", "r1")])
    ]
    assert [leaves(one) for one in found] == [leaves(marks), 2 * leaves(marks) + 2]
    assert [one.collect() for one in found] == [[("g", "r1", 1, 0, [])]] * 2


def test_tables_say_who_is_disturbed_as_the_bridge_and_replays_do(store: Store) -> None:
    """All cases at once, each as a group of its own: starting Spark's plans takes longer than running them."""
    events: list[Event] = []
    chains: list[tuple[str, str, str]] = []
    expected: dict[tuple[str, str], list[str]] = {}
    for group, case in DISTURBANCE_CASES.items():
        for event in case.events:
            assert isinstance(event.fact, GroupFact)
            place = len(events) + 1
            stamp = replace(event.stamp, number=place, mono_us=place, wall_us=event.stamp.wall_us + place)
            events.append(Event(stamp, replace(event.fact, group_id=group)))
        chains += [(group, name, chain) for name, chain in case.chains.items()]
        for name, members in zip(case.chains, case.disturbed, strict=True):
            expected[group, name] = list(members)
    known = store.spark.createDataFrame(chains, "group_id string, rebalance_id string, chain_id string")
    rows = disturbances(marked(taken(store, events)), known).collect()
    found = {(row["group_id"], row["rebalance_id"]): row["disturbed_members"] for row in rows}
    assert {key: found.get(key, []) for key in expected} == expected


def test_member_that_gets_back_what_it_gave_up_is_disturbed(store: Store) -> None:
    """Told to rejoin though its assignment is the same before and after (issue 3)."""
    same, moves = words("same"), words("moves")
    events = stamped(
        [
            same.told(News.REJOIN),
            moves.told(News.REJOIN),
            same.released(["t-0", "t-1"]),
            moves.released(["t-2"]),
            same.assigned(["t-1", "t-0"], 2),
            moves.assigned(["t-3"], 1),
        ]
    )
    assert judged(store, events, {"r1": "r1"}) == {"r1": (2, ["same"])}


def test_member_that_is_told_nothing_but_its_new_partitions_is_not_counted(store: Store) -> None:
    """News of an assignment is no disturbance, and a member that has to give something up moves."""
    gains, gives = words("gains"), words("gives")
    events = stamped(
        [gains.told(News.ASSIGN), gains.assigned(["t-0"], 1), gives.told(News.REVOKE), gives.released(["t-0"])]
    )
    assert judged(store, events, {"r1": "r1"}) == {"r1": (1, [])}


def test_member_that_only_joins_again_is_not_disturbed(store: Store) -> None:
    """A cooperative member is told to rejoin and keeps on working; no callback of its client takes anything away."""
    events = stamped([words("calm").told(News.REJOIN), words("calm").told(News.ASSIGN)])
    assert judged(store, events, {"r1": "r1"}) == {"r1": (1, [])}


def test_member_that_stops_by_itself_is_disturbed_and_not_told(store: Store) -> None:
    """An eager client that sees its topic grow gives everything up unasked."""
    events = stamped([words("anna").released(["t-0"]), words("anna").assigned(["t-0"], 1)])
    assert judged(store, events, {"r1": "r1"}) == {"r1": (0, ["anna"])}


def test_rebalances_that_cut_each_other_short_are_judged_as_one(store: Store) -> None:
    """Released in the first, given again in the second: disturbed in both that told it."""
    first, second = words("anna", "r1"), words("anna", "r2")
    events = stamped(
        [first.told(News.REJOIN), first.released(["t-0"]), second.told(News.REJOIN), second.assigned(["t-0"], 1)]
    )
    assert judged(store, events, {"r1": "r1", "r2": "r1"}) == {"r1": (1, ["anna"]), "r2": (1, ["anna"])}
    assert judged(store, [], {"r1": "r1"}) == {}


def test_member_that_went_is_not_disturbed(store: Store) -> None:
    """It had nothing before and has nothing after, but it has other worries."""
    anna = words("anna")
    events = stamped([anna.told(News.REJOIN), anna.released(["t-0"]), anna.assigned(["t-0"], 1), gone("r1")])
    assert judged(store, events, {"r1": "r1"}) == {"r1": (1, [])}


def test_member_that_went_in_another_rebalance_of_the_chain_is_not_disturbed(store: Store) -> None:
    """One judgement for all of a chain; a row only where it was told or gave something up."""
    first, second = words("anna", "r1"), words("anna", "r2")
    events = stamped([first.told(News.REJOIN), first.released(["t-0"]), second.assigned(["t-0"], 1), gone("r3")])
    assert judged(store, events, {"r1": "r1", "r2": "r1", "r3": "r1"}) == {"r1": (1, [])}


def test_chain_of_three_is_judged_by_the_sum_of_its_parts(store: Store) -> None:
    """Given up in pieces and given back in others; another group may have rebalances of the same names."""
    first, second, third = (words("anna", name) for name in ("r1", "r2", "r3"))
    facts: list[Fact] = [
        first.released(["t-0"]),
        second.told(News.REJOIN),
        second.released(["t-2", "t-1"]),
        second.assigned(["t-1"], 1),
        third.told(News.ASSIGN),
        third.assigned(["t-2", "t-0"], 3),
    ]
    elsewhere = replace(second.assigned(["t-5"], 1), group_id="h")
    chains = {"r1": "r1", "r2": "r1", "r3": "r1"}
    assert judged(store, stamped([*facts, elsewhere]), chains) == {"r1": (0, ["anna"]), "r2": (1, ["anna"])}


def test_chain_beside_lone_rebalances_leaves_those_as_they_are(store: Store) -> None:
    """What a member got after the end of a chain is no part of it."""
    parts = [words("anna", name) for name in ("r1", "r2", "r3")]
    events = stamped([parts[0].released(["t-0"]), parts[1].told(News.REVOKE), parts[2].assigned(["t-0"], 1)])
    assert judged(store, events, {"r1": "r1", "r2": "r1", "r3": "r3"}) == {"r1": (0, []), "r2": (1, [])}


def test_what_was_lost_is_held_against_what_was_gained(store: Store) -> None:
    """The same partitions, each the same number of times, in whatever order and in however many events."""
    many = [f"t-{n}" for n in range(5000)]
    cases: list[tuple[list[list[str]], list[list[str]], bool]] = [
        ([["t-0", "t-0"]], [["t-0"], ["t-0"]], True),
        ([["t-0"], ["t-1"]], [["t-1", "t-0"]], True),
        ([[], ["t-0"]], [["t-0"], []], True),
        ([many], [many[::-1]], True),
        ([many], [[*many[1:], "t-1"]], False),
        ([["t-0", "t-0"]], [["t-0"]], False),
        ([["t-0", "t-0"]], [["t-1", "t-1"]], False),
        ([["t-0"]], [["t-0", "t-0"]], False),
        ([["t-0", "t-3"]], [["t-1", "t-2"]], False),
        ([[]], [[]], False),
        ([["t-0"]], [], False),
    ]
    facts: list[Fact] = []
    for place, (lost, gained, _) in enumerate(cases):
        anna = words("anna", f"r{place}")
        facts += map(anna.released, lost)
        facts += (anna.assigned(each, len(each)) for each in gained)
    expected = {f"r{place}": (0, ["anna"] if is_same else []) for place, (_, _, is_same) in enumerate(cases)}
    assert judged(store, stamped(facts), {name: name for name in expected}) == expected


def test_member_that_was_only_given_something_is_in_no_row(store: Store) -> None:
    """Nobody told it anything and nothing was taken from it."""
    assert judged(store, stamped([words("anna").assigned(["t-0"], 1), gone("r1")]), {"r1": "r1"}) == {}


def test_chain_goes_back_to_what_nobody_cut_short(spark: SparkSession) -> None:
    """Only the rebalance right before can be superseded."""
    rows = spark.createDataFrame(
        [("g", "r1", "", 1), ("g", "r2", "r1", 2), ("g", "r3", "r2", 3), ("g", "r4", "", 4), ("h", "r1", "", 5)],
        "group_id string, rebalance_id string, supersedes string, seq long",
    )
    found = chained(rows).sort("seq").collect()
    assert [row["chain_id"] for row in found] == ["r1", "r1", "r1", "r4", "r1"]


def test_disturbance_calls_no_python(store: Store) -> None:
    """Native expressions only."""
    events = taken(store, stamped([words("anna").told(News.REJOIN)]))
    chains = events.select("group_id", "rebalance_id", "boot").withColumnRenamed("boot", "chain_id")
    assert python_nodes(disturbances(marked(events), chains)) == []
