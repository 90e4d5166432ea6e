"""The bridge's counters as Prometheus metrics: every name, its kind and meaning, read at the moment of a scrape.

A label holds a group at most, never a member.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate

from prometheus_client import CollectorRegistry, ProcessCollector, exposition
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.registry import Collector

from bridge.engine.commands import GroupType
from bridge.engine.outcome import Unready
from bridge.session.close_reasons import CloseReason
from bridge.session.counters import ApiFigures, Statistics
from bridge.telemetry import metric_names as names
from bridge.telemetry.metric_names import MetricName
from bridge.telemetry.passing import PassingLog
from bridge.telemetry.rebalance_metrics import RebalanceMetrics
from bridge.telemetry.request_times import BOUNDS_US, RequestTimes
from bridge.telemetry.schema.terms import Protocol
from bridge.wire.apis import TREATMENTS, api_name

# ------------------------------------------------------------------------------ coordinator metrics
# What Kafka's coordinator runtime tells of its threads, queue and partitions, told of the owners of groups here.


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeFigures:
    """A distribution: how many took at most each of `bounds_s`, one by one and the rest last; and the sum of all."""

    bounds_s: tuple[float, ...] = ()
    counts: tuple[int, ...] = (0,)
    sum_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorFigures:
    """Both owners of groups together; `idle_ratio` is from 0 to 1."""

    by_state: Mapping[str, int] = field(default_factory=dict)
    queued: int = 0
    idle_ratio: float = 1.0
    queue_time: TimeFigures = field(default_factory=TimeFigures)
    processing_time: TimeFigures = field(default_factory=TimeFigures)
    load_time: TimeFigures = field(default_factory=TimeFigures)


def coordinator_families(figures: CoordinatorFigures) -> Iterator[Metric]:
    """Every family, always in the same order."""
    owners = GaugeMetricFamily(
        names.KAFKA_PARTITIONS.name, names.KAFKA_PARTITIONS.meaning, labels=names.KAFKA_PARTITIONS.labels
    )
    for state, count in figures.by_state.items():
        owners.add_metric([state], count)
    yield owners
    yield GaugeMetricFamily(names.KAFKA_QUEUE_SIZE.name, names.KAFKA_QUEUE_SIZE.meaning, figures.queued)
    yield GaugeMetricFamily(names.KAFKA_IDLE_RATIO.name, names.KAFKA_IDLE_RATIO.meaning, figures.idle_ratio)
    yield _histogram(names.KAFKA_QUEUE_TIME, figures.queue_time)
    yield _histogram(names.KAFKA_PROCESSING_TIME, figures.processing_time)
    yield _histogram(names.KAFKA_LOAD_TIME, figures.load_time)


def _histogram(metric: MetricName, times: TimeFigures) -> Metric:
    bounds = [*(str(bound) for bound in times.bounds_s), "+Inf"]
    family = HistogramMetricFamily(metric.name, metric.meaning, labels=metric.labels)
    family.add_metric([], list(zip(bounds, accumulate(times.counts), strict=True)), times.sum_s)
    return family


# ------------------------------------------------------------------------------------------ metrics
# Every name, with its kind and meaning.

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
GROUPS_MAX = 500
"""Groups that are shown one by one; the rest is added up under `OTHERS`."""
OTHERS = "(others)"
TEXT_CHARS_MAX = 249
"""Longest group id in a label, as long as Kafka lets a topic name be."""
SECOND_US = 1_000_000
SECOND_NS = 1_000_000_000
DONE = "done"
UNKNOWN = "unknown"
"""Apis that Kafka does not know; whoever invents keys gets one figure for all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCount:
    """One group that the bridge coordinates: its kind (classic or consumer), state, and members of either protocol."""

    group_id: str
    state: str
    group_type: str = "consumer"
    classic_members: int
    consumer_members: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Readings:
    """Where the figures come from; each is called once a scrape.

    `conversions` counts by the kind that a group became or was to become, and by `done` or the reason why not;
    `events` by what became of them, `missed` by why the event log lacks them,
    `failures` by the task that failed, `bugs` by the code of their line in the log; `build` has `version` and `python`,
    `settings` every number of the configuration, `started_s` is when counting began, in seconds since 1970.
    """

    statistics: Callable[[], Statistics]
    groups: Callable[[], Iterable[GroupCount]]
    passing: PassingLog
    conversions: Callable[[], Mapping[tuple[str, str], int]] = dict
    events: Callable[[], Mapping[str, int]] = dict
    missed: Callable[[], Mapping[str, int]] = dict
    failures: Callable[[], Mapping[str, int]] = dict
    bugs: Callable[[], Mapping[str, int]] = dict
    log_lines_dropped: Callable[[], int] = int
    admin_refusals: Callable[[], int] = int
    offsets_changed: Callable[[], int] = int
    build: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, float] = field(default_factory=dict)
    started_s: float = 0.0
    is_ready: Callable[[], bool] = bool
    bridges: Callable[[], int] = int
    contested: Callable[[], Mapping[str, int]] = dict
    coordinators: Callable[[], CoordinatorFigures] = CoordinatorFigures
    rebalances: RebalanceMetrics = field(default_factory=RebalanceMetrics)
    times: RequestTimes = field(default_factory=RequestTimes)


