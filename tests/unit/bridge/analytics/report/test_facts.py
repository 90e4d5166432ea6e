"""What a report asks of the tables."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from bridge.analytics.report.facts import HEAT_COLUMNS_MAX, Spread, known_groups, report_facts
from bridge.analytics.tables.definitions import MEMBERS, PHASES, REBALANCES, STALLS, Table
from tests.support.table_files import duckdb_over

Rows = Sequence[Mapping[str, object]]
HOUR_US = 3_600_000_000


def rows(columns: str, *values: tuple[object, ...]) -> Rows:
    """Rows of a table, of which only some columns matter."""
    return [dict(zip(columns.split(), row, strict=True)) for row in values]


PHASE_ROWS = rows(
    "group_id member_id protocol phase duration_us is_closed",
    *(("g", "anna", "classic", "joining", us, True) for us in (1, 2, 9)),
    ("g", "anna", "classic", "revoking", 4, True),
    ("h", "boris", "consumer", "revoking", 100, True),
    ("h", "boris", "consumer", "stable", 900, True),
    ("h", "boris", "consumer", "revoking", 800, False),
)
"""Anna joins three times and revokes once, boris revokes; being stable and what is open do not count."""
MEMBER_ROWS = rows(
    "group_id member_id protocol library library_version began_us",
    ("g", "anna", "classic", "old", "1", 1),
    ("g", "anna", "consumer", "new", "2", 50),
    ("h", "boris", "consumer", "new", "2", 1),
)
"""Anna of g is classic until time 50, of h nobody changes."""
REBALANCE_ROWS = rows(
    "group_id rebalance_id began_us duration_us cause disturbed told",
    ("g", "r1", 10, 5, "join", 2, 3),
    ("g", "r2", 20, 7, "join", 1, 3),
    ("g", "r3", 60, 1, "leave", 0, 1),
    ("h", "r1", 5, None, None, 0, 0),
)
"""Two of g before the change, one after, one of h without a cause."""
STALL_ROWS = rows(
    "group_id told_us released_us fetched_us stall_us", ("g", None, 10, 20, 10), ("g", 60, 61, 2 * HOUR_US, 3)
)
"""One before the change, nobody told; one after, two hours later."""
TABLES: Mapping[Table, Rows] = {
    PHASES: PHASE_ROWS,
    MEMBERS: MEMBER_ROWS,
    REBALANCES: REBALANCE_ROWS,
    STALLS: STALL_ROWS,
}


def test_phase_has_a_line_per_protocol(tmp_path: Path) -> None:
    """With how its durations are spread."""
    facts = report_facts(duckdb_over(tmp_path, TABLES), None)
    found = {(one.phase, one.protocol): one.spread.count for one in facts.phases}
    assert found == {("joining", "classic"): 3, ("revoking", "classic"): 1, ("revoking", "consumer"): 1}


def test_slowest_member_comes_first_with_its_worst_phase(tmp_path: Path) -> None:
    """And with the library it had last."""
    facts = report_facts(duckdb_over(tmp_path, TABLES), None)
    assert [(one.member_id, one.total_us, one.phase, one.library) for one in facts.members] == [
        ("boris", 100, "revoking", "new 2"),
        ("anna", 16, "joining", "new 2"),
    ]


def test_culprits_are_those_who_were_waited_for_or_put_out(tmp_path: Path) -> None:
    """A frozen member made nobody wait in a rebalance: what stood still is what it had when it was put out."""
    named = rows(
        "group_id rebalance_id critical_member critical_phase waited_us",
        *(("g", "r1", "slow", "revoking", 30), ("g", "r2", "slow", "joining", 10), ("g", "r3", "", None, 0)),
    )
    spans = rows(
        "group_id member_id client_id library library_version began_us ended_us departure",
        ("g", "slow", "client-1", "lib", "1", 1, None, None),
        ("g", "ice", "client-2", "lib", "2", 1, 9_000_000, "session-expired"),
        ("g", "calm", "client-3", "lib", "3", 1, 9_000_000, "left"),
    )
    still = rows(
        "group_id before released_us fetched_us stall_us",
        ("g", "ice", 9_000_000, 9_006_000, 6_000),
        ("g", "ice", 5_000_000, 5_000_070, 70),
        ("g", "slow", 5, 13, 8),
        ("g", "calm", 9_000_000, 9_000_009, 9),
    )
    views = duckdb_over(tmp_path, {REBALANCES: named, MEMBERS: spans, STALLS: still})
    frozen, slow = report_facts(views, None).culprits
    assert (frozen.member_id, frozen.client_id, frozen.library) == ("ice", "client-2", "lib 2")
    assert (frozen.departure, frozen.stall_us, frozen.rebalances, frozen.phase) == ("session-expired", 6_000, 0, "")
    assert (slow.member_id, slow.rebalances, slow.waited_us, slow.most_us) == ("slow", 2, 40, 30)
    assert (slow.phase, slow.departure, slow.stall_us) == ("revoking", "", 0)


def test_causes_are_counted(tmp_path: Path) -> None:
    """A rebalance that was not explained is counted too."""
    causes = report_facts(duckdb_over(tmp_path, TABLES), None).causes
    found = [(one.cause, one.rebalances, one.told, one.disturbed) for one in causes]
    assert found == [("join", 2, 6, 3), ("leave", 1, 1, 0), ("not told", 1, 0, 0)]


def test_group_that_changed_protocol_is_told_before_and_after(tmp_path: Path) -> None:
    """The others have nothing to compare."""
    found = report_facts(duckdb_over(tmp_path, TABLES), None).changes
    assert [(one.group_id, one.protocol, one.rebalances, one.disturbed) for one in found] == [
        ("g", "classic", 2, 3),
        ("g", "consumer", 1, 0),
    ]
    assert [one.stall for one in found] == [
        Spread(count=1, p50_us=10, p95_us=10, max_us=10),
        Spread(count=1, p50_us=3, p95_us=3, max_us=3),
    ]


def test_heat_has_every_hour_from_first_to_last(tmp_path: Path) -> None:
    """Hours without a stall are 0."""
    heat = report_facts(duckdb_over(tmp_path, TABLES), None).heat
    assert (heat.groups, heat.first_hour, heat.column_hours, heat.stall_us) == (["g"], 0, 1, [[10, 0, 3]])


def test_heat_of_a_long_time_has_a_bounded_number_of_columns(tmp_path: Path) -> None:
    """As that of a log with one event whose clock stood at 1970; nothing is lost of the sums."""
    hours = (0, 1, HEAT_COLUMNS_MAX, 490_000)
    rows = [{"group_id": "g", "fetched_us": hour * HOUR_US, "stall_us": 1 + place} for place, hour in enumerate(hours)]
    heat = report_facts(duckdb_over(tmp_path, {STALLS: rows}), None).heat
    (sums,) = heat.stall_us
    assert (heat.column_hours, len(sums), sums[0], sums[-1], sum(sums)) == (2917, HEAT_COLUMNS_MAX, 6, 4, 10)


def test_report_knows_when_rebalances_began(tmp_path: Path) -> None:
    """The first and the last."""
    rows = [{"group_id": "g", "rebalance_id": f"r{at}", "began_us": at} for at in (7, 5, 9)]
    assert report_facts(duckdb_over(tmp_path, {REBALANCES: rows}), None).began_us == (5, 9)
    assert report_facts(duckdb_over(tmp_path / "none", {}), None).began_us is None


def test_empty_tables_make_an_empty_report(tmp_path: Path) -> None:
    """Nothing happened yet."""
    views = duckdb_over(tmp_path, {})
    facts = report_facts(views, None)
    assert (facts.rebalances, facts.stall, facts.phases, facts.heat.groups) == (0, None, [], [])
    assert known_groups(views) == []


def test_report_may_be_of_one_group(tmp_path: Path) -> None:
    """Everything else is left out."""
    views = duckdb_over(tmp_path, TABLES)
    facts = report_facts(views, "h")
    assert (facts.rebalances, [one.member_id for one in facts.members]) == (1, ["boris"])
    assert known_groups(views) == ["g", "h"]
