"""With which library and protocol a member was there, and how long."""

from dataclasses import replace

from bridge.analytics.tables.members import members
from bridge.analytics.tables.store import Store
from bridge.telemetry.schema.facts import Event, MemberLeft
from bridge.telemetry.schema.terms import Departure, Protocol, Road
from tests.support.fleet_words import MemberWords
from tests.support.spark import START_US, python_nodes, stamped, taken

JOINED = MemberWords("g", "", 1, Protocol.CLASSIC, "anna").joined(0)
UPGRADED = replace(JOINED, library_version="3.0", protocol=Protocol.CONSUMER)
LEFT = MemberLeft(
    group_id="g", road=Road.EMBEDDED, member_id="anna", protocol=Protocol.CONSUMER, departure=Departure.STATIC_LEFT
)


def spans(store: Store, events: list[Event]) -> list[tuple[object, ...]]:
    """Version, protocol, begin and length in ms, departure."""
    rows = members(taken(store, events)).sort("began_us").collect()
    return [
        (row["library_version"], row["protocol"], row["began_us"] - START_US, row["duration_us"], row["departure"])
        for row in rows
    ]


def test_member_has_a_span_per_state(store: Store) -> None:
    """What it tells again changes nothing; another version or protocol begins a span."""
    assert spans(store, stamped([(1, JOINED), (3, JOINED), (9, UPGRADED), (20, LEFT)])) == [
        ("2.16.0", "classic", 1_000, 8_000, None),
        ("3.0", "consumer", 9_000, 11_000, "static-left"),
    ]


def test_member_that_comes_back_has_a_new_span(store: Store) -> None:
    """The same state, but it was away."""
    assert spans(store, stamped([(1, JOINED), (3, LEFT), (9, JOINED)])) == [
        ("2.16.0", "classic", 1_000, 2_000, "static-left"),
        ("2.16.0", "classic", 9_000, None, None),
    ]


def test_member_goes_on_over_a_restart_of_the_bridge(store: Store) -> None:
    """Nothing changed for it."""
    later = stamped([(1, JOINED), (2, LEFT)], "b2", START_US + 1_000_000)
    assert spans(store, [*stamped([(1, JOINED)]), *later]) == [("2.16.0", "classic", 1_000, 1_001_000, "static-left")]


def test_members_call_no_python(store: Store) -> None:
    """Native expressions only."""
    assert python_nodes(members(taken(store, stamped([JOINED])))) == []