# prometheus-client has no types for this function.
_in_openmetrics: Callable[[CollectorRegistry], bytes] = openmetrics.generate_latest


class PrometheusMetrics:
    """All metrics as the text that Prometheus reads."""

    def __init__(self, readings: Readings) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(BridgeCollector(readings))
        self._registry.register(readings.rebalances.registry)
        ProcessCollector(registry=self._registry)

    def render(self, accept: str) -> tuple[bytes, str]:
        """The metrics of this moment and their media type: OpenMetrics, which has exemplars, if accepted."""
        if "application/openmetrics-text" in accept:
            return _in_openmetrics(self._registry), OPENMETRICS_TYPE
        return exposition.generate_latest(self._registry), CONTENT_TYPE


class BridgeCollector(Collector):
    """Turns readings into metric families; keeps nothing between scrapes."""

    def __init__(self, readings: Readings) -> None:
        self._readings = readings

    def describe(self) -> list[Metric]:
        """Nothing: the readings are not asked before the first scrape."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Every family, always in the same order."""
        readings = self._readings
        counts = sorted(readings.groups(), key=lambda count: count.group_id)
        self._expect_groups(counts)
        for metric, values in self._counters():
            yield _counter(metric, values, readings.started_s)
        yield from _of_connections(readings.statistics())
        yield from _of_groups(counts)
        yield from _as_kafka(counts)
        yield from coordinator_families(readings.coordinators())
        yield _gauge(names.BUILD, {tuple(readings.build.get(label, "") for label in names.BUILD.labels): 1})
        yield _gauge(names.SETTING, {(key,): value for key, value in sorted(readings.settings.items())})
        yield _gauge(names.READY, {(): int(readings.is_ready())})
        yield _gauge(names.BRIDGES, {(): readings.bridges()})
        yield _gauge(names.CONTESTED, {(side,): count for side, count in readings.contested().items()})
        yield _gauge(names.HELD, {(): readings.times.held})
        yield _of_times(readings.times)

    def _expect_groups(self, counts: Iterable[GroupCount]) -> None:
        """Have the figures of rebalances begin at 0 with a group's first scrape."""
        rebalances = self._readings.rebalances
        for count in counts:
            sizes = ((Protocol.CLASSIC, count.classic_members), (Protocol.CONSUMER, count.consumer_members))
            rebalances.expect(count.group_id, tuple(protocol.value for protocol, size in sizes if size))
        for group_id in self._readings.passing.requests:
            rebalances.expect(group_id, ())

    def _counters(self) -> Iterator[tuple[MetricName, "Values"]]:
        """Every counter; what has a known set of labels is there from 0 on."""
        readings = self._readings
        statistics = readings.statistics()
        for metric in names.CONNECTION_COUNTERS:
            yield metric, {(): getattr(statistics, metric.name.removeprefix(names.PREFIX))}
        apis = _by_name(statistics.apis)
        yield names.API_REQUESTS, {api: one.requests for api, one in apis.items()}
        yield names.API_PASSED, {api: one.passed for api, one in apis.items()}
        yield names.API_INSIDE, {api: one.inside_ns / SECOND_NS for api, one in apis.items()}
        closed = {(reason.name.lower(), reason.code): statistics.closed.get(reason, 0) for reason in CloseReason}
        yield names.CLOSED, dict(sorted(closed.items()))
        endings = statistics.endings.items()
        yield names.ENDINGS, {(road.value, api_name(api), code.name): count for (road, api, code), count in endings}
        yield names.TASK_FAILURES, {(task,): count for task, count in readings.failures().items()}
        yield names.BUGS, {(code,): count for code, count in readings.bugs().items()}
        yield names.LOG_LINES_DROPPED, {(): readings.log_lines_dropped()}
        yield names.ADMIN_REFUSALS, {(): readings.admin_refusals()}
        yield names.OFFSETS_CHANGED, {(): readings.offsets_changed()}
        yield names.CONVERSIONS, _every_conversion(readings.conversions())
        yield names.PASSED, _by_group(readings.passing)
        yield names.EVENTS, {(fate,): count for fate, count in readings.events().items()}
        yield names.MISSED, {(why,): count for why, count in readings.missed().items()}


