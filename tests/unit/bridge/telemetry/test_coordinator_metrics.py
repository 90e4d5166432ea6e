"""The figures of owners as Kafka's coordinator runtime names them."""

from bridge.telemetry.coordinator_metrics import CoordinatorFigures, TimeFigures, coordinator_families
from bridge.telemetry.metric_names import KAFKA


def values(figures: CoordinatorFigures) -> dict[tuple[str, str], float]:
    """Samples by their name without Kafka's domain, and their only label."""
    return {
        (sample.name.removeprefix(KAFKA), "".join(sample.labels.values())): sample.value
        for family in coordinator_families(figures)
        for sample in family.samples
    }


def test_every_figure_has_its_family() -> None:
    """Buckets add up, as Prometheus wants them."""
    waited = TimeFigures(bounds_s=(0.001, 0.1), counts=(2, 1, 4), sum_s=9.5)
    loaded = TimeFigures(bounds_s=(1.0,), counts=(1, 0), sum_s=0.5)
    shown = values(
        CoordinatorFigures(
            by_state={"active": 1, "failed": 1, "loading": 0},
            queued=3,
            idle_ratio=0.75,
            queue_time=waited,
            load_time=loaded,
        )
    )
    assert shown["num_partitions", "active"] == shown["num_partitions", "failed"] == 1
    assert shown["num_partitions", "loading"] == 0
    assert shown["event_queue_size", ""] == 3
    assert shown["thread_idle_ratio_avg", ""] == 0.75
    buckets = [shown["event_queue_time_seconds_bucket", bound] for bound in ("0.001", "0.1", "+Inf")]
    assert buckets == [2, 3, 7]
    assert shown["event_queue_time_seconds_sum", ""] == 9.5
    assert shown["event_processing_time_seconds_count", ""] == 0
    assert shown["partition_load_time_seconds_count", ""] == 1


def test_bridge_that_owns_nothing_is_idle() -> None:
    """Every sum is there from 0 on."""
    shown = values(CoordinatorFigures())
    assert shown["thread_idle_ratio_avg", ""] == 1
    assert shown["event_processing_time_seconds_bucket", "+Inf"] == 0
