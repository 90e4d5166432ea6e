"""Every key of the configuration: name, default, bounds and meaning, as the fields of one frozen value."""

from collections.abc import Mapping
from dataclasses import dataclass, fields

from bridge.config.fields import INT_MAX, Bounds, Key, Names, describe, key, names, within
from bridge.config.kafka_keys import KafkaSettings

TLS_VERSIONS = ("TLSv1.2", "TLSv1.3")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(KafkaSettings):
    """One value per key, Kafka's own among them; the field is the key with dots and hyphens as underscores."""

    # ------------------------------------------------------------------ where clients and brokers are
    bootstrap: Names = names(
        "bootstrap", (), "Brokers to ask first, HOST:PORT each; the rest of the cluster is learned from them."
    )
    listen: str = key("listen", "127.0.0.1:9192", "HOST:PORT of the bootstrap listener that clients connect to.")
    advertised_host: str = key(
        "advertised.host", "", "Host that clients bootstrap to and are told to connect to; empty: the host of `listen`."
    )
    listen_ports_first: int = key(
        "listen.ports.first",
        0,
        "Port of broker 0; broker N has the one N further on, up or not; 0: the one after the bootstrap port.",
        within(0, 65_535),
    )
    listen_ports: Names = names(
        "listen.ports",
        (),
        "Ports of single brokers, NODE=PORT each, opened at the start; others are as `listen.ports.first` says.",
    )
    listen_sni_pattern: str = key(
        "listen.sni.pattern",
        "",
        "Host of each broker, as in `b{id}.kafka.example` or `b{id}.kafka.example:443`: which broker a client wants is "
        "told by the host that it asks for in TLS, at the one port of `listen`; `advertised.host` is the one for "
        "bootstrap. Empty: each broker has a port.",
    )
    listen_proxy_protocol: str = key(
        "listen.proxy-protocol",
        "off",
        "Whether load balancers say in front of each connection where its client comes from (PROXY protocol, version "
        "2). `required`: they must, and nobody may come in another way; `optional`: they may, and so may others.",
        Bounds(choices=("off", "optional", "required")),
    )
    listen_proxy_protocol_from: Names = names(
        "listen.proxy-protocol.from", (), "Addresses or networks of these load balancers; nobody else is believed."
    )
    listen_tls: bool = key(
        "listen.tls",
        False,
        "Speak TLS to clients, at every port that they use: set security.protocol to SSL or SASL_SSL in them.",
    )
    listen_tls_certificate_path: str = key(
        "listen.tls.certificate.path",
        "",
        "The certificate that clients are shown, with its chain: PEM, or PKCS#12 with its key (the extra `tls`); it "
        "names the host that clients are told (`advertised.host`).",
    )
    listen_tls_key_path: str = key(
        "listen.tls.key.path", "", "Its key as PEM; empty: it is in the file of the certificate."
    )
    listen_tls_password_path: str = key(
        "listen.tls.password.path", "", "File that holds the password of the key, or of the PKCS#12 file."
    )
    listen_tls_client_auth: str = key(
        "listen.tls.client.auth",
        "none",
        "Whether clients show a certificate: not at all, if they have one, or always; one that is shown must be valid.",
        Bounds(choices=("none", "requested", "required")),
    )
    listen_tls_trust_path: str = key(
        "listen.tls.trust.path", "", "File of the authorities whose clients are let in, PEM or PKCS#12."
    )
    listen_tls_trust_password_path: str = key(
        "listen.tls.trust.password.path", "", "File that holds the password of that file, where it is PKCS#12."
    )
    listen_tls_clients_path: str = key(
        "listen.tls.clients.path",
        "",
        "File that says how the bridge logs in to brokers for clients by their certificates, which brokers do not see: "
        "lines of SUBJECT MECHANISM USERNAME PASSWORD-FILE; who is in no line is turned away. Read again when it has "
        "changed.",
    )
    listen_tls_version_min: str = key(
        "listen.tls.version.min", "TLSv1.2", "Least version of TLS with clients.", Bounds(choices=TLS_VERSIONS)
    )
    listen_sasl_mechanisms: Names = names(
        "listen.sasl.mechanisms",
        (),
        "Have clients log in at the bridge itself, by these mechanisms, where the cluster has no logins: `PLAIN`, "
        "`SCRAM-SHA-256`, `SCRAM-SHA-512`. Empty: logins are the brokers' and pass through.",
    )
    listen_sasl_clients_path: str = key(
        "listen.sasl.clients.path",
        "",
        "File of those who may log in there: lines of NAME KEYS, as `epochbridge login-line NAME` makes them. Read "
        "again when it has changed.",
    )
    listen_sasl_session_ms: int = key(
        "listen.sasl.session.ms",
        0,
        "How long such a login lasts before the client has to log in again (KIP-368), as connections.max.reauth.ms; 0: "
        "as long as its connection.",
        within(0),
    )
    admin_listen: str = key("admin.listen", "127.0.0.1:9190", "HOST:PORT of the admin API; `off` for none.")
    admin_token_path: str = key(
        "admin.token.path",
        "",
        "File that holds the token with which the admin API may be read and given orders from elsewhere, at least 16 "
        "characters; empty: nobody may.",
    )
    admin_token_read_path: str = key(
        "admin.token.read.path", "", "The same for a token with which it may be read only, and given no orders."
    )
    admin_tls: bool = key("admin.tls", False, "Speak TLS at the admin API: ask it by https://.")
    admin_tls_certificate_path: str = key(
        "admin.tls.certificate.path",
        "",
        "The certificate that the admin API shows, with its chain: PEM, or PKCS#12 with its key (the extra `tls`); it "
        "names the hosts by which it is asked.",
    )
    admin_tls_key_path: str = key(
        "admin.tls.key.path", "", "Its key as PEM; empty: it is in the file of the certificate."
    )
    admin_tls_password_path: str = key(
        "admin.tls.password.path", "", "File that holds the password of the key, or of the PKCS#12 file."
    )
    admin_tls_client_auth: str = key(
        "admin.tls.client.auth",
        "none",
        "Whether those who ask show a certificate: not at all, if they have one, or always; one that is shown must be "
        "valid. With `required`, probes and collectors need one, too.",
        Bounds(choices=("none", "requested", "required")),
    )
    admin_tls_trust_path: str = key(
        "admin.tls.trust.path", "", "File of the authorities whose certificates are let in there, PEM or PKCS#12."
    )
    admin_tls_trust_password_path: str = key(
        "admin.tls.trust.password.path", "", "File that holds the password of that file, where it is PKCS#12."
    )
    admin_tls_clients_path: str = key(
        "admin.tls.clients.path",
        "",
        "File that says what certificates allow: lines of SUBJECT ROLE, of which the first that means a subject "
        "counts; ROLE is `read`, or `order`, which reads, too; who is in no line needs a token. Empty: every valid "
        "certificate may read. Read again when it has changed.",
    )
    admin_tls_version_min: str = key(
        "admin.tls.version.min", "TLSv1.2", "Least version of TLS at the admin API.", Bounds(choices=TLS_VERSIONS)
    )

    # ------------------------------------------------------------------ the wire
    wire_node_endpoints: str = key(
        "wire.node-endpoints",
        "cap",
        "`cap`: offer Produce up to 9 and Fetch up to 15, whose answers carry no addresses and are relayed unread; "
        "`rewrite`: offer what the broker has and rewrite the addresses (KIP-951).",
        Bounds(choices=("cap", "rewrite")),
    )
    wire_frame_bytes_max: int = key(
        "wire.frame.bytes.max",
        104_857_600,
        "Largest request that is relayed, as socket.request.max.bytes.",
        within(1024),
    )
    wire_group_frame_bytes_max: int = key(
        "wire.group-frame.bytes.max",
        1_048_576,
        "Largest request of a group that the bridge itself reads.",
        within(1024),
    )
    wire_offsets_frame_bytes_max: int = key(
        "wire.offsets-frame.bytes.max",
        16_777_216,
        "Largest commit or fetch of offsets that the bridge itself reads.",
        within(1024),
    )
    wire_elements_max: int = key(
        "wire.elements.max",
        25_000,
        "Most elements of all arrays of a request that the bridge itself reads: members, protocols, partitions, and "
        "what a classic member subscribes to and owns; each takes up to 400 bytes while it is read; a commit of more "
        "than 1,000 partitions is carried out in pieces, and others are served between them.",
        within(1024),
    )
    wire_names_max: int = key(
        "wire.names.max",
        10_000,
        "Most members or groups of one request that the bridge itself reads to remove, describe or delete them; each "
        "takes up to 30 µs, in which nobody else is served.",
        within(100),
    )
    wire_answer_bytes_max: int = key(
        "wire.answer.bytes.max", 33_554_432, "Largest broker answer that is held whole to be changed.", within(1024)
    )

    # ------------------------------------------------------------------ limits of the net room
    limits_connections_max: int = key(
        "limits.connections.max",
        10_000,
        "Client connections at once, as far as file descriptors go (2 each; 128 are kept, and 2 for each broker beyond "
        "8); others are closed at once.",
        within(),
    )
    limits_connections_rate_max: int = key(
        "limits.connections.rate.max",
        INT_MAX,
        "Connections that all clients together may open within a second, before anything is read from them, as "
        "max.connection.creation.rate; further ones are closed at once. Without limit unless set, as in Kafka: all "
        "clients of a bridge come again at once when it was away.",
        within(),
    )
    limits_connections_address_rate_max: int = key(
        "limits.connections.address.rate.max",
        INT_MAX,
        "Connections that one address, of IPv6 one /64, may open within a second, before anything is read from them; "
        "further ones are closed at once. Without limit unless set, as Kafka's connection_creation_rate: many clients "
        "may share one.",
        within(),
    )
    limits_connections_address_max: int = key(
        "limits.connections.address.max",
        INT_MAX,
        "Connections of one address, of IPv6 one /64, at once, as max.connections.per.ip; further ones are closed at "
        "once. Without limit unless set, as in Kafka: many clients may share one.",
        within(),
    )
    limits_requests_in_flight_max: int = key(
        "limits.requests.in-flight.max", 1_000, "Unanswered requests of one connection; then reading pauses.", within()
    )
    limits_bytes_in_flight_max: int = key(
        "limits.bytes.in-flight.max", 4_194_304, "Bytes held for one connection; then reading pauses.", within(65_536)
    )
    limits_inflight_bytes: int = key(
        "limits.inflight.bytes",
        268_435_456,
        "Bytes in the buffers of all connections together; beyond it large requests, and answers that are held whole, "
        "come in one after the other, the oldest first, and who has 4 KiB that wait, answers or requests, is given no "
        "further answer.",
        within(1_048_576, 2**50),
    )
    limits_unauthenticated_bytes: int = key(
        "limits.unauthenticated.bytes",
        16_777_216,
        "Bytes in the buffers of all connections together whose clients have not logged in, where the cluster is not "
        "known to be open or the bridge wants logins; beyond it those of them that hold more than 4 KiB are closed.",
        within(65_536, 2**50),
    )
    limits_unauthenticated_frame_bytes: int = key(
        "limits.unauthenticated.frame.bytes",
        524_288,
        "Largest request before a login, where the cluster is not known to be open or the bridge wants logins, as "
        "sasl.server.max.receive.size; larger ones close the connection.",
        within(1024),
    )
    limits_unauthenticated_steps_max: int = key(
        "limits.unauthenticated.steps.max",
        10,
        "Requests of SASL in a row, on one connection, that bring no login to its end; one more closes it. SCRAM takes "
        "three, and Kafka closes at the first that fails.",
        within(),
    )
    limits_logins_waiting_max: int = key(
        "limits.logins.waiting.max",
        1_000,
        "Logins by PLAIN at the bridge itself that wait for their password to be judged, which takes milliseconds; one "
        "more closes its connection, and clients try again.",
        within(),
    )
    limits_idle_ms: int = key(
        "limits.idle.ms",
        600_000,
        "Silence after which a client connection is closed, as connections.max.idle.ms; also of a client that takes "
        "nothing of the answers that lie there for it.",
        within(),
    )
    limits_progress_ms: int = key(
        "limits.progress.ms", 30_000, "Time in which a begun request has to make progress.", within()
    )
    limits_handshakes_max: int = key(
        "limits.handshakes.max",
        4_096,
        "Client connections whose TLS has not come about yet, at once; others are closed at once.",
        within(),
    )
    limits_handshake_ms: int = key(
        "limits.handshake.ms", 30_000, "Time in which TLS with a client has to come about.", within()
    )
    connect_timeout_ms: int = key("connect.timeout.ms", 10_000, "Time to reach a broker, all tries together.", within())
    connect_backoff_ms: int = key(
        "connect.backoff.ms",
        100,
        "First pause between tries to reach a broker; each further one is twice as long, up to a second.",
        within(),
    )
    drain_timeout_ms: int = key(
        "drain.timeout.ms", 10_000, "Time for running requests to end after SIGTERM.", within(0)
    )
    metadata_refresh_ms: int = key(
        "metadata.refresh.ms", 60_000, "How often the cluster's brokers are asked for.", within(100)
    )

    # ------------------------------------------------------------------ who the bridge is to the cluster
    upstream_sasl_mechanism: str = key(
        "upstream.sasl.mechanism",
        "off",
        "How the bridge logs in where it asks the cluster for itself: topics, members of groups, offsets to commit "
        "again. Clients log in by themselves, through the bridge.",
        Bounds(choices=("off", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")),
    )
    upstream_sasl_username: str = key(
        "upstream.sasl.username", "", "The name that the bridge logs in with; of OAUTHBEARER's endpoint, its client id."
    )
    upstream_sasl_password_path: str = key(
        "upstream.sasl.password.path",
        "",
        "File that holds the password (the client's secret) and nothing else (a line end is left out), so that no "
        "configuration shows it; read at every login, so what is written into it counts without a restart.",
    )
    upstream_sasl_password_variable: str = key(
        "upstream.sasl.password.variable", "", "Instead of the file: the name of an environment variable that holds it."
    )
    upstream_sasl_token_path: str = key(
        "upstream.sasl.token.path",
        "",
        "File that holds the token of OAUTHBEARER, kept fresh by somebody else; read at every login.",
    )
    upstream_sasl_token_endpoint: str = key(
        "upstream.sasl.token.endpoint",
        "",
        "URL that gives a token of OAUTHBEARER for client id and secret (client credentials); asked again after four "
        "fifths of a token's life. Without TLS on this machine only.",
    )
    upstream_sasl_token_scope: str = key("upstream.sasl.token.scope", "", "Scope to ask that endpoint for.")
    upstream_sasl_token_trust_path: str = key(
        "upstream.sasl.token.trust.path",
        "",
        "File of the authorities that endpoint is trusted by, as PEM; empty: the system's.",
    )

    # ------------------------------------------------------------------ TLS to brokers
    upstream_proxy_protocol: str = key(
        "upstream.proxy-protocol",
        "off",
        "Say in front of each connection to a broker where its client comes from (`v2`: PROXY protocol, version 2), "
        "for proxies before the brokers that read it; Kafka's own listeners do not.",
        Bounds(choices=("off", "v2")),
    )
    upstream_tls: bool = key(
        "upstream.tls",
        False,
        "Speak TLS to brokers, on connections of clients and on the bridge's own: name their SSL or SASL_SSL listeners "
        "in `bootstrap`.",
    )
    upstream_tls_trust_path: str = key(
        "upstream.tls.trust.path",
        "",
        "File of the authorities whose brokers are trusted, PEM or PKCS#12 (the extra `tls`); empty: the system's.",
    )
    upstream_tls_trust_password_path: str = key(
        "upstream.tls.trust.password.path", "", "File that holds the password of that file, where it is PKCS#12."
    )
    upstream_tls_verify_hostname: bool = key(
        "upstream.tls.verify.hostname", True, "Whether a broker's certificate must name the host that it is reached by."
    )
    upstream_tls_certificate_path: str = key(
        "upstream.tls.certificate.path",
        "",
        "The bridge's own certificate and its chain, for brokers that want one (`ssl.client.auth`), PEM or PKCS#12 "
        "with its key; to brokers all that comes through the bridge is then the bridge's.",
    )
    upstream_tls_key_path: str = key(
        "upstream.tls.key.path", "", "Its key as PEM; empty: it is in the file of the certificate."
    )
    upstream_tls_password_path: str = key(
        "upstream.tls.password.path", "", "File that holds the password of the key, or of the PKCS#12 file."
    )
    upstream_tls_version_min: str = key(
        "upstream.tls.version.min", "TLSv1.2", "Least version of TLS with brokers.", Bounds(choices=TLS_VERSIONS)
    )

    certificates_watch_ms: int = key(
        "certificates.watch.ms",
        10_000,
        "How often the files of `listen.tls`, `listen.sasl`, `upstream.tls` and `admin.tls` are looked at; those that "
        "have changed, and are what they were at the look before, count for new connections.",
        within(100),
    )

    # ------------------------------------------------------------------ rights
    authorization_cache_ms: int = key(
        "authorization.cache.ms",
        60_000,
        "How long what a broker says of a client's right on an embedded group counts before it is asked again, on the "
        "client's own connection and beside its requests; where no answer comes, twice as long.",
        within(100),
    )
    authorization_cache_max: int = key(
        "authorization.cache.max",
        100_000,
        "Rights that are kept for all clients and groups together, some 400 bytes each; beyond it the oldest are asked "
        "for again at their next use.",
        within(),
    )

    # ------------------------------------------------------------------ road embedded
    embedded_initial_group_type: str = key(
        "embedded.initial.group.type",
        "consumer",
        "What a group is that a classic client joins first: `consumer` translates its members where that can be "
        "done, `classic` runs it as a broker does, by its own leader; clients that can't be translated get the "
        "latter always.",
        Bounds(choices=("consumer", "classic"), per_group=True),
    )
    embedded_topics_refresh_ms: int = key(
        "embedded.topics.refresh.ms", 5_000, "How often new topics and partitions are looked for.", within(100)
    )
    bridges_group: str = key(
        "bridges.group",
        "__epochbridge-bridges",
        "The group at the cluster by which bridges before it notice each other, so that no two serve the same group; "
        "off for none. The bridge's own login needs READ on it.",
    )
    embedded_resume_grace_ms: int = key(
        "embedded.resume.grace.ms",
        6_000,
        "After start without a journal no group gets an assignment before this time, so that survivors come first.",
        within(0),
    )
    group_configs_max: int = key(
        "group.configs.max",
        10_000,
        "Groups that may have settings of their own, given by `kafka-configs --entity-type groups`; those of one more "
        "are refused.",
        within(0),
    )
    gain_wait_max_ms: int = key(
        "gain.wait.max.ms",
        5_000,
        "Longest time that a freed partition waits for the rest of a member's gains.",
        within(0),
    )
    eager_join_hold_max_ms: int = key(
        "eager.join.hold.max.ms",
        5_000,
        "Longest time that an eager member's JoinGroup waits for its partitions.",
        within(0),
    )
    commit_drain_ms: int = key(
        "commit.drain.ms",
        5_000,
        "Time after which a commit whose answer was lost counts as over (at least offsets.commit.timeout.ms).",
        within(0),
    )
    departure_wait_ms: int = key(
        "departure.wait.ms",
        1_000,
        "How long the partitions of a member that said that it leaves wait for whoever comes next, so that a quick "
        "restart moves nothing and nobody else hears of it; 0 for not at all, as in Kafka.",
        Bounds(minimum=0, maximum=INT_MAX, per_group=True),
    )
    replacement_grace_ms: int = key(
        "replacement.grace.ms",
        0,
        "How long the partitions of a member that left wait for a newcomer of the same client id and host, or of the "
        "same instance id, so that a rolling restart moves nothing and nobody else hears of it; 0 for not at all.",
        Bounds(minimum=0, maximum=INT_MAX, per_group=True),
    )
    offsets_recommit_ms: int = key(
        "offsets.recommit.ms",
        86_400_000,
        "How often the committed offsets of live embedded groups are committed again, so that they do not expire.",
        within(1000),
    )

    # ------------------------------------------------------------------ plans
    migration_groups_max: int = key(
        "migration.groups.max",
        5,
        "Most groups that plans move at a time, all plans together; moves that operators ordered count, too.",
        within(1, 1_000),
    )
    migration_judge_rebalances_max: int = key(
        "migration.judge.rebalances.max",
        2_000,
        "Most rebalances of which the waits of members are kept until plans look at them, 200 every two seconds; where "
        "there are more, the oldest count for no judge of canaries.",
        within(1, 1_000_000),
    )

    # ------------------------------------------------------------------ what survives a restart
    journal: str = key(
        "journal",
        "sqlite",
        "`sqlite`: embedded groups go on after a restart, kill -9 included; `memory`: they are lost with the process.",
        Bounds(choices=("sqlite", "memory")),
    )
    journal_path: str = key(
        "journal.path",
        "",
        "File of the sqlite journal, in a folder that exists; empty: one for each `listen` and first broker, in "
        "`$STATE_DIRECTORY` or else in `epochbridge` under `$XDG_STATE_HOME` or `~/.local/state`.",
    )
    journal_sync: str = key(
        "journal.sync",
        "full",
        "`full`: every append waits for the disk, so power may fail; `normal`: only the process may.",
        Bounds(choices=("full", "normal")),
    )
    journal_bytes_max: int = key(
        "journal.bytes.max",
        1_073_741_824,
        "Largest journal; beyond it embedded groups refuse new work as on a full disk.",
        within(65_536, 2**40),
    )
    journal_share_group: int = key(
        "journal.share.group",
        25,
        "Most that the members of one group may hold of `journal.bytes.max`, in percent; joins beyond it are told to "
        "try again, and nobody else notices.",
        within(1, 100),
    )
    journal_share_client: int = key(
        "journal.share.client",
        25,
        "The same for all members whose clients come from one address; raise it where many come through one.",
        within(1, 100),
    )
    journal_recover: bool = key(
        "journal.recover",
        False,
        "Start with a damaged journal, as `serve --recover` does: what is whole of it goes on, the damaged file is "
        "kept beside it.",
    )

    # ------------------------------------------------------------------ the event log
    events_path: str = key("events.path", "", "Folder for the files of the event log; empty: none are written.")
    events_queue_max: int = key(
        "events.queue.max", 100_000, "Events that may wait to be written; further ones are dropped.", within()
    )
    events_file_bytes_max: int = key(
        "events.file.bytes.max", 67_108_864, "Size at which the next event file begins.", within(1024)
    )
    events_file_age_ms: int = key(
        "events.file.age.ms", 3_600_000, "Age at which the next event file begins.", within(1000)
    )
    events_total_bytes_max: int = key(
        "events.total.bytes.max",
        1_073_741_824,
        "Size of all event files together; beyond it the oldest are deleted.",
        within(1024, 2**50),
    )
    events_total_age_ms: int = key(
        "events.total.age.ms", 604_800_000, "Age beyond which event files are deleted.", within(1000, 2**50)
    )
    events_topic: str = key(
        "events.topic",
        "",
        "Topic of events; empty: none. At brokers of `bootstrap` in TLS and login of `upstream`. Needs extra `demo`.",
    )
    events_bootstrap: Names = names(
        "events.bootstrap", (), "Brokers of that topic, HOST:PORT each; none: those of `bootstrap`."
    )
    events_spool_path: str = key(
        "events.spool.path", "epochbridge-events-spool", "Folder that keeps events while the topic is away."
    )
    events_spool_bytes_max: int = key(
        "events.spool.bytes.max",
        268_435_456,
        "Size of what is kept there; beyond it events for the topic are dropped.",
        within(65_536, 2**50),
    )

    # ------------------------------------------------------------------ rebalances measured and traced
    metrics_rebalances: bool = key(
        "metrics.rebalances", True, "Follow all groups, and measure their rebalances at /metrics of the admin API."
    )
    otel_endpoint: str = key(
        "otel.endpoint",
        "",
        "URL of an OpenTelemetry collector that gets a trace of each rebalance; empty: none. Needs the extra `otel`.",
    )
    otel_protocol: str = key(
        "otel.protocol",
        "http/protobuf",
        "OTLP over HTTP (port 4318 as a rule) or gRPC (4317).",
        Bounds(choices=("http/protobuf", "grpc")),
    )
    otel_headers: Names = names(
        "otel.headers", (), "Headers to send to the collector, NAME=VALUE each; never shown.", Bounds(is_secret=True)
    )


KEYS: Mapping[str, Key] = {one.name: one for one in map(describe, fields(Settings))}
"""Every key by its name, Kafka's own first."""
