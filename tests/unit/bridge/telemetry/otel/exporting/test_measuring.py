"""OpenTelemetry metrics read from memory."""

from dataclasses import replace

from opentelemetry.sdk.metrics.export import HistogramDataPoint, InMemoryMetricReader
from opentelemetry.sdk.resources import Resource

from bridge.telemetry.metric_names import BUCKETS_S
from bridge.telemetry.otel import names
from bridge.telemetry.otel.exporting import GROUPS_MAX, OTHERS, MetricTaker
from bridge.telemetry.rebalances.assembling import assemble
from tests.support.event_stories import cooperative_handover


def groups_seen(reader: InMemoryMetricReader) -> set[object]:
    """The group labels of the durations."""
    data = reader.get_metrics_data()
    assert data is not None
    return {
        (point.attributes or {})[names.GROUP]
        for metric in data.resource_metrics[0].scope_metrics[0].metrics
        if metric.name == names.DURATION
        for point in metric.data.data_points
    }


def test_groups_beyond_the_cap_are_others() -> None:
    """A cluster with ten thousand groups costs no more than five hundred."""
    (rebalance,) = assemble(cooperative_handover().events)
    reader = InMemoryMetricReader()
    taker = MetricTaker(reader, Resource.get_empty())
    for number in range(GROUPS_MAX + 20):
        taker.take(replace(rebalance, group_id=f"g{number}", members=()))
    taker.take(replace(rebalance, group_id="g0"))
    seen = groups_seen(reader)
    assert (len(seen), OTHERS in seen) == (GROUPS_MAX + 1, True)


def test_seconds_have_buckets_for_seconds() -> None:
    """Bounds of 0, 5, 10 to 10,000 would put every rebalance into one or two."""
    (rebalance,) = assemble(cooperative_handover().events)
    reader = InMemoryMetricReader()
    MetricTaker(reader, Resource.get_empty()).take(rebalance)
    data = reader.get_metrics_data()
    assert data is not None
    bounds = {
        tuple(point.explicit_bounds)
        for metric in data.resource_metrics[0].scope_metrics[0].metrics
        for point in metric.data.data_points
        if isinstance(point, HistogramDataPoint)
    }
    assert bounds == {BUCKETS_S}
