"""What a comparison is about, out of the tables: units, with everybody who was there."""

import pytest

from bridge.analytics.compare.pairing import Unit
from bridge.analytics.compare.samples import Choice, Measure, UnitKind, member_waits, partition_waits, sample
from bridge.analytics.errors import AnalyticsError
from bridge.analytics.spark.column_types import conform
from bridge.analytics.tables.definitions import MEMBERS, PHASES, REBALANCES, STALLS, Table
from bridge.analytics.tables.store import Store
from tests.support.spark import python_nodes

CLASSIC, CONSUMER = "protocol = 'classic'", "protocol = 'consumer'"
HOUR_US = 3_600_000_000


def fill(store: Store, table: Table, rows: str) -> None:
    """Write rows, given as SQL values with their names."""
    store.replace(table, conform(table, store.spark.sql(f"select *, date '2025-11-21' as date from values {rows}")))


def filled(store: Store) -> Store:
    """Three members in two waits: the first was cut short and went on as another, the second left most alone."""
    fill(
        store,
        REBALANCES,
        """('g', 'r1', 'r1', 10L, 20L, 'embedded'), ('g', 'r2', 'r1', 20L, 30L, 'embedded'),
        ('g', 'r3', 'r3', 90L, 99L, 'embedded')
        as t(group_id, rebalance_id, chain_id, began_us, ended_us, road)""",
    )
    fill(
        store,
        PHASES,
        """('g', 'r1', 'a', 'classic', 'joining', 10L, 2000000L, 'embedded'),
        ('g', 'r2', 'a', 'classic', 'syncing', 20L, 500000L, 'embedded'),
        ('g', 'r1', 'b', 'consumer', 'revoking', 15L, 100000L, 'embedded'),
        ('g', 'r1', 'b', 'consumer', 'stable', 16L, 9000000L, 'embedded'),
        ('g', 'r1', 'b', 'consumer', 'awaiting-release', 17L, 300000L, 'embedded'),
        ('g', 'r3', 'a', 'classic', 'joining', 90L, 1000000L, 'embedded')
        as t(group_id, rebalance_id, member_id, protocol, phase, began_us, duration_us, road)""",
    )
    fill(
        store,
        MEMBERS,
        """('g', 'a', 'kafka-python', 'classic', 1L, null, 'embedded'),
        ('g', 'b', 'librdkafka', 'consumer', 1L, null, 'embedded'),
        ('g', 'c', 'librdkafka', 'consumer', 1L, 50L, 'embedded')
        as t(group_id, member_id, library, protocol, began_us, ended_us, road)""",
    )
    fill(
        store,
        STALLS,
        """('g', 'r1', 't-0', 'classic', 3000000L, 50L), ('g', 'r2', 't-1', 'consumer', 4000000L, 40L)
        as t(group_id, rebalance_id, partition, protocol_after, stall_us, fetched_us)""",
    )
    return store


def units(store: Store, control: str, treatment: str, **choice: Measure | UnitKind) -> list[Unit]:
    """The units with their values in order of size: which member is first is nobody's matter."""
    measure, unit = choice.get("measure", Measure.MEMBER), choice.get("unit", UnitKind.REBALANCE)
    assert isinstance(measure, Measure)
    assert isinstance(unit, UnitKind)
    found = sample(store, Choice(control=control, treatment=treatment, measure=measure, unit=unit)).units
    return [
        Unit(at_us=one.at_us, control=tuple(sorted(one.control)), treatment=tuple(sorted(one.treatment)))
        for one in found
    ]


def test_unit_is_a_rebalance_with_all_members_of_that_time(store: Store) -> None:
    """Phases of a chain are added, `stable` left out; who was left alone is zero, who had gone is not there."""
    filled(store)
    assert units(store, CLASSIC, CONSUMER) == [
        Unit(at_us=10, control=(2.5,), treatment=(0.0, 0.4)),
        Unit(at_us=90, control=(1.0,), treatment=(0.0,)),
    ]


