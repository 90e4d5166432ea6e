"""What a comparison is about, out of the tables: units, with everybody who was there."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from bridge.analytics.compare.samples import Choice, Measure, UnitKind, sample
from bridge.analytics.engines.duckdb_views import DuckDbViews
from bridge.analytics.errors import AnalyticsError
from bridge.analytics.tables.definitions import MEMBERS, PHASES, REBALANCES, STALLS, Table
from bridge.migration.canary.pairing import Unit
from tests.support.table_files import duckdb_over

CLASSIC, CONSUMER = "protocol = 'classic'", "protocol = 'consumer'"
HOUR_US = 3_600_000_000


def rows(columns: str, *values: tuple[object, ...]) -> Sequence[Mapping[str, object]]:
    """Rows of a table, of which only some columns matter."""
    return [dict(zip(columns.split(), row, strict=True)) for row in values]


TABLES = {
    REBALANCES: rows(
        "group_id rebalance_id chain_id began_us ended_us road",
        ("g", "r1", "r1", 10, 20, "embedded"),
        ("g", "r2", "r1", 20, 30, "embedded"),
        ("g", "r3", "r3", 90, 99, "embedded"),
    ),
    PHASES: rows(
        "group_id rebalance_id member_id protocol phase began_us duration_us road",
        ("g", "r1", "a", "classic", "joining", 10, 2_000_000, "embedded"),
        ("g", "r2", "a", "classic", "syncing", 20, 500_000, "embedded"),
        ("g", "r1", "b", "consumer", "revoking", 15, 100_000, "embedded"),
        ("g", "r1", "b", "consumer", "stable", 16, 9_000_000, "embedded"),
        ("g", "r1", "b", "consumer", "awaiting-release", 17, 300_000, "embedded"),
        ("g", "r3", "a", "classic", "joining", 90, 1_000_000, "embedded"),
    ),
    MEMBERS: rows(
        "group_id member_id library protocol began_us ended_us road",
        ("g", "a", "kafka-python", "classic", 1, None, "embedded"),
        ("g", "b", "librdkafka", "consumer", 1, None, "embedded"),
        ("g", "c", "librdkafka", "consumer", 1, 50, "embedded"),
    ),
    STALLS: rows(
        "group_id rebalance_id partition protocol_after stall_us fetched_us",
        ("g", "r1", "t-0", "classic", 3_000_000, 50),
        ("g", "r2", "t-1", "consumer", 4_000_000, 40),
    ),
}
"""Three members in two waits: the first was cut short and went on as another, the second left most alone."""


def filled(root: Path, changed: Mapping[Table, Sequence[Mapping[str, object]]] | None = None) -> DuckDbViews:
    """Views of these tables, some of them changed."""
    return duckdb_over(root, {**TABLES, **(changed or {})})


def units(views: DuckDbViews, control: str, treatment: str, **choice: Measure | UnitKind) -> list[Unit]:
    """The units with their values in order of size: which member is first is nobody's matter."""
    measure, unit = choice.get("measure", Measure.MEMBER), choice.get("unit", UnitKind.REBALANCE)
    assert isinstance(measure, Measure)
    assert isinstance(unit, UnitKind)
    found = sample(views, Choice(control=control, treatment=treatment, measure=measure, unit=unit)).units
    return [
        Unit(at_us=one.at_us, control=tuple(sorted(one.control)), treatment=tuple(sorted(one.treatment)))
        for one in found
    ]


def test_unit_is_a_rebalance_with_all_members_of_that_time(tmp_path: Path) -> None:
    """Phases of a chain are added, `stable` left out; who was left alone is zero, who had gone is not there."""
    assert units(filled(tmp_path), CLASSIC, CONSUMER) == [
        Unit(at_us=10, control=(2.5,), treatment=(0.0, 0.4)),
        Unit(at_us=90, control=(1.0,), treatment=(0.0,)),
    ]


def test_unit_may_be_a_group_in_an_hour(tmp_path: Path) -> None:
    """Everything in it is added, and an hour without a rebalance is one in which nobody waited."""
    spans = rows(
        "group_id member_id protocol began_us ended_us",
        ("g", "a", "classic", 1, HOUR_US + 5),
        ("g", "b", "consumer", 1, HOUR_US + 5),
    )
    assert units(filled(tmp_path, {MEMBERS: spans}), CLASSIC, CONSUMER, unit=UnitKind.GROUP_HOUR) == [
        Unit(at_us=0, control=(3.5,), treatment=(0.4,)),
        Unit(at_us=HOUR_US, control=(0.0,), treatment=(0.0,)),
    ]


def test_partitions_stand_still_all_together(tmp_path: Path) -> None:
    """One value for each arm and rebalance; nothing where nothing moved."""
    views = filled(tmp_path)
    assert units(views, CLASSIC, CONSUMER, measure=Measure.PARTITION) == [
        Unit(at_us=10, control=(3.0,), treatment=(4.0,)),
    ]
    by_time = units(views, "at_us < 50", "at_us >= 50", measure=Measure.PARTITION)
    assert by_time == [Unit(at_us=10, control=(3.0, 4.0)), Unit(at_us=90, treatment=(0.0,))]


def test_only_phases_that_both_roads_show_are_compared(tmp_path: Path) -> None:
    """On road pass nobody can say how long a member waits for others: then it counts on neither side."""
    spans = rows(
        "group_id member_id protocol began_us road",
        ("g", "a", "classic", 1, "pass"),
        ("g", "b", "consumer", 1, "embedded"),
    )
    found = sample(filled(tmp_path, {MEMBERS: spans}), Choice(control=CLASSIC, treatment=CONSUMER))
    assert found.units[0] == Unit(at_us=10, control=(2.5,), treatment=(0.1,))
    assert found.notes == ("left out on both sides, because road pass does not show it: awaiting-release",)


def test_arms_of_different_groups_are_told_apart(tmp_path: Path) -> None:
    """A group that is slow by nature is no slow treatment: the judge can't tell, and says so."""
    changed = {
        MEMBERS: rows("group_id member_id protocol began_us", ("g", "a", "classic", 1), ("h", "b", "consumer", 1)),
        REBALANCES: rows(
            "group_id rebalance_id chain_id began_us ended_us", ("g", "r1", "r1", 10, 20), ("h", "r9", "r9", 12, 30)
        ),
    }
    choice = Choice(control="group_id = 'g' and member_id = 'a'", treatment="group_id = 'h'")
    found = sample(filled(tmp_path, changed), choice)
    assert [note for note in found.notes if "no group in common" in note]


@pytest.mark.parametrize("condition", ["colour = 'red'", "protocol ="])
@pytest.mark.parametrize("side", ["control", "treatment"])
def test_filter_that_is_none_is_one_sentence(tmp_path: Path, condition: str, side: str) -> None:
    """It names the filter that is at fault and the columns there are."""
    sides = {"control": CLASSIC, "treatment": CONSUMER, side: condition}
    with pytest.raises(AnalyticsError, match=rf"EB-ANALYTICS-020: the filter .{condition[:5]}.*over at_us, .*protocol"):
        sample(filled(tmp_path), Choice(control=sides["control"], treatment=sides["treatment"]))


def test_arms_that_overlap_are_refused(tmp_path: Path) -> None:
    """Nobody is control and treatment at once."""
    with pytest.raises(AnalyticsError, match=r"EB-ANALYTICS-022: .*both arms"):
        sample(filled(tmp_path), Choice(control="library = 'librdkafka'", treatment=CONSUMER))
