"""When runs began, and how their clocks stood to one another."""

import pyarrow as pa

from bridge.analytics.stretches.clocks import RunClocks, by_run, clocks_of


def events(*rows: tuple[str, int, int, int]) -> pa.RecordBatch:
    """Events by their run, number and clocks."""
    names = ("boot", "number", "wall_us", "mono_us")
    return pa.RecordBatch.from_pylist([dict(zip(names, row, strict=True)) for row in rows])


def test_run_began_with_its_least_number() -> None:
    """Whatever part that is in; and its clocks are those of all parts."""
    early, late = events(("b1", 2, 100, 60), ("b2", 9, 7, 7)), events(("b1", 1, 80, 50), ("b1", 3, 90, 80))
    found = by_run([*clocks_of(early), *clocks_of(late)])
    assert found == {"b1": RunClocks("b1", 1, 80, 10, 40), "b2": RunClocks("b2", 9, 7, 0, 0)}
    assert by_run([*clocks_of(late), *clocks_of(early)]) == found
