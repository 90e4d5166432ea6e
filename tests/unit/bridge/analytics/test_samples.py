"""The times that a comparison is about, out of the tables."""

import pytest

from bridge.analytics.analytics_error import AnalyticsError
from bridge.analytics.samples import Measure, member_stalls, partition_stalls, sample
from bridge.analytics.spark_types import conform
from bridge.analytics.store import Store
from bridge.analytics.tables import MEMBERS, PHASES, STALLS, Table
from tests.support.spark import python_nodes


def fill(store: Store, table: Table, rows: str) -> None:
    """Write rows, given as SQL values with their names."""
    store.replace(table, conform(table, store.spark.sql(f"select *, date '2025-11-21' as date from values {rows}")))


def filled(store: Store) -> Store:
    """Two members in two rebalances, one of them slow, and two stalls."""
    fill(
        store,
        PHASES,
        """('g', 'r1', 'a', 'classic', 'joining', 10L, 2000000L), ('g', 'r1', 'a', 'classic', 'syncing', 20L, 500000L),
        ('g', 'r1', 'b', 'consumer', 'revoking', 15L, 100000L), ('g', 'r1', 'b', 'consumer', 'stable', 16L, 9000000L),
        ('g', 'r2', 'a', 'classic', 'joining', 90L, 1000000L)
        as t(group_id, rebalance_id, member_id, protocol, phase, began_us, duration_us)""",
    )
    fill(
        store,
        MEMBERS,
        "('g', 'a', 'kafka-python', 1L), ('g', 'b', 'librdkafka', 1L) as t(group_id, member_id, library, began_us)",
    )
    fill(
        store,
        STALLS,
        """('g', 't-0', 'classic', 3000000L, 50L), ('g', 't-1', 'consumer', 4000000L, 40L)
        as t(group_id, partition, protocol_after, stall_us, fetched_us)""",
    )
    return store


def test_member_stall_is_all_the_time_in_which_it_did_not_work(store: Store) -> None:
    """Phases of one rebalance are added, oldest rebalance first, `stable` left out."""
    filled(store)
    assert sample(store, Measure.MEMBER, "protocol = 'classic'") == [2.5, 1.0]
    assert sample(store, Measure.MEMBER, "library = 'librdkafka'") == [0.1]


def test_partition_stall_is_that_of_the_table(store: Store) -> None:
    """In the order of the fetches that ended them."""
    filled(store)
    assert sample(store, Measure.PARTITION, "group_id = 'g'") == [4.0, 3.0]
    assert sample(store, Measure.PARTITION, "protocol = 'classic'") == [3.0]


@pytest.mark.parametrize("condition", ["colour = 'red'", "protocol ="])
def test_filter_that_is_none_is_one_sentence(store: Store, condition: str) -> None:
    """It names the filter and the columns there are."""
    filled(store)
    with pytest.raises(AnalyticsError, match=r"EB-ANALYTICS-020: .*protocol"):
        sample(store, Measure.MEMBER, condition)


def test_no_python_runs_on_the_way(store: Store) -> None:
    """Native expressions only."""
    filled(store)
    assert python_nodes(member_stalls(store.read(PHASES), store.read(MEMBERS))) == []
    assert python_nodes(partition_stalls(store.read(STALLS))) == []
