"""What Kafka's coordinator runtime tells of its threads, queue and partitions, told of the owners of groups here."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate

from prometheus_client.core import GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric

from bridge.telemetry import metric_names as names
from bridge.telemetry.metric_names import MetricName


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
