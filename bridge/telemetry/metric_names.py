"""The glossary of metrics: every name at /metrics with its kind, labels and meaning.

Dashboards, alert rules and the reference page are checked against it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
"""Bounds of everything that is measured in seconds of a rebalance, at /metrics and by OTLP alike."""
PREFIX = "epochbridge_"
KAFKA = "kafka_server_group_coordinator_metrics_"
"""What Prometheus' JMX exporter makes of Kafka's MBean `kafka.server:type=group-coordinator-metrics`."""


class MetricKind(StrEnum):
    """What may happen to a figure."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class MetricName:
    """One family: `name` without the endings that Prometheus adds (_total, _bucket, _sum, _count)."""

    name: str
    kind: MetricKind
    labels: tuple[str, ...]
    meaning: str
    kafka: str = ""
    """What Kafka calls it, if it has the like."""

    @property
    def sample_names(self) -> tuple[str, ...]:
        """The names of its samples."""
        if self.kind is MetricKind.HISTOGRAM:
            return tuple(self.name + ending for ending in ("_bucket", "_sum", "_count"))
        return (f"{self.name}_total" if self.kind is MetricKind.COUNTER else self.name,)


def _counter(name: str, meaning: str, *labels: str) -> MetricName:
    return MetricName(PREFIX + name, MetricKind.COUNTER, labels, meaning)


def _gauge(name: str, meaning: str, *labels: str) -> MetricName:
    return MetricName(PREFIX + name, MetricKind.GAUGE, labels, meaning)


def _histogram(name: str, meaning: str, *labels: str) -> MetricName:
    return MetricName(PREFIX + name, MetricKind.HISTOGRAM, labels, meaning)


def _kafka(name: str, kafka: str, meaning: str, *labels: str, kind: MetricKind = MetricKind.GAUGE) -> MetricName:
    return MetricName(KAFKA + name, kind, labels, meaning, kafka)


CONNECTION_COUNTERS = (
    _counter("connections_accepted", "Client connections that were accepted."),
    _counter("requests", "Requests of clients."),
    _counter("requests_relayed", "Requests that went to the broker."),
    _counter("requests_answered", "Requests that the bridge answered itself."),
    _counter("bytes_from_clients", "Bytes received from clients."),
    _counter("bytes_to_clients", "Bytes sent to clients."),
    _counter("late_replies", "Replies whose connection was gone."),
)
CONNECTION_GAUGES = (
    _gauge("connections_open", "Client connections that are open."),
    _gauge("bytes_held", "Bytes in the buffers of all connections."),
    _gauge("bytes_held_peak", "Most bytes that any single connection held."),
    _gauge("brokers_without_port", "Brokers that clients can't reach, for their port could not be had."),
)
API_REQUESTS = _counter("api_requests", "Requests of clients by api.", "api")
API_PASSED = _counter("api_requests_passed", "Of these, requests that went on to a broker.", "api")
API_INSIDE = _counter(
    "api_inside_seconds", "Time that they took from the arrival of their header until they went on.", "api"
)
CLOSED = _counter("connections_closed", "Client connections that ended.", "reason", "code")
ENDINGS = _counter(
    "client_endings",
    "Answers after which a client does not go on by itself, made here or by a broker; the log says who and what to do.",
    *("road", "api", "error"),
)
TASK_FAILURES = _counter("task_failures", "Tasks of the bridge that failed by a bug, by what they do.", "task")
BUGS = _counter(
    "bugs",
    "Bugs that were met and survived outside of these tasks, by the code of the line that tells them with a traceback.",
    "code",
)
LOG_LINES_DROPPED = _counter(
    "log_lines_dropped", "Log lines that nobody read from standard error in time, or that could not be written there."
)
ADMIN_REFUSALS = _counter("admin_refusals", "Requests to the admin API that were refused for want of a right token.")
GROUPS = _gauge("groups", "Groups that the bridge coordinates.", "state")
GROUP_MEMBERS = _gauge("group_members", "Members of these groups.", "group", "protocol")
PASSED = _counter("group_requests_passed", "Group requests that went through untouched.", "group", "api")
CONVERSIONS = _counter("conversions", "Changes of a group's kind, by the kind and how it ended.", "to", "outcome")
OFFSETS_CHANGED = _counter(
    "offsets_changed_elsewhere", "Committed offsets of groups in use that were changed at the broker by somebody else."
)
READY = _gauge("ready", "1 where clients may come, 0 where not: /readyz says why.")
BRIDGES = _gauge("bridges_others", "Other bridges before the same cluster.")
CONTESTED = _gauge(
    "groups_contested", "Groups of which clients come by several bridges: refused here, or refused elsewhere.", "side"
)

DURATION = _histogram("rebalance_duration_seconds", "How long rebalances took.", "group", "protocol")
STALL = _histogram(
    "member_stall_seconds", "How long members that a rebalance touched stood still in it.", "group", "protocol"
)
WAITED = _histogram(
    "rebalance_waited_seconds", "How long the slowest member of each rebalance was waited for.", "group"
)
REBALANCES = _counter("rebalances", "Rebalances by their cause.", "group", "cause")
MOVED = _counter("partitions_moved", "Partitions that a rebalance gave another owner.", "group")
FORCED = _counter("partitions_forced", "Those of them that no assignor could have left where they were.", "group")
DISTURBED = _counter(
    "members_disturbed", "Members that stopped what they did though their assignment stayed.", "group", "protocol"
)
EPOCH = _gauge("group_epoch", "Group epoch, or generation of a classic group, of its last rebalance.", "group")
GENERATION = _gauge("group_generation", "Highest generation that the last rebalance showed a classic client.", "group")
EVENTS = _counter(
    "events",
    "Events of the event log: kept by a place, dropped before that, lost by one.",
    "fate",
)
MISSED = _counter(
    "events_missed",
    "What the event log did not take in: group requests of groups beyond the 10,000 that it follows, requests and "
    "answers that it could not read, and observations and rebalances that a bug cost.",
    "why",
)
HELD = _gauge("requests_held", "Group requests that wait for their answer in the bridge, parked ones among them.")
REQUEST_TIME = _histogram(
    "group_request_seconds", "Time from a group request's arrival to its answer, both inside the bridge.", "api"
)

