"""The glossary of metrics keeps to Prometheus' and our own rules."""

import re

from bridge.telemetry.metric_names import METRICS, PROCESS, SAMPLES, MetricKind

BOUNDED = {
    "task",
    "group",
    "protocol",
    "cause",
    "state",
    "reason",
    "code",
    "api",
    "to",
    "outcome",
    "fate",
    "side",
    "why",
    "error",
    "road",
}
OF_THE_BRIDGE = {"key", "version", "python"}


def test_names_keep_to_the_conventions() -> None:
    """Seconds and bytes, no ending that Prometheus adds itself."""
    for name, metric in METRICS.items():
        if metric in PROCESS:
            continue  # the library's own names
        assert re.fullmatch(r"[a-z][a-z0-9_]+", name)
        assert not name.endswith(("_total", "_sum", "_bucket", "_ms"))
        assert name.endswith("_seconds") or metric.kind is not MetricKind.HISTOGRAM
        assert not name.endswith("_seconds") or metric.kind is not MetricKind.GAUGE
        assert metric.meaning.endswith(".")


def test_no_label_grows_without_limit() -> None:
    """Never a member, a client or a host."""
    assert {label for metric in METRICS.values() for label in metric.labels} <= BOUNDED | OF_THE_BRIDGE


def test_samples_are_known_by_the_names_in_queries() -> None:
    """As dashboards and rules write them."""
    assert SAMPLES["epochbridge_rebalances_total"].labels == ("group", "cause")
    assert "epochbridge_member_stall_seconds_bucket" in SAMPLES
    assert "epochbridge_group_epoch" in SAMPLES
