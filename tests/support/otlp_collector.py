"""An OTLP collector's stand-in over HTTP and gRPC: keeps what it receives, decoded by the protocol's own messages."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from gzip import decompress

import grpc
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.support.http_answers import Answers, serving


@dataclass(slots=True)
class Received:
    """What has come, and under which address to send."""

    endpoint: str = ""
    traces: list[ExportTraceServiceRequest] = field(default_factory=list)
    metrics: list[ExportMetricsServiceRequest] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    def spans(self) -> list[Span]:
        """All spans, in the order they came."""
        return [
            span
            for request in self.traces
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def metric_values(self) -> dict[str, Metric]:
        """Metrics by name, the latest of each."""
        return {
            metric.name: metric
            for request in self.metrics
            for resource in request.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }


@contextmanager
def http_collector() -> Iterator[Received]:
    """OTLP over HTTP at a port of loopback."""
    received = Received()

    class Post(Answers):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                body = decompress(body)
            received.headers.append({name.lower(): value for name, value in self.headers.items()})
            if self.path == "/v1/traces":
                received.traces.append(ExportTraceServiceRequest.FromString(body))
            elif self.path == "/v1/metrics":
                received.metrics.append(ExportMetricsServiceRequest.FromString(body))
            self.send_response(200 if self.path in ("/v1/traces", "/v1/metrics") else 404)
            self.send_header("content-type", "application/x-protobuf")
            self.send_header("content-length", "0")
            self.end_headers()

    with serving(Post) as address:
        received.endpoint = f"http://{address}"
        yield received


@contextmanager
def grpc_collector() -> Iterator[Received]:
    """OTLP over gRPC at a port of loopback."""
    received = Received()

    def take_traces(request: ExportTraceServiceRequest, context: grpc.ServicerContext) -> ExportTraceServiceResponse:
        received.headers.append({str(key): str(value) for key, value in context.invocation_metadata()})
        received.traces.append(request)
        return ExportTraceServiceResponse()

    def take_metrics(request: ExportMetricsServiceRequest, _: grpc.ServicerContext) -> ExportMetricsServiceResponse:
        received.metrics.append(request)
        return ExportMetricsServiceResponse()

    server = grpc.server(ThreadPoolExecutor(2))
    traces = (take_traces, ExportTraceServiceRequest.FromString, ExportTraceServiceResponse.SerializeToString)
    metrics = (take_metrics, ExportMetricsServiceRequest.FromString, ExportMetricsServiceResponse.SerializeToString)
    for signal, (take, read, write) in {"trace.v1.Trace": traces, "metrics.v1.Metrics": metrics}.items():
        method = grpc.unary_unary_rpc_method_handler(take, request_deserializer=read, response_serializer=write)
        service = f"opentelemetry.proto.collector.{signal}Service"
        server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(service, {"Export": method})])
    received.endpoint = f"http://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        yield received
    finally:
        server.stop(None).wait()
