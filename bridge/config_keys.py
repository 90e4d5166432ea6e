"""Every key of the configuration: name, default, bounds and meaning, as the fields of one frozen value.

It must not know where a value was written or which room uses it.
"""

from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from enum import StrEnum
from typing import TypeVar, cast

Names = tuple[str, ...]
Value = int | bool | str | Names
ValueT = TypeVar("ValueT", int, bool, str)

INT_MAX = 2**31 - 1


class Origin(StrEnum):
    """Who gave a key its name and meaning."""

    KAFKA = "kafka"
    BRIDGE = "bridge"


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """What is known of one key; bounds are inclusive, `choices` empty means any."""

    name: str
    field_name: str
    default: Value
    text: str
    minimum: int | None = None
    maximum: int | None = None
    choices: tuple[str, ...] = ()
    origin: Origin = Origin.BRIDGE
    per_group: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What is allowed for a key besides its kind."""

    minimum: int | None = None
    maximum: int | None = None
    choices: tuple[str, ...] = ()
    origin: Origin = Origin.BRIDGE
    per_group: bool = False


def _key(name: str, default: ValueT, text: str, bounds: Bounds | None = None) -> ValueT:
    metadata = {"name": name, "text": text, "bounds": bounds or Bounds()}
    value: ValueT = field(default=default, metadata=metadata)
    return value


def _names(name: str, default: Names, text: str, bounds: Bounds | None = None) -> Names:
    metadata = {"name": name, "text": text, "bounds": bounds or Bounds()}
    value: Names = field(default=default, metadata=metadata)
    return value


def _within(minimum: int = 1, maximum: int = INT_MAX) -> Bounds:
    return Bounds(minimum=minimum, maximum=maximum)


def _kafka(minimum: int = 1, *, per_group: bool = False) -> Bounds:
    return Bounds(minimum=minimum, maximum=INT_MAX, origin=Origin.KAFKA, per_group=per_group)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """One value per key; the field is the key with dots and hyphens as underscores."""

    # ------------------------------------------------------------------ where clients and brokers are
    bootstrap: Names = _names(
        "bootstrap", (), "Brokers to ask first, HOST:PORT each; the rest of the cluster is learned from them."
    )
    listen: str = _key("listen", "127.0.0.1:9192", "HOST:PORT of the bootstrap listener that clients connect to.")
    advertised_host: str = _key(
        "advertised.host", "", "Host that clients are told to connect to; empty: the host of `listen`."
    )
    listen_ports_first: int = _key(
        "listen.ports.first",
        0,
        "First port for the listeners of single brokers, counted up; 0: the one after the bootstrap port.",
        _within(0, 65_535),
    )
    listen_ports: Names = _names(
        "listen.ports", (), "Fixed ports of single brokers, NODE=PORT each; all others are counted up."
    )
    admin_listen: str = _key("admin.listen", "127.0.0.1:9190", "HOST:PORT of the admin API; `off` for none.")

    # ------------------------------------------------------------------ the wire
    wire_node_endpoints: str = _key(
        "wire.node-endpoints",
        "cap",
        "`cap`: offer Produce up to 9 and Fetch up to 15, whose answers carry no addresses and are relayed unread; "
        "`rewrite`: offer what the broker has and rewrite the addresses (KIP-951).",
        Bounds(choices=("cap", "rewrite")),
    )
    wire_frame_bytes_max: int = _key(
        "wire.frame.bytes.max",
        104_857_600,
        "Largest request that is relayed, as socket.request.max.bytes.",
        _within(1024),
    )
    wire_group_frame_bytes_max: int = _key(
        "wire.group-frame.bytes.max",
        1_048_576,
        "Largest request of a group that the bridge itself reads.",
        _within(1024),
    )
    wire_offsets_frame_bytes_max: int = _key(
        "wire.offsets-frame.bytes.max",
        16_777_216,
        "Largest commit or fetch of offsets that the bridge itself reads.",
        _within(1024),
    )
    wire_elements_max: int = _key(
        "wire.elements.max",
        100_000,
        "Most elements of all arrays of a request that the bridge itself reads: members, protocols, partitions; each "
        "takes up to 400 bytes while it is read.",
        _within(1024),
    )
    wire_answer_bytes_max: int = _key(
        "wire.answer.bytes.max", 33_554_432, "Largest broker answer that is held whole to be changed.", _within(1024)
    )

    # ------------------------------------------------------------------ limits of the net room
    limits_connections_max: int = _key(
        "limits.connections.max", 10_000, "Client connections at once; further ones are closed at once.", _within()
    )
    limits_requests_in_flight_max: int = _key(
        "limits.requests.in-flight.max", 1_000, "Unanswered requests of one connection; then reading pauses.", _within()
    )
    limits_bytes_in_flight_max: int = _key(
        "limits.bytes.in-flight.max", 4_194_304, "Bytes held for one connection; then reading pauses.", _within(65_536)
    )
    limits_idle_ms: int = _key(
        "limits.idle.ms",
        600_000,
        "Silence after which a client connection is closed, as connections.max.idle.ms.",
        _within(),
    )
    limits_progress_ms: int = _key(
        "limits.progress.ms", 30_000, "Time in which a begun request has to make progress.", _within()
    )
    connect_timeout_ms: int = _key(
        "connect.timeout.ms", 10_000, "Time to reach a broker, all tries together.", _within()
    )
    connect_backoff_ms: int = _key("connect.backoff.ms", 100, "First pause between tries to reach a broker.", _within())
    drain_timeout_ms: int = _key(
        "drain.timeout.ms", 10_000, "Time for running requests to end after SIGTERM.", _within(0)
    )
    metadata_refresh_ms: int = _key(
        "metadata.refresh.ms", 60_000, "How often the cluster's brokers are asked for.", _within(100)
    )

    # ------------------------------------------------------------------ road embedded
    embedded_trust_clients: bool = _key(
        "embedded.trust-clients",
        False,
        "Serve embedded groups on a cluster that authenticates its clients, although the bridge checks no rights.",
    )
    embedded_initial_group_type: str = _key(
        "embedded.initial.group.type",
        "consumer",
        "What a group is that a classic client joins first: `consumer` translates its members where that can be "
        "done, `classic` runs it as a broker does, by its own leader; clients that can't be translated get the "
        "latter always.",
        Bounds(choices=("consumer", "classic"), per_group=True),
    )
    embedded_topics_refresh_ms: int = _key(
        "embedded.topics.refresh.ms", 5_000, "How often new topics and partitions are looked for.", _within(100)
    )
    embedded_resume_grace_ms: int = _key(
        "embedded.resume.grace.ms",
        6_000,
        "After start without a journal no group gets an assignment before this time, so that survivors come first.",
        _within(0),
    )
    gain_wait_max_ms: int = _key(
        "gain.wait.max.ms",
        5_000,
        "Longest time that a freed partition waits for the rest of a member's gains.",
        _within(0),
    )
    eager_join_hold_max_ms: int = _key(
        "eager.join.hold.max.ms",
        5_000,
        "Longest time that an eager member's JoinGroup waits for its partitions.",
        _within(0),
    )
    commit_drain_ms: int = _key(
        "commit.drain.ms",
        5_000,
        "Time after which a commit whose answer was lost counts as over (at least offsets.commit.timeout.ms).",
        _within(0),
    )
    replacement_grace_ms: int = _key(
        "replacement.grace.ms",
        0,
        "How long the partitions of a member that left wait for a newcomer of the same client id and host, or of the "
        "same instance id, so that a rolling restart moves nothing and nobody else hears of it; 0 for not at all.",
        Bounds(minimum=0, maximum=INT_MAX, per_group=True),
    )
    offsets_recommit_ms: int = _key(
        "offsets.recommit.ms",
        86_400_000,
        "How often the committed offsets of live embedded groups are committed again, so that they do not expire.",
        _within(1000),
    )

    # ------------------------------------------------------------------ what survives a restart
    journal: str = _key(
        "journal",
        "sqlite",
        "`sqlite`: embedded groups go on after a restart, kill -9 included; `memory`: they are lost with the process.",
        Bounds(choices=("sqlite", "memory")),
    )
    journal_path: str = _key(
        "journal.path",
        "",
        "File of the sqlite journal, in a folder that exists; empty: one for each `listen` and first broker, in "
        "`$STATE_DIRECTORY` or else in `epochbridge` under `$XDG_STATE_HOME` or `~/.local/state`.",
    )
    journal_sync: str = _key(
        "journal.sync",
        "full",
        "`full`: every append waits for the disk, so power may fail; `normal`: only the process may.",
        Bounds(choices=("full", "normal")),
    )
    journal_bytes_max: int = _key(
        "journal.bytes.max",
        1_073_741_824,
        "Largest journal; beyond it embedded groups refuse new work as on a full disk.",
        _within(65_536, 2**40),
    )
    journal_recover: bool = _key(
        "journal.recover",
        False,
        "Start with a damaged journal, as `serve --recover` does: what is whole of it goes on, the damaged file is "
        "kept beside it.",
    )

    # ------------------------------------------------------------------ the event log
    events_path: str = _key("events.path", "", "Folder for the files of the event log; empty: none are written.")
    events_queue_max: int = _key(
        "events.queue.max", 100_000, "Events that may wait to be written; further ones are dropped.", _within()
    )
    events_file_bytes_max: int = _key(
        "events.file.bytes.max", 67_108_864, "Size at which the next event file begins.", _within(1024)
    )
    events_file_age_ms: int = _key(
        "events.file.age.ms", 3_600_000, "Age at which the next event file begins.", _within(1000)
    )
    events_total_bytes_max: int = _key(
        "events.total.bytes.max",
        1_073_741_824,
        "Size of all event files together; beyond it the oldest are deleted.",
        _within(1024, 2**50),
    )
    events_total_age_ms: int = _key(
        "events.total.age.ms", 604_800_000, "Age beyond which event files are deleted.", _within(1000, 2**50)
    )
    events_topic: str = _key(
        "events.topic",
        "",
        "Topic that events are sent to as well; empty: none. Needs the extra `demo` (its client library).",
    )
    events_bootstrap: Names = _names(
        "events.bootstrap", (), "Brokers of that topic, HOST:PORT each; none: those of `bootstrap`."
    )
    events_spool_path: str = _key(
        "events.spool.path", "epochbridge-events-spool", "Folder that keeps events while the topic is away."
    )
    events_spool_bytes_max: int = _key(
        "events.spool.bytes.max",
        268_435_456,
        "Size of what is kept there; beyond it events for the topic are dropped.",
        _within(65_536, 2**50),
    )

    # ------------------------------------------------------------------ rebalances measured and traced
    metrics_rebalances: bool = _key(
        "metrics.rebalances", True, "Follow all groups, and measure their rebalances at /metrics of the admin API."
    )
    otel_endpoint: str = _key(
        "otel.endpoint",
        "",
        "URL of an OpenTelemetry collector that gets a trace of each rebalance; empty: none. Needs the extra `otel`.",
    )
    otel_protocol: str = _key(
        "otel.protocol",
        "http/protobuf",
        "OTLP over HTTP (port 4318 as a rule) or gRPC (4317).",
        Bounds(choices=("http/protobuf", "grpc")),
    )
    otel_headers: Names = _names("otel.headers", (), "Headers to send to the collector, NAME=VALUE each.")

    # ------------------------------------------------------------------ Kafka's own
    group_min_session_timeout_ms: int = _key(
        "group.min.session.timeout.ms", 6_000, "Least session timeout of a classic member.", _kafka()
    )
    group_max_session_timeout_ms: int = _key(
        "group.max.session.timeout.ms", 1_800_000, "Greatest session timeout of a classic member.", _kafka()
    )
    group_initial_rebalance_delay_ms: int = _key(
        "group.initial.rebalance.delay.ms",
        3_000,
        "Time that an empty group waits for more classic members before its first assignment.",
        _kafka(0, per_group=True),
    )
    group_consumer_session_timeout_ms: int = _key(
        "group.consumer.session.timeout.ms", 45_000, "Session timeout of consumer members.", _kafka(per_group=True)
    )
    group_consumer_min_session_timeout_ms: int = _key(
        "group.consumer.min.session.timeout.ms", 45_000, "Least session timeout of consumer members.", _kafka()
    )
    group_consumer_max_session_timeout_ms: int = _key(
        "group.consumer.max.session.timeout.ms", 60_000, "Greatest session timeout of consumer members.", _kafka()
    )
    group_consumer_heartbeat_interval_ms: int = _key(
        "group.consumer.heartbeat.interval.ms", 5_000, "Heartbeat interval of consumer members.", _kafka(per_group=True)
    )
    group_consumer_min_heartbeat_interval_ms: int = _key(
        "group.consumer.min.heartbeat.interval.ms", 5_000, "Least heartbeat interval of consumer members.", _kafka()
    )
    group_consumer_max_heartbeat_interval_ms: int = _key(
        "group.consumer.max.heartbeat.interval.ms", 15_000, "Greatest heartbeat interval of consumer members.", _kafka()
    )
    group_consumer_max_size: int = _key(
        "group.consumer.max.size", INT_MAX, "Most members of a consumer group.", _kafka(per_group=True)
    )
    group_max_size: int = _key("group.max.size", INT_MAX, "Most members of a classic group.", _kafka(per_group=True))
    group_consumer_migration_policy: str = _key(
        "group.consumer.migration.policy",
        "bidirectional",
        "Which groups with members may change their kind by themselves: `upgrade` when the first KIP-848 member joins "
        "a classic group, `downgrade` when the last one leaves a consumer group; an operator may always.",
        Bounds(choices=("bidirectional", "upgrade", "downgrade", "disabled"), origin=Origin.KAFKA, per_group=True),
    )
    group_consumer_assignors: Names = _names(
        "group.consumer.assignors",
        ("uniform", "range"),
        "Assignors that a group may use; the first is the default.",
        Bounds(origin=Origin.KAFKA, per_group=True),
    )
    group_consumer_assignment_interval_ms: int = _key(
        "group.consumer.assignment.interval.ms",
        0,
        "Least time between two target assignments of a group (Kafka 4.3: 1000).",
        _kafka(0, per_group=True),
    )
    group_consumer_min_assignment_interval_ms: int = _key(
        "group.consumer.min.assignment.interval.ms", 0, "Least assignment interval of consumer groups.", _kafka(0)
    )
    group_consumer_max_assignment_interval_ms: int = _key(
        "group.consumer.max.assignment.interval.ms",
        15_000,
        "Greatest assignment interval of consumer groups.",
        _kafka(0),
    )
    offset_metadata_max_bytes: int = _key(
        "offset.metadata.max.bytes", 4_096, "Longest text that a client may commit with an offset.", _kafka(0)
    )


def _describe(item: "Field[Value]") -> Key:
    bounds = cast(Bounds, item.metadata["bounds"])
    return Key(
        name=str(item.metadata["name"]),
        field_name=item.name,
        default=cast(Value, item.default),
        text=str(item.metadata["text"]),
        minimum=bounds.minimum,
        maximum=bounds.maximum,
        choices=bounds.choices,
        origin=bounds.origin,
        per_group=bounds.per_group,
    )


KEYS: Mapping[str, Key] = {key.name: key for key in map(_describe, fields(Settings))}
"""Every key by its name, in the order of `Settings`."""
