"""Hands ended rebalances to those who trace and measure them, in the thread of the event log.

One that fails is logged and costs the others nothing.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Protocol

from bridge.telemetry.event_log.sinks import Fate, Line
from bridge.telemetry.rebalances.gathering import Gatherer
from bridge.telemetry.rebalances.rebalance import Rebalance

LOG = logging.getLogger("epochbridge.telemetry")
FAILURES_LOGGED_MAX = 10


class Taker(Protocol):
    """Somebody who makes something of rebalances."""

    def take(self, rebalance: Rebalance) -> None:
        """A rebalance is over."""
        ...

    def close(self) -> None:
        """No more will come: send what is held, within seconds."""
        ...


class RebalanceSink:
    """A place for events (`event_log.sinks.Sink`) that keeps none."""

    def __init__(self, takers: Sequence[Taker], now_us: Callable[[], int]) -> None:
        self.fate = Fate()
        self._takers = tuple(takers)
        self._now_us = now_us
        self._gatherer = Gatherer()

    def write(self, lines: Sequence[Line]) -> None:
        """See `Sink.write`."""
        for line in lines:
            self._gatherer.add(line.event)
        self.tend()

    def tend(self) -> None:
        """See `Sink.tend`."""
        self._hand_out(self._gatherer.settle(self._now_us()))

    def close(self) -> None:
        """See `Sink.close`."""
        self._hand_out(self._gatherer.flush())
        for taker in self._takers:
            self._guarded(taker.close)

    def _hand_out(self, rebalances: Iterable[Rebalance]) -> None:
        for rebalance in rebalances:
            for taker in self._takers:
                self._guarded(partial(taker.take, rebalance))

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception:
            self.fate.failures += 1
            if self.fate.failures <= FAILURES_LOGGED_MAX:
                LOG.exception("EB-OTEL-003: a rebalance could not be traced or measured; please report this")
