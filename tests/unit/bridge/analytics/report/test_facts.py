"""What a report asks of the tables."""

from pyspark.sql import DataFrame

from bridge.analytics.report.facts import (
    Spread,
    cause_facts,
    change_facts,
    culprit_facts,
    heat_facts,
    member_facts,
    phase_facts,
    report_facts,
    spread_of,
)
from bridge.analytics.spark.column_types import conform
from bridge.analytics.tables.definitions import MEMBERS, PHASES, REBALANCES, STALLS, Table
from bridge.analytics.tables.store import Store

HOUR_US = 3_600_000_000


def rows(store: Store, table: Table, schema: str, *values: tuple[object, ...]) -> DataFrame:
    """Rows of a table, of which only some columns matter."""
    return conform(table, store.spark.createDataFrame(list(values), schema))


def phases(store: Store) -> DataFrame:
    """Anna joins three times and revokes once, boris revokes."""
    schema = "group_id string, member_id string, protocol string, phase string, duration_us long, is_closed boolean"
    joins = [("g", "anna", "classic", "joining", us, True) for us in (1, 2, 9)]
    return rows(
        store,
        PHASES,
        schema,
        *joins,
        ("g", "anna", "classic", "revoking", 4, True),
        ("h", "boris", "consumer", "revoking", 100, True),
    )


def members(store: Store) -> DataFrame:
    """Anna of g is classic until time 50, of h nobody changes."""
    schema = "group_id string, member_id string, protocol string, library string, library_version string, began_us long"
    return rows(
        store,
        MEMBERS,
        schema,
        ("g", "anna", "classic", "old", "1", 1),
        ("g", "anna", "consumer", "new", "2", 50),
        ("h", "boris", "consumer", "new", "2", 1),
    )


def rebalances(store: Store) -> DataFrame:
    """Two of g before the change, one after, one of h without a cause."""
    schema = (
        "group_id string, rebalance_id string, began_us long, duration_us long, cause string, disturbed long, told long"
    )
    return rows(
        store,
        REBALANCES,
        schema,
        ("g", "r1", 10, 5, "join", 2, 3),
        ("g", "r2", 20, 7, "join", 1, 3),
        ("g", "r3", 60, 1, "leave", 0, 1),
        ("h", "r1", 5, None, None, 0, 0),
    )


def stalls(store: Store) -> DataFrame:
    """One before the change, nobody told; one after, two hours later."""
    schema = "group_id string, told_us long, released_us long, fetched_us long, stall_us long"
    return rows(store, STALLS, schema, ("g", None, 10, 20, 10), ("g", 60, 61, 2 * HOUR_US, 3))


def test_phase_has_a_line_per_protocol(store: Store) -> None:
    """With how its durations are spread."""
    found = {(one.phase, one.protocol): one.spread.count for one in phase_facts(phases(store))}
    assert found == {("joining", "classic"): 3, ("revoking", "classic"): 1, ("revoking", "consumer"): 1}


def test_spread_is_exact(store: Store) -> None:
    """Median and maximum."""
    row = phases(store).where("phase = 'joining'").agg(*spread_of("duration_us")).collect()[0]
    assert (row["n"], row["p50"], row["p95"], row["most"]) == (3, 2, 8, 9)


def test_slowest_member_comes_first_with_its_worst_phase(store: Store) -> None:
    """And with the library it had last."""
    found = member_facts(phases(store), members(store))
    assert [(one.member_id, one.total_us, one.phase, one.library) for one in found] == [
        ("boris", 100, "revoking", "new 2"),
        ("anna", 16, "joining", "new 2"),
    ]


def test_culprits_are_those_who_were_waited_for_or_put_out(store: Store) -> None:
    """A frozen member made nobody wait in a rebalance: what stood still is what it had when it was put out."""
    named = rows(
        store,
        REBALANCES,
        "group_id string, rebalance_id string, critical_member string, critical_phase string, waited_us long",
        *(("g", "r1", "slow", "revoking", 30), ("g", "r2", "slow", "joining", 10), ("g", "r3", "", None, 0)),
    )
    spans = rows(
        store,
        MEMBERS,
        "group_id string, member_id string, client_id string, library string, library_version string, "
        "began_us long, ended_us long, departure string",
        ("g", "slow", "client-1", "lib", "1", 1, None, None),
        ("g", "ice", "client-2", "lib", "2", 1, 9_000_000, "session-expired"),
        ("g", "calm", "client-3", "lib", "3", 1, 9_000_000, "left"),
    )
    still = rows(
        store,
        STALLS,
        "group_id string, before string, released_us long, stall_us long",
        *(
            ("g", "ice", 9_000_000, 6_000),
            ("g", "ice", 5_000_000, 70),
            ("g", "slow", 5, 8),
            ("g", "calm", 9_000_000, 9),
        ),
    )
    frozen, slow = culprit_facts(named, still, spans)
    assert (frozen.member_id, frozen.client_id, frozen.library) == ("ice", "client-2", "lib 2")
    assert (frozen.departure, frozen.stall_us, frozen.rebalances, frozen.phase) == ("session-expired", 6_000, 0, "")
    assert (slow.member_id, slow.rebalances, slow.waited_us, slow.most_us) == ("slow", 2, 40, 30)
    assert (slow.phase, slow.departure, slow.stall_us) == ("revoking", "", 0)


def test_causes_are_counted(store: Store) -> None:
    """A rebalance that was not explained is counted too."""
    found = [(one.cause, one.rebalances, one.told, one.disturbed) for one in cause_facts(rebalances(store))]
    assert found == [("join", 2, 6, 3), ("leave", 1, 1, 0), ("not told", 1, 0, 0)]


def test_group_that_changed_protocol_is_told_before_and_after(store: Store) -> None:
    """The others have nothing to compare."""
    found = change_facts(members(store), rebalances(store), stalls(store))
    assert [(one.group_id, one.protocol, one.rebalances, one.disturbed) for one in found] == [
        ("g", "classic", 2, 3),
        ("g", "consumer", 1, 0),
    ]
    assert [one.stall for one in found] == [
        Spread(count=1, p50_us=10, p95_us=10, max_us=10),
        Spread(count=1, p50_us=3, p95_us=3, max_us=3),
    ]


def test_heat_has_every_hour_from_first_to_last(store: Store) -> None:
    """Hours without a stall are 0."""
    heat = heat_facts(stalls(store))
    assert (heat.groups, heat.first_hour, heat.stall_us) == (["g"], 0, [[10, 0, 3]])


def test_empty_tables_make_an_empty_report(store: Store) -> None:
    """Nothing happened yet."""
    facts = report_facts(store, None)
    assert (facts.rebalances, facts.stall, facts.phases, facts.heat.groups) == (0, None, [], [])


def test_report_may_be_of_one_group(store: Store) -> None:
    """Everything else is left out."""
    for table, frame in ((PHASES, phases(store)), (REBALANCES, rebalances(store)), (MEMBERS, members(store))):
        store.replace(table, frame)
    facts = report_facts(store, "h")
    assert (facts.rebalances, [one.member_id for one in facts.members]) == (1, ["boris"])
