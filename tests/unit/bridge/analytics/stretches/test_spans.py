"""Where events of groups and runs lie."""

import pyarrow as pa

from bridge.analytics.stretches.spans import CHUNK, GroupSpan, Spans, in_all, spans_of


def events(*rows: tuple[str | None, str, int]) -> pa.RecordBatch:
    """Events by their group, run and number."""
    names = ("group_id", "boot", "number")
    schema = pa.schema([("group_id", pa.string()), ("boot", pa.string()), ("number", pa.int64())])
    return pa.RecordBatch.from_pylist([dict(zip(names, row, strict=True)) for row in rows], schema)


def test_group_lies_between_two_numbers_of_each_run() -> None:
    """In whatever order they are; an event of no group is in a chunk, and in no span."""
    found = spans_of(
        events(("g", "b1", 7), ("h", "b1", 5), ("g", "b2", CHUNK), ("g", "b1", 2), (None, "b1", 2 * CHUNK))
    )
    spans = {GroupSpan("g", "b1", 2, 7), GroupSpan("h", "b1", 5, 5), GroupSpan("g", "b2", CHUNK, CHUNK)}
    assert {*found.groups} == spans
    assert len(found.groups) == len(spans)
    assert found.chunks == {("b1", 0), ("b1", 2), ("b2", 1)}


def test_spans_of_parts_are_those_of_all() -> None:
    """A group may be there twice then."""
    one, other = spans_of(events(("g", "b1", 1))), spans_of(events(("g", "b1", 2), ("g", "b1", CHUNK)))
    both = in_all([one, other])
    assert both.groups == (GroupSpan("g", "b1", 1, 1), GroupSpan("g", "b1", 2, CHUNK))
    assert both.chunks == {("b1", 0), ("b1", 1)}
    assert spans_of(events()) == in_all([]) == Spans()
