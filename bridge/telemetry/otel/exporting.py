"""Sends rebalances to an OpenTelemetry collector by OTLP, as spans and as metrics, from threads of its own.

What the collector does not take is dropped and logged by the library.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import NamedTuple

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricExporter, MetricReader, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan, SpanProcessor
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from bridge.telemetry.metric_names import BUCKETS_S
from bridge.telemetry.otel import names
from bridge.telemetry.otel.names import LINK, SCHEMA_URL, SCOPE
from bridge.telemetry.otel.spans import SpanId, SpanPlan, plan_spans
from bridge.telemetry.rebalances.gathering import Taker
from bridge.telemetry.rebalances.rebalance import Rebalance

GROUPS_MAX = 500
OTHERS = "(others)"
SECOND_US = 1_000_000


class MetricTaker:
    """Adds each rebalance up (`rebalances.gathering.Taker`)."""

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


HTTP, GRPC = "http/protobuf", "grpc"
PACKAGES: Mapping[str, str] = {
    HTTP: "opentelemetry.exporter.otlp.proto.http",
    GRPC: "opentelemetry.exporter.otlp.proto.grpc",
}
FLUSH_MS = 5_000
QUEUE_SPANS_MAX = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class Collector:
    """Where to: the base URL (OTLP over HTTP adds /v1/traces and /v1/metrics), the protocol, and headers to send."""

    endpoint: str
    protocol: str
    headers: Mapping[str, str]


class Exporters(NamedTuple):
    """One for each signal."""

    spans: SpanExporter
    metrics: MetricExporter


def make_exporters(collector: Collector) -> Exporters:
    """Exporters of the protocol; raises ModuleNotFoundError if the extra `otel` is not installed."""
    package = PACKAGES[collector.protocol]
    traces, metrics = import_module(f"{package}.trace_exporter"), import_module(f"{package}.metric_exporter")
    headers = dict(collector.headers)
    if collector.protocol == GRPC:
        is_plain = not collector.endpoint.startswith("https://")
        options = {"endpoint": collector.endpoint, "insecure": is_plain, "headers": headers}
        return Exporters(traces.OTLPSpanExporter(**options), metrics.OTLPMetricExporter(**options))
    base = collector.endpoint.rstrip("/")
    return Exporters(
        traces.OTLPSpanExporter(endpoint=f"{base}/v1/traces", headers=headers),
        metrics.OTLPMetricExporter(endpoint=f"{base}/v1/metrics", headers=headers),
    )


def open_takers(collector: Collector, version: str) -> tuple[Taker, ...]:
    """Those who send traces and metrics to the collector; raises ModuleNotFoundError without the extra `otel`."""
    exporters = make_exporters(collector)
    resource = Resource.create({"service.name": "epochbridge", "service.version": version})
    reader = PeriodicExportingMetricReader(exporters.metrics)
    return TraceTaker(exporters.spans, resource), MetricTaker(reader, resource)


class TraceTaker:
    """Makes a trace of each rebalance (`rebalances.gathering.Taker`)."""

    def __init__(self, exporter: SpanExporter, resource: Resource) -> None:
        self._processor: SpanProcessor = BatchSpanProcessor(exporter, max_queue_size=QUEUE_SPANS_MAX)
        self._resource = resource

    def take(self, rebalance: Rebalance) -> None:
        """Queue its spans."""
        for plan in plan_spans(rebalance):
            self._processor.on_end(make_span(plan, self._resource))

    def close(self) -> None:
        """Send what is queued."""
        self._processor.force_flush(FLUSH_MS)
        self._processor.shutdown()


def make_span(plan: SpanPlan, resource: Resource) -> ReadableSpan:
    """A span as the library exports it."""
    return ReadableSpan(
        name=plan.name,
        context=_context(plan.id),
        parent=None if plan.parent is None else _context(plan.parent),
        resource=resource,
        attributes=_values(plan.attributes),
        events=[Event(event.name, timestamp=_ns(event.at_us)) for event in plan.events],
        links=[Link(_context(link.to), {LINK: link.why}) for link in plan.links],
        kind=SpanKind.INTERNAL,
        status=Status(StatusCode.ERROR) if plan.is_error else Status(),
        start_time=_ns(plan.begin_us),
        end_time=_ns(plan.end_us),
        instrumentation_scope=InstrumentationScope(SCOPE, schema_url=SCHEMA_URL),
    )


def _context(known: SpanId) -> SpanContext:
    return SpanContext(known.trace, known.span, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))


def _values(
    attributes: Mapping[str, str | int | float | tuple[str, ...]],
) -> dict[str, str | int | float | Sequence[str]]:
    return dict(attributes)


def _ns(at_us: int) -> int:
    return at_us * 1_000
