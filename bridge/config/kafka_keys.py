"""The keys that bear Kafka's own names: defaults and bounds are those of Kafka 4.3, but for the assignment interval."""

from collections.abc import Mapping
from dataclasses import dataclass

from bridge.config.fields import INT_MAX, INT_MIN, LONG_MAX, Bounds, Names, Origin, kafka, key, names


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaSettings:
    """One value per key of Kafka's; the field is the key with dots and hyphens as underscores."""

    group_min_session_timeout_ms: int = key(
        "group.min.session.timeout.ms", 6_000, "Least session timeout of a classic member.", kafka(INT_MIN)
    )
    group_max_session_timeout_ms: int = key(
        "group.max.session.timeout.ms", 1_800_000, "Greatest session timeout of a classic member.", kafka(INT_MIN)
    )
    group_initial_rebalance_delay_ms: int = key(
        "group.initial.rebalance.delay.ms",
        3_000,
        "Time that an empty group waits for more classic members before its first assignment.",
        kafka(INT_MIN, per_group=True),
    )
    group_consumer_session_timeout_ms: int = key(
        "group.consumer.session.timeout.ms", 45_000, "Session timeout of consumer members.", kafka(per_group=True)
    )
    group_consumer_min_session_timeout_ms: int = key(
        "group.consumer.min.session.timeout.ms", 45_000, "Least session timeout of consumer members.", kafka()
    )
    group_consumer_max_session_timeout_ms: int = key(
        "group.consumer.max.session.timeout.ms", 60_000, "Greatest session timeout of consumer members.", kafka()
    )
    group_consumer_heartbeat_interval_ms: int = key(
        "group.consumer.heartbeat.interval.ms", 5_000, "Heartbeat interval of consumer members.", kafka(per_group=True)
    )
    group_consumer_min_heartbeat_interval_ms: int = key(
        "group.consumer.min.heartbeat.interval.ms", 5_000, "Least heartbeat interval of consumer members.", kafka()
    )
    group_consumer_max_heartbeat_interval_ms: int = key(
        "group.consumer.max.heartbeat.interval.ms", 15_000, "Greatest heartbeat interval of consumer members.", kafka()
    )
    group_consumer_max_size: int = key(
        "group.consumer.max.size", INT_MAX, "Most members of a consumer group.", kafka(per_group=True)
    )
    group_max_size: int = key("group.max.size", INT_MAX, "Most members of a classic group.", kafka(per_group=True))
    group_consumer_migration_policy: str = key(
        "group.consumer.migration.policy",
        "bidirectional",
        "Which groups with members may change their kind by themselves: `upgrade` when the first KIP-848 member joins "
        "a classic group, `downgrade` when the last one leaves a consumer group; an operator may always.",
        Bounds(choices=("bidirectional", "upgrade", "downgrade", "disabled"), origin=Origin.KAFKA, per_group=True),
    )
    group_consumer_assignors: Names = names(
        "group.consumer.assignors",
        ("uniform", "range"),
        "Assignors that a group may use; the first is the default.",
        Bounds(origin=Origin.KAFKA, per_group=True),
    )
    group_consumer_assignment_interval_ms: int = key(
        "group.consumer.assignment.interval.ms",
        0,
        "Least time between two target assignments of a group (Kafka 4.3: 1000).",
        kafka(0, per_group=True),
    )
    group_consumer_min_assignment_interval_ms: int = key(
        "group.consumer.min.assignment.interval.ms", 0, "Least assignment interval of consumer groups.", kafka(0)
    )
    group_consumer_max_assignment_interval_ms: int = key(
        "group.consumer.max.assignment.interval.ms",
        15_000,
        "Greatest assignment interval of consumer groups.",
        kafka(0),
    )
    offsets_retention_check_interval_ms: int = key(
        "offsets.retention.check.interval.ms",
        600_000,
        "How often groups without members and offsets are forgotten.",
        Bounds(minimum=1, maximum=LONG_MAX, origin=Origin.KAFKA),
    )
    offset_metadata_max_bytes: int = key(
        "offset.metadata.max.bytes", 4_096, "Longest text that a client may commit with an offset.", kafka(INT_MIN)
    )


GROUP_NAMES: Mapping[str, str] = {
    "consumer.session.timeout.ms": "group.consumer.session.timeout.ms",
    "consumer.heartbeat.interval.ms": "group.consumer.heartbeat.interval.ms",
    "consumer.assignment.interval.ms": "group.consumer.assignment.interval.ms",
}
"""What Kafka calls the settings of single groups, which rules may call so as well."""

ASSIGNOR_CLASSES: Mapping[str, str] = {
    f"org.apache.kafka.coordinator.group.assignor.{name.title()}Assignor": name for name in ("uniform", "range")
}
"""Kafka's own assignors by their classes, as a broker's file may name them."""