def test_unit_may_be_a_group_in_an_hour(store: Store) -> None:
    """Everything in it is added, and an hour without a rebalance is one in which nobody waited."""
    filled(store)
    fill(
        store,
        MEMBERS,
        f"""('g', 'a', 'classic', 1L, {HOUR_US + 5}L), ('g', 'b', 'consumer', 1L, {HOUR_US + 5}L)
        as t(group_id, member_id, protocol, began_us, ended_us)""",
    )
    assert units(store, CLASSIC, CONSUMER, unit=UnitKind.GROUP_HOUR) == [
        Unit(at_us=0, control=(3.5,), treatment=(0.4,)),
        Unit(at_us=HOUR_US, control=(0.0,), treatment=(0.0,)),
    ]


def test_partitions_stand_still_all_together(store: Store) -> None:
    """One value for each arm and rebalance; nothing where nothing moved."""
    filled(store)
    assert units(store, CLASSIC, CONSUMER, measure=Measure.PARTITION) == [
        Unit(at_us=10, control=(3.0,), treatment=(4.0,)),
    ]
    by_time = units(store, "at_us < 50", "at_us >= 50", measure=Measure.PARTITION)
    assert by_time == [Unit(at_us=10, control=(3.0, 4.0)), Unit(at_us=90, treatment=(0.0,))]


def test_only_phases_that_both_roads_show_are_compared(store: Store) -> None:
    """On road pass nobody can say how long a member waits for others: then it counts on neither side."""
    filled(store)
    fill(
        store,
        MEMBERS,
        """('g', 'a', 'classic', 1L, 'pass'), ('g', 'b', 'consumer', 1L, 'embedded')
        as t(group_id, member_id, protocol, began_us, road)""",
    )
    found = sample(store, Choice(control=CLASSIC, treatment=CONSUMER))
    assert found.units[0] == Unit(at_us=10, control=(2.5,), treatment=(0.1,))
    assert found.notes == ("left out on both sides, because road pass does not show it: awaiting-release",)


def test_arms_of_different_groups_are_told_apart(store: Store) -> None:
    """A group that is slow by nature is no slow treatment: the judge can't tell, and says so."""
    filled(store)
    fill(
        store,
        MEMBERS,
        "('g', 'a', 'classic', 1L), ('h', 'b', 'consumer', 1L) as t(group_id, member_id, protocol, began_us)",
    )
    fill(
        store,
        REBALANCES,
        """('g', 'r1', 'r1', 10L, 20L), ('h', 'r9', 'r9', 12L, 30L)
        as t(group_id, rebalance_id, chain_id, began_us, ended_us)""",
    )
    found = sample(store, Choice(control="group_id = 'g' and member_id = 'a'", treatment="group_id = 'h'"))
    assert [note for note in found.notes if "no group in common" in note]


@pytest.mark.parametrize("condition", ["colour = 'red'", "protocol ="])
def test_filter_that_is_none_is_one_sentence(store: Store, condition: str) -> None:
    """It names the filter and the columns there are."""
    filled(store)
    with pytest.raises(AnalyticsError, match=r"EB-ANALYTICS-020: .*protocol"):
        sample(store, Choice(control=condition, treatment=CLASSIC))


def test_arms_that_overlap_are_refused(store: Store) -> None:
    """Nobody is control and treatment at once."""
    filled(store)
    with pytest.raises(AnalyticsError, match=r"EB-ANALYTICS-022: .*both arms"):
        sample(store, Choice(control="library = 'librdkafka'", treatment=CONSUMER))


def test_no_python_runs_on_the_way(store: Store) -> None:
    """Native expressions only."""
    filled(store)
    for unit in UnitKind:
        assert python_nodes(member_waits(store, unit, [])) == []
        assert python_nodes(partition_waits(store, unit)) == []
