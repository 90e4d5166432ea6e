"""Rebalances added up for Prometheus."""

from dataclasses import replace

from bridge.telemetry.rebalance_metrics import GROUPS_MAX, MIXED, OTHERS, TEXT_CHARS_MAX, RebalanceMetrics, protocol_of
from bridge.telemetry.rebalances.assembling import assemble
from bridge.telemetry.schema.terms import Protocol
from tests.support.event_stories import cooperative_handover, eager_meeting


def value(metrics: RebalanceMetrics, name: str, **labels: str) -> float | None:
    """One sample."""
    return metrics.registry.get_sample_value(name, labels)


def test_rebalance_is_added_up() -> None:
    """Durations, stalls, causes, moves and who was disturbed."""
    metrics = RebalanceMetrics()
    for story in (cooperative_handover(), eager_meeting()):
        for rebalance in assemble(story.events):
            metrics.take(rebalance)
    assert value(metrics, "epochbridge_rebalances_total", group="orders", cause="join") == 2
    assert value(metrics, "epochbridge_rebalance_duration_seconds_sum", group="orders", protocol="consumer") == 3.009
    assert value(metrics, "epochbridge_rebalance_duration_seconds_count", group="orders", protocol="classic") == 1
    assert value(metrics, "epochbridge_member_stall_seconds_sum", group="orders", protocol="consumer") == 2.2
    assert value(metrics, "epochbridge_partitions_moved_total", group="orders") == 2
    assert value(metrics, "epochbridge_members_disturbed_total", group="orders", protocol="classic") == 2
    assert value(metrics, "epochbridge_group_generation", group="orders") == 5
    assert value(metrics, "kafka_server_group_coordinator_metrics_consumer_group_rebalance_count_total") == 1
    assert value(metrics, "kafka_server_group_coordinator_metrics_group_completed_rebalance_count_total") == 1


def test_groups_beyond_the_cap_are_others() -> None:
    """No member, and no more groups than the cap, become labels."""
    metrics = RebalanceMetrics()
    (rebalance,) = assemble(cooperative_handover().events)
    for number in range(GROUPS_MAX + 2):
        metrics.take(replace(rebalance, group_id=f"g{number}"))
    assert value(metrics, "epochbridge_rebalances_total", group=OTHERS, cause="join") == 2
    assert metrics.label("x" * 300) == OTHERS
    assert RebalanceMetrics().label("x" * 300) == "x" * TEXT_CHARS_MAX


def test_protocol_of_a_group_is_what_its_members_speak() -> None:
    """One, both, or nobody showed."""
    assert protocol_of([Protocol.CLASSIC, Protocol.CLASSIC]) == "classic"
    assert protocol_of([Protocol.CLASSIC, Protocol.CONSUMER]) == MIXED
    assert protocol_of([]) == ""
