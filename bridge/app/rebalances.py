"""Who makes something of rebalances that are over: the metrics, and the collector that the configuration names."""

from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec

from bridge.config.configuration import Config
from bridge.config.secrets import split_login, without_login
from bridge.net.cluster import OWN_SOFTWARE
from bridge.telemetry.event_log.sinks import Sink, SinkUnusable
from bridge.telemetry.group_figures import GroupFigures
from bridge.telemetry.rebalance_metrics import RebalanceMetrics
from bridge.telemetry.rebalances.gathering import RebalanceSink, Taker
from bridge.telemetry.request_times import RequestTimes

SCHEMES = ("http://", "https://")
LIBRARIES = ("opentelemetry", "opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")


@dataclass(frozen=True, slots=True)
class Figures:
    """What is measured while the bridge runs."""

    rebalances: RebalanceMetrics = field(default_factory=RebalanceMetrics)
    groups: GroupFigures = field(default_factory=GroupFigures)
    times: RequestTimes = field(default_factory=RequestTimes)


def rebalance_sinks(config: Config, figures: Figures, now_us: Callable[[], int]) -> Iterator[Sink]:
    """The places where events become rebalances and figures, if anybody wants some; raises SinkUnusable."""
    takers: list[Taker] = [figures.rebalances, figures.groups] if config.settings.metrics_rebalances else []
    if config.settings.otel_endpoint:
        takers += _collectors(config)
    if takers:
        yield RebalanceSink(takers, now_us)
    if config.settings.metrics_rebalances:
        yield figures.groups


def _collectors(config: Config) -> Sequence[Taker]:
    endpoint = config.settings.otel_endpoint
    if not endpoint.startswith(SCHEMES):
        raise SinkUnusable(
            f"EB-OTEL-004: otel.endpoint is {without_login(endpoint)!r}, which is no URL of a collector; "
            "write for instance http://127.0.0.1:4318"
        )
    if not all(find_spec(library) for library in LIBRARIES):
        raise SinkUnusable(
            "EB-OTEL-001: otel.endpoint needs OpenTelemetry, which is not installed; "
            "run `pip install 'epochbridge[otel]'`"
        )
    settings = config.settings
    headers = parse_headers(settings.otel_headers)
    endpoint, login = split_login(endpoint)
    if login is not None:
        headers = {"authorization": f"Basic {b64encode(login).decode()}", **headers}
    # Only who asks for it needs the library behind it.
    exporting = import_module("bridge.telemetry.otel.exporting")
    collector = exporting.Collector(endpoint=endpoint, protocol=settings.otel_protocol, headers=headers)
    takers: Sequence[Taker] = exporting.open_takers(collector, OWN_SOFTWARE.version)
    return takers


def parse_headers(pairs: Sequence[str]) -> Mapping[str, str]:
    """Headers of NAME=VALUE pairs; raises SinkUnusable, which does not tell the value: it may be a token."""
    headers: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise SinkUnusable(
                f"EB-OTEL-002: otel.headers has an entry of {len(pair)} characters that is no NAME=VALUE; "
                "write for instance authorization=Bearer …"
            )
        headers[name.strip().lower()] = value.strip()
    return headers
