"""The bridge's counters as Prometheus metrics: every name, its kind and meaning, read at the moment of a scrape.

It must not know who counts or who asks; a label holds a group at most, never a member.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from bridge.session.counters import Statistics
from bridge.telemetry.passing import PassingLog

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
PREFIX = "epochbridge_"
GROUPS_MAX = 500
"""Groups that are shown one by one; the rest is added up under `OTHERS`."""
OTHERS = "(others)"
TEXT_CHARS_MAX = 249
"""Longest group id in a label, as long as Kafka lets a topic name be."""

COUNTERS: dict[str, str] = {
    "connections_accepted": "Client connections that were accepted.",
    "requests": "Requests of clients.",
    "requests_relayed": "Requests that went to the broker.",
    "requests_answered": "Requests that the bridge answered itself.",
    "bytes_from_clients": "Bytes received from clients.",
    "bytes_to_clients": "Bytes sent to clients.",
    "late_replies": "Replies whose connection was gone.",
}
GAUGES: dict[str, str] = {
    "connections_open": "Client connections that are open.",
    "bytes_held": "Bytes in the buffers of all connections.",
    "bytes_held_peak": "Most bytes that any single connection held.",
}
CLOSED = "connections_closed"
GROUPS = "groups"
GROUP_MEMBERS = "group_members"
PASSED = "group_requests_passed"
CONVERSIONS = "conversions"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCount:
    """One group that the bridge coordinates: its state and its members of either protocol."""

    group_id: str
    state: str
    classic_members: int
    consumer_members: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Readings:
    """Where the figures come from; each is called once a scrape.

    `conversions` counts by the kind that a group became or was to become, and by `done` or the reason why not.
    """

    statistics: Callable[[], Statistics]
    groups: Callable[[], Iterable[GroupCount]]
    passing: PassingLog
    conversions: Callable[[], Mapping[tuple[str, str], int]] = dict


class PrometheusMetrics:
    """All metrics as the text that Prometheus reads."""

    content_type = CONTENT_TYPE

    def __init__(self, readings: Readings) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(BridgeCollector(readings))

    def text(self) -> bytes:
        """The metrics of this moment."""
        return generate_latest(self._registry)


class BridgeCollector(Collector):
    """Turns readings into metric families; keeps nothing between scrapes."""

    def __init__(self, readings: Readings) -> None:
        self._readings = readings

    def describe(self) -> list[Metric]:
        """Nothing: the readings are not asked before the first scrape."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Every family, always in the same order."""
        yield from _of_connections(self._readings.statistics())
        yield from _of_groups(list(self._readings.groups()))
        yield _of_conversions(self._readings.conversions())
        yield _of_passing(self._readings.passing)


def _of_connections(statistics: Statistics) -> Iterator[Metric]:
    for name, text in COUNTERS.items():
        yield CounterMetricFamily(PREFIX + name, text, value=getattr(statistics, name))
    for name, text in GAUGES.items():
        yield GaugeMetricFamily(PREFIX + name, text, value=getattr(statistics, name))
    closed = CounterMetricFamily(PREFIX + CLOSED, "Client connections that ended.", labels=["reason", "code"])
    for reason, count in sorted(statistics.closed.items(), key=lambda item: item[0].name):
        closed.add_metric([reason.name.lower(), reason.code], count)
    yield closed


def _of_groups(counts: list[GroupCount]) -> Iterator[Metric]:
    by_state: dict[str, int] = {}
    members: dict[tuple[str, str], int] = {}
    for number, count in enumerate(sorted(counts, key=lambda count: count.group_id)):
        by_state[count.state] = by_state.get(count.state, 0) + 1
        group = _label(count.group_id, number)
        for protocol, size in (("classic", count.classic_members), ("consumer", count.consumer_members)):
            members[group, protocol] = members.get((group, protocol), 0) + size
    groups = GaugeMetricFamily(PREFIX + GROUPS, "Groups that the bridge coordinates.", labels=["state"])
    for state, size in sorted(by_state.items()):
        groups.add_metric([state], size)
    yield groups
    family = GaugeMetricFamily(PREFIX + GROUP_MEMBERS, "Members of these groups.", labels=["group", "protocol"])
    for labels, size in members.items():
        family.add_metric(labels, size)
    yield family


def _of_conversions(counts: Mapping[tuple[str, str], int]) -> Metric:
    text = "Groups that changed their kind, and those that were to and could not."
    family = CounterMetricFamily(PREFIX + CONVERSIONS, text, labels=["to", "outcome"])
    for labels, count in sorted(counts.items()):
        family.add_metric(labels, count)
    return family


def _of_passing(passing: PassingLog) -> Metric:
    sums: dict[tuple[str, str], int] = {}
    for number, (group_id, by_api) in enumerate(passing.requests.items()):
        group = _label(group_id, number)
        for api_key, count in by_api.items():
            key = (group, str(api_key))
            sums[key] = sums.get(key, 0) + count
    family = CounterMetricFamily(
        PREFIX + PASSED, "Group requests that went through untouched.", labels=["group", "api_key"]
    )
    for labels, count in sums.items():
        family.add_metric(labels, count)
    return family


def _label(group_id: str, number: int) -> str:
    return group_id[:TEXT_CHARS_MAX] if group_id and number < GROUPS_MAX else OTHERS
