"""Rebalances as OpenTelemetry metrics, sent every minute and at the end.

It must not know how they are sent; attributes hold a group at most, never a member.
"""

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricReader
from opentelemetry.sdk.resources import Resource

from bridge.telemetry.metric_names import BUCKETS_S
from bridge.telemetry.rebalances.stories import Rebalance
from bridge.telemetry.traces import names

GROUPS_MAX = 500
OTHERS = "(others)"
SECOND_US = 1_000_000


class MetricTaker:
    """Adds each rebalance up (`rebalance_sink.Taker`)."""

    def __init__(self, reader: MetricReader, resource: Resource) -> None:
        self._provider = MeterProvider([reader], resource)
        meter = self._provider.get_meter(names.SCOPE, schema_url=names.SCHEMA_URL)
        self._groups: set[str] = set()
        # The library's own bounds are 0, 5, 10 to 10,000: made for milliseconds, they put all rebalances into one.
        self._duration, self._stall = (
            meter.create_histogram(name, "s", names.METRICS[name], explicit_bucket_boundaries_advisory=BUCKETS_S)
            for name in (names.DURATION, names.MEMBER_STALL)
        )
        self._count = meter.create_counter(names.COUNT, "{rebalance}", names.METRICS[names.COUNT])
        self._moved = meter.create_counter(names.MOVES, "{partition}", names.METRICS[names.MOVES])
        self._forced = meter.create_counter(names.FORCED_MOVES, "{partition}", names.METRICS[names.FORCED_MOVES])

    def take(self, rebalance: Rebalance) -> None:
        """Add a rebalance."""
        group = {names.SYSTEM: "kafka", names.GROUP: self._label(rebalance.group_id)}
        self._duration.record(rebalance.duration_us / SECOND_US, group)
        self._count.add(1, {**group, names.CAUSE: rebalance.explained.cause.value})
        if rebalance.moved >= 0:
            self._moved.add(rebalance.moved, group)
            self._forced.add(rebalance.forced_minimum, group)
        for member in rebalance.touched:
            self._stall.record(member.stall_us / SECOND_US, {**group, names.PROTOCOL: member.protocol.value})

    def close(self) -> None:
        """Send what has come together."""
        self._provider.shutdown()

    def _label(self, group_id: str) -> str:
        """The group, or, when there are very many, all others together."""
        if len(self._groups) < GROUPS_MAX:
            self._groups.add(group_id)
        return group_id if group_id in self._groups else OTHERS
