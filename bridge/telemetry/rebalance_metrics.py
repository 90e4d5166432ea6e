"""Adds rebalances up for Prometheus: histograms with an example's trace, counters, and the last epochs.

A label holds a group at most, and of very many groups only the first.
"""

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from bridge.telemetry import metric_names as names
from bridge.telemetry.metric_names import BUCKETS_S, MetricName
from bridge.telemetry.otel.spans import root_id
from bridge.telemetry.rebalances.rebalance import Rebalance
from bridge.telemetry.schema.terms import Cause, Outcome, Protocol

GROUPS_MAX = 500
OTHERS = "(others)"
TEXT_CHARS_MAX = 249
SECOND_US = 1_000_000
MIXED = "mixed"


class RebalanceMetrics:
    """What all rebalances since the start come to (`rebalances.gathering.Taker`); any thread may read it.

    `has_traces` says that traces are sent somewhere, so that an example of one leads to it; `is_fed` that rebalances
    come at all.
    """

    def __init__(self, *, has_traces: bool = False, is_fed: bool = True) -> None:
        self.registry = CollectorRegistry()
        self._has_traces = has_traces
        self._is_fed = is_fed
        self._known: set[tuple[str, tuple[str, ...]]] = set()
        self._groups: set[str] = set()
        self._duration = self._histogram(names.DURATION)
        self._stall = self._histogram(names.STALL)
        self._waited = self._histogram(names.WAITED)
        self._rebalances = self._counter(names.REBALANCES)
        self._moved = self._counter(names.MOVED)
        self._forced = self._counter(names.FORCED)
        self._disturbed = self._counter(names.DISTURBED)
        self._epoch = self._gauge(names.EPOCH)
        self._generation = self._gauge(names.GENERATION)
        self._consumer = self._counter(names.KAFKA_CONSUMER_REBALANCES)
        self._classic = self._counter(names.KAFKA_CLASSIC_REBALANCES)

    def expect(self, group_id: str, protocols: tuple[str, ...]) -> None:
        """Show a group's figures from 0 on, before it has had a rebalance under these protocols.

        `increase()` knows a figure from its second sample: one that began with its first rebalance has lost that.
        """
        if not self._is_fed or (group_id, protocols) in self._known:
            return
        group = self.label(group_id)
        if group == OTHERS:
            return
        self._known.add((group_id, protocols))
        for cause in Cause:
            self._rebalances.labels(group, cause.value)
        for counter in (self._moved, self._forced, self._waited):
            counter.labels(group)
        for protocol in protocols:
            self._duration.labels(group, protocol)
            self._stall.labels(group, protocol)
            self._disturbed.labels(group, protocol)

    def take(self, rebalance: Rebalance) -> None:
        """Add a rebalance that is over."""
        group, explained = self.label(rebalance.group_id), rebalance.explained
        example = {"trace_id": f"{root_id(rebalance.rebalance_id).trace:032x}"} if self._has_traces else None
        protocol = protocol_of(member.protocol for member in rebalance.members)
        self._duration.labels(group, protocol).observe(rebalance.duration_us / SECOND_US, example)
        self._waited.labels(group).observe(explained.waited_us / SECOND_US, example)
        self._rebalances.labels(group, explained.cause.value).inc()
        self._moved.labels(group).inc(max(0, rebalance.moved))
        self._forced.labels(group).inc(max(0, rebalance.forced_minimum))
        self._epoch.labels(group).set(rebalance.epoch)
        for member in rebalance.touched:
            self._stall.labels(group, member.protocol.value).observe(member.stall_us / SECOND_US, example)
            self._disturbed.labels(group, member.protocol.value).inc(member.is_disturbed)
        generations = [member.generation for member in rebalance.members if member.generation >= 0]
        if generations:
            self._generation.labels(group).set(max(generations))
        self._count_as_kafka(rebalance)

    def _count_as_kafka(self, rebalance: Rebalance) -> None:
        if any(member.member_epoch >= 0 for member in rebalance.members):
            self._consumer.inc()
        elif rebalance.outcome is Outcome.COMPLETED:
            self._classic.inc()

    def close(self) -> None:
        """Nothing is held back."""

    def label(self, group_id: str) -> str:
        """The group, or, when there are very many, all others together."""
        if group_id and len(self._groups) < GROUPS_MAX:
            self._groups.add(group_id)
        return group_id[:TEXT_CHARS_MAX] if group_id in self._groups else OTHERS

    def _histogram(self, metric: MetricName) -> Histogram:
        return Histogram(metric.name, metric.meaning, metric.labels, registry=self.registry, buckets=BUCKETS_S)

    def _counter(self, metric: MetricName) -> Counter:
        return Counter(metric.name, metric.meaning, metric.labels, registry=self.registry)

    def _gauge(self, metric: MetricName) -> Gauge:
        return Gauge(metric.name, metric.meaning, metric.labels, registry=self.registry)


def protocol_of(protocols: Iterable[Protocol]) -> str:
    """What a group's members speak: classic, consumer, mixed, or "" if none showed."""
    spoken = sorted({protocol.value for protocol in protocols})
    return spoken[0] if len(spoken) == 1 else MIXED if spoken else ""
