"""Partitions that go away and come back."""

from dataclasses import replace

from bridge.analytics.tables.definitions import FLAP_US
from bridge.analytics.tables.flaps import flaps
from bridge.analytics.tables.store import Store
from bridge.telemetry.schema.terms import Protocol
from tests.support.fleet_words import MemberWords
from tests.support.spark import START_US, python_nodes, stamped, taken

ANNA = MemberWords("g", "r1", 1, Protocol.CLASSIC, "anna").assigned(["t-0"], 1)
AGAIN = MemberWords("g", "r1", 1, Protocol.CLASSIC, "anna-2").assigned(["t-0"], 1)
BORIS = MemberWords("g", "r2", 1, Protocol.CLASSIC, "boris").assigned(["t-0"], 1)
WINDOW_MS = FLAP_US // 1_000


def test_partition_that_comes_back_in_time_is_a_flap(store: Store) -> None:
    """Anna, boris, anna; that she was given it twice in a row is nothing."""
    (row,) = flaps(taken(store, stamped([(1, ANNA), (2, ANNA), (5, BORIS), (9, ANNA)]))).collect()
    assert (row["owner"], row["via"], row["away_us"], row["partition"]) == ("anna", "boris", 4_000, "t-0")


def test_partition_that_comes_back_late_is_none(store: Store) -> None:
    """The window counts from the loss; its end is in it."""
    assert flaps(taken(store, stamped([(1, ANNA), (5, BORIS), (5 + WINDOW_MS + 1, ANNA)]))).count() == 0


def test_partition_that_comes_back_at_the_end_of_the_window_is_one(store: Store) -> None:
    """The bound itself."""
    assert flaps(taken(store, stamped([(1, ANNA), (5, BORIS), (5 + WINDOW_MS, ANNA)]))).count() == 1


def test_flap_over_a_restart_of_the_bridge_goes_by_the_wall_clock(store: Store) -> None:
    """Left under one run, back under the next, whose monotonic clock begins anew."""
    later = stamped([(1, ANNA)], "b2", START_US + 2_000_000)
    (row,) = flaps(taken(store, [*stamped([(1, ANNA), (5, BORIS)]), *later])).collect()
    assert (row["away_us"], row["left_us"] - START_US, row["back_event"]) == (1_996_000, 5_000, "b2-1")


def test_restart_of_a_static_member_is_no_flap(store: Store) -> None:
    """It has another member id and the same instance id."""
    static, again = replace(ANNA, instance_id="i"), replace(AGAIN, instance_id="i")
    assert flaps(taken(store, stamped([static, again, static]))).count() == 0
    assert python_nodes(flaps(taken(store, stamped([static])))) == []
