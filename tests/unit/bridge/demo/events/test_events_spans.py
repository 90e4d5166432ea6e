"""Joining records into spans. It must not know whether they were written or read."""

from bridge.demo.events import Partition, Span, SpanCollector

P0, P1 = Partition("orders", 0), Partition("orders", 1)


def test_collector_consecutive_records_become_one_span_per_partition() -> None:
    """Interleaved partitions don't break each other's spans."""
    collector = SpanCollector()
    for offset in range(3):
        collector.add(P0, offset)
        collector.add(P1, offset + 10)
    assert collector.take() == (Span(P0, 0, 2), Span(P1, 10, 12))


def test_collector_gap_and_repeat_open_new_spans() -> None:
    """A span never hides a missing or a repeated record."""
    collector = SpanCollector()
    for offset in (0, 1, 3, 3):
        collector.add(P0, offset)
    assert collector.take() == (Span(P0, 0, 1), Span(P0, 3, 3), Span(P0, 3, 3))


def test_collector_taken_starts_anew() -> None:
    """Each record is reported once."""
    collector = SpanCollector()
    collector.add(P0, 0)
    collector.take()
    collector.add(P0, 1)
    assert collector.take() == (Span(P0, 1, 1),)
    assert collector.take() == ()
