"""Joins single records into spans of consecutive offsets, so that an event log stays short.
It must not know whether they were written or read.
"""

from typing import NamedTuple

from bridge.demo.events import Partition


class Span(NamedTuple):
    """Records of one partition at consecutive offsets, both ends included."""

    partition: Partition
    first: int
    last: int


class SpanCollector:
    """Collects records in the order they come; O(1) per record."""

    def __init__(self) -> None:
        self._open: dict[Partition, Span] = {}
        self._closed: list[Span] = []

    def add(self, partition: Partition, offset: int) -> None:
        """Count one record; an offset that does not follow the last one of its partition opens a new span."""
        span = self._open.get(partition)
        if span is None:
            self._open[partition] = Span(partition, offset, offset)
        elif offset == span.last + 1:
            self._open[partition] = span._replace(last=offset)
        else:
            self._closed.append(span)
            self._open[partition] = Span(partition, offset, offset)

    def take(self) -> tuple[Span, ...]:
        """The spans since the last call, in order per partition."""
        spans = (*self._closed, *self._open.values())
        self._closed = []
        self._open = {}
        return spans