KAFKA_GROUPS = _kafka("group_count", "group-count", "Groups by protocol (KIP-848).", "protocol")
KAFKA_CONSUMER_GROUPS = _kafka(
    "consumer_group_count", "consumer-group-count", "Consumer groups by state (KIP-848).", "state"
)
KAFKA_CLASSIC_GROUPS = _kafka("classic_group_count", "NumGroups", "Classic groups by state (KIP-848).", "state")
KAFKA_CONSUMER_REBALANCES = _kafka(
    "consumer_group_rebalance_count",
    "consumer-group-rebalance-count",
    "Rebalances of consumer groups (KIP-848).",
    kind=MetricKind.COUNTER,
)
KAFKA_CLASSIC_REBALANCES = _kafka(
    "group_completed_rebalance_count",
    "group-completed-rebalance-count",
    "Completed rebalances of classic groups (KIP-848).",
    kind=MetricKind.COUNTER,
)
KAFKA_PARTITIONS = _kafka(
    "num_partitions",
    "num-partitions",
    "Owners of groups by state, one each for roads embedded and upstream: what partitions of __consumer_offsets are "
    "to a broker. One that failed can't write its journal.",
    "state",
)
KAFKA_QUEUE_SIZE = _kafka("event_queue_size", "event-queue-size", "Requests and orders that wait for a turn.")
KAFKA_IDLE_RATIO = _kafka(
    "thread_idle_ratio_avg",
    "thread-idle-ratio-avg",
    "Part of the last 30 to 60 seconds that no turn took, from 0 to 1; relaying is no turn.",
)
KAFKA_QUEUE_TIME = _kafka(
    "event_queue_time_seconds",
    "event-queue-time-ms-*",
    "How long requests and orders waited for their turn.",
    kind=MetricKind.HISTOGRAM,
)
KAFKA_PROCESSING_TIME = _kafka(
    "event_processing_time_seconds",
    "event-processing-time-ms-*",
    "How long turns took; one is for all that is queued, and heartbeats that change nothing take none.",
    kind=MetricKind.HISTOGRAM,
)
KAFKA_LOAD_TIME = _kafka(
    "partition_load_time_seconds",
    "partition-load-time-*",
    "How long it took to read all groups of an owner from its journal.",
    kind=MetricKind.HISTOGRAM,
)

BUILD = _gauge("build_info", "Always 1; the version that runs, and its Python.", "version", "python")
SETTING = _gauge("setting", "Every number in the configuration, in the unit that ends its name.", "key")
PROCESS = (
    MetricName("process_virtual_memory_bytes", MetricKind.GAUGE, (), "Virtual memory size in bytes."),
    MetricName("process_resident_memory_bytes", MetricKind.GAUGE, (), "Resident memory size in bytes."),
    MetricName(
        "process_start_time_seconds", MetricKind.GAUGE, (), "Start time of the process since unix epoch in seconds."
    ),
    MetricName("process_cpu_seconds", MetricKind.COUNTER, (), "Total user and system CPU time spent in seconds."),
    MetricName("process_open_fds", MetricKind.GAUGE, (), "Number of open file descriptors."),
    MetricName("process_max_fds", MetricKind.GAUGE, (), "Maximum number of open file descriptors."),
)
"""What Prometheus' client library tells of every process, on Linux."""

METRICS: Mapping[str, MetricName] = {
    metric.name: metric
    for metric in (
        *CONNECTION_COUNTERS,
        *CONNECTION_GAUGES,
        *(API_REQUESTS, API_PASSED, API_INSIDE),
        READY,
        *(CLOSED, ENDINGS, TASK_FAILURES, BUGS, LOG_LINES_DROPPED, ADMIN_REFUSALS),
        *(GROUPS, GROUP_MEMBERS, PASSED, CONVERSIONS, OFFSETS_CHANGED, BRIDGES, CONTESTED),
        *(DURATION, STALL, WAITED, REBALANCES, MOVED, FORCED, DISTURBED, EPOCH, GENERATION, EVENTS, MISSED),
        *(HELD, REQUEST_TIME),
        *(KAFKA_GROUPS, KAFKA_CONSUMER_GROUPS, KAFKA_CLASSIC_GROUPS),
        *(KAFKA_CONSUMER_REBALANCES, KAFKA_CLASSIC_REBALANCES),
        *(KAFKA_PARTITIONS, KAFKA_QUEUE_SIZE, KAFKA_IDLE_RATIO),
        *(KAFKA_QUEUE_TIME, KAFKA_PROCESSING_TIME, KAFKA_LOAD_TIME),
        *(BUILD, SETTING, *PROCESS),
    )
}
"""Every family by its name."""
SAMPLES: Mapping[str, MetricName] = {name: metric for metric in METRICS.values() for name in metric.sample_names}
"""Every name of a sample, as queries write it."""