Values = Mapping[tuple[str, ...], float]


def _gauge(metric: MetricName, values: Values) -> Metric:
    family = GaugeMetricFamily(metric.name, metric.meaning, labels=metric.labels)
    for labels, value in values.items():
        family.add_metric(labels, value)
    return family


def _counter(metric: MetricName, values: Values, started_s: float) -> Metric:
    family = CounterMetricFamily(metric.name, metric.meaning, labels=metric.labels)
    for labels, value in values.items():
        family.add_metric(labels, value, created=started_s)
    return family


def _of_connections(statistics: Statistics) -> Iterator[Metric]:
    for metric in names.CONNECTION_GAUGES:
        yield _gauge(metric, {(): getattr(statistics, metric.name.removeprefix(names.PREFIX))})


def _by_name(apis: Mapping[int, ApiFigures]) -> Mapping[tuple[str, ...], ApiFigures]:
    """Figures by the name of the api, of all that Kafka knows; those of unknown keys are added up."""
    named: dict[tuple[str, ...], ApiFigures] = {(api_name(key),): ApiFigures(0, 0, 0) for key in sorted(TREATMENTS)}
    for key, one in sorted(apis.items()):
        name = api_name(key) if key in TREATMENTS else UNKNOWN
        had = named.get((name,), ApiFigures(0, 0, 0))
        sums = (had.requests + one.requests, had.passed + one.passed, had.inside_ns + one.inside_ns)
        named[name,] = ApiFigures(*sums)
    return named


def _of_groups(counts: Iterable[GroupCount]) -> Iterator[Metric]:
    by_state: dict[tuple[str, ...], int] = {}
    members: dict[tuple[str, ...], int] = {}
    for number, count in enumerate(counts):
        by_state[count.state,] = by_state.get((count.state,), 0) + 1
        group = _label(count.group_id, number)
        for protocol, size in (("classic", count.classic_members), ("consumer", count.consumer_members)):
            members[group, protocol] = members.get((group, protocol), 0) + size
    yield _gauge(names.GROUPS, dict(sorted(by_state.items())))
    yield _gauge(names.GROUP_MEMBERS, members)


def _as_kafka(counts: Iterable[GroupCount]) -> Iterator[Metric]:
    """What a broker counts, under its names."""
    by_type: dict[tuple[str, ...], int] = {("classic",): 0, ("consumer",): 0}
    by_state: dict[str, dict[tuple[str, ...], int]] = {"classic": {}, "consumer": {}}
    for count in counts:
        by_type[count.group_type,] += 1
        states = by_state[count.group_type]
        states[count.state,] = states.get((count.state,), 0) + 1
    yield _gauge(names.KAFKA_GROUPS, by_type)
    yield _gauge(names.KAFKA_CONSUMER_GROUPS, by_state["consumer"])
    yield _gauge(names.KAFKA_CLASSIC_GROUPS, by_state["classic"])


def _every_conversion(counts: Mapping[tuple[str, str], int]) -> Values:
    every = {(to.value, outcome): 0 for to in GroupType for outcome in (DONE, *(reason.value for reason in Unready))}
    return dict(sorted({**every, **counts}.items()))


def _by_group(passing: PassingLog) -> Values:
    sums: dict[tuple[str, ...], int] = {}
    for number, (group_id, by_api) in enumerate(passing.requests.items()):
        group = _label(group_id, number)
        for api_key, count in by_api.items():
            key = (group, api_name(api_key))
            sums[key] = sums.get(key, 0) + count
    return sums


def _of_times(times: RequestTimes) -> Metric:
    metric = names.REQUEST_TIME
    family = HistogramMetricFamily(metric.name, metric.meaning, labels=metric.labels)
    bounds = [*(str(bound / SECOND_US) for bound in BOUNDS_US), "+Inf"]
    for api, tally in sorted(times.tallies.items()):
        totals = accumulate(tally.counts)
        family.add_metric([api], list(zip(bounds, totals, strict=True)), tally.total_us / SECOND_US)
    return family


def _label(group_id: str, number: int) -> str:
    return group_id[:TEXT_CHARS_MAX] if group_id and number < GROUPS_MAX else OTHERS
