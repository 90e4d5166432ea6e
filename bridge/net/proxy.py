"""One proxy in front of one cluster: its listeners, its connections, its statistics and its end.

Whoever answers for groups is given to it.
"""

import logging
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import trio

from bridge.log_lines import REPEAT_MS, Line, RateLimitedLog
from bridge.migration.route import Road, Router
from bridge.net.announcements import Origin, announce, hear
from bridge.net.broker_ports import BrokerPorts
from bridge.net.client_connection import ClientConnection
from bridge.net.client_handshakes import Handshakes
from bridge.net.clock import now_ms
from bridge.net.cluster import UpstreamCluster
from bridge.net.descriptors import ADVICE, FreeDescriptors, Spare, is_used_up, pipes_max, tell_clients_max
from bridge.net.endings import tell_end, tell_refusal
from bridge.net.expiry import ExpiryWatch
from bridge.net.host_lookups import HostLookups
from bridge.net.kept_logins import read_users
from bridge.net.listener import accept_from, bound_port, listen
from bridge.net.reply_routes import ReplyRoutes
from bridge.net.settings import ProxySettings
from bridge.net.shared import LOG, InFlight, Place, Shared, no_place
from bridge.net.splicing import Pipes
from bridge.net.standstill import Standstill
from bridge.net.subject_logins import MappedCluster, SubjectLogins, read_subject_logins
from bridge.net.tls import CertificateFiles, Certificates, ClientCertificates, Renewed, broker_context, client_context
from bridge.net.tls_transport import TlsTransport
from bridge.net.transport import SocketTransport, Transport
from bridge.session.balancers import Balancers
from bridge.session.broker_addresses import Address, Advertised, Directory, HostNames
from bridge.session.client_session import ClientSession, ReportKind, Rules
from bridge.session.close_reasons import CloseReason
from bridge.session.contracts import Groups, Passing
from bridge.session.counters import Counters, Statistics
from bridge.session.grants import Grants
from bridge.session.group_requests import NOTHING_KNOWN, KnownGroups
from bridge.session.old_commits import OldCommits
from bridge.session.open_connections import OpenConnections
from bridge.session.requests import Rejected
from bridge.supervision import (
    ACCEPT,
    CERTIFICATES,
    CONNECTION,
    POLLER,
    REFRESH,
    SWEEP,
    Failures,
    carry_out,
    guarded,
    keep_running,
    start_guarded,
    start_job,
)
from bridge.wire.proxy_protocol import Route
from translators.dialects.errors import quote
from translators.dialects.ids import Topic

DRAIN_LOOK_S = 0.02
"""How often it is looked whether the last answers have left."""
SWEEPS_PER_LIMIT = 4
SWEEP_MAX_S = 5.0
"""Connections are looked at so many times within the shortest of their limits, and at least this often."""
RETRY_MS = 1_000
"""How soon a cluster that says nothing is asked again."""
DOUBTED_RETRY_MS = 5_000
"""How soon the cluster is asked again where a broker could not be reached: else it is there for a minute more."""
REFUSED_RETRY_MS = 10_000
"""How soon one that refuses the bridge's login is, or that there is nothing to log in at with."""
FIRST_REFRESH_S = 0.4
"""How long the start waits for the cluster, so that a port of a broker that can't be had ends it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Those behind the proxy: who answers for groups, who hears of passing ones, where replies are handed in."""

    groups: Mapping[Road, Groups]
    """Who serves which road; `pass` needs nobody."""
    router: Router
    """Which road a group takes now."""
    passing: Passing
    reply_routes: ReplyRoutes
    counters: Counters
    failures: Failures = field(default_factory=Failures)
    known_groups: KnownGroups = NOTHING_KNOWN
    """What those behind `groups` know of where groups live; `place` finds it out where they don't."""
    place: Place = no_place
    report_kind: ReportKind = lambda _group_id, _kind: None
    old_commits: OldCommits = field(default_factory=OldCommits)
    """Hears who commits in a version that Kafka 4 does not take."""
    recalled: str | None = None
    """What an earlier life knew of the cluster, see `cluster_memory`; `keep` takes what the next one shall know."""
    keep: Callable[[str], None] = lambda _: None
    recalled_topics: Callable[[], Iterable[Topic]] = tuple
    """The topics that this earlier life saw."""


class Proxy:
    """Made by serve_proxy; lives as long as that runs."""

    def __init__(self, settings: ProxySettings, services: Services, nursery: trio.Nursery) -> None:
        self._settings = settings
        self._nursery = nursery
        self._reply_routes = services.reply_routes
        rules = Rules(
            limits=settings.limits,
            router=services.router,
            node=settings.node,
            known_groups=services.known_groups,
            report_kind=services.report_kind,
            logins=None if settings.logins is None else settings.logins.read(),
            old_commits=services.old_commits,
        )
        self._shared = Shared(
            rules=rules,
            groups=services.groups,
            passing=services.passing,
            place=services.place,
            counters=services.counters,
            failures=services.failures,
            pipes=Pipes(pipes_max(settings.limits.connections_max)),
            in_flight=InFlight(settings.limits.all_inflight_bytes_max),
            unauthenticated=InFlight(settings.limits.unauthenticated_bytes_max),
            grants=Grants(settings.limits.grant_ms, settings.limits.grants_max),
        )
        self._connections: dict[int, ClientConnection] = {}
        self._next_connection = 0
        self._accepting: list[trio.CancelScope] = []
        self._open = OpenConnections(settings.limits)
        self.descriptors = FreeDescriptors(
            settings.limits.connections_max, lambda: self._open.count, lambda: len(self.brokers)
        )
        self._spare = Spare()
        tell_clients_max(settings.limits.connections_max)
        first = listen(settings.listen)
        self.bootstrap = Address(settings.advertised_host or settings.listen.host, bound_port(first))
        self._names: HostNames | None = None
        if settings.host_pattern is not None:
            self._names = HostNames(bootstrap=self.bootstrap.host, pattern=settings.host_pattern)
        self._subject_logins = _subject_logins(settings, self._shared.log)
        self.certificates = Certificates(
            self._certificate_files(), settings.certificates_watch_ms, self._expiry_watches()
        )
        self._handshakes: Handshakes | None = None
        if settings.client_tls is not None:
            self._handshakes = Handshakes(client_context(settings.client_tls), settings.limits, self._names)
        self._directory = Directory(self._advertised())
        self.broker_ports = BrokerPorts(
            self._directory, settings.listen.host, self._start_accepting, self._shared.counters, self._shared.log
        )
        self.cluster = UpstreamCluster(settings, self._directory, self._listen_for, self._shared.log)
        self.broker_ports.begin(self.bootstrap.port, settings.broker_ports)
        self.cluster.keep = services.keep
        self.cluster.coordinates = partial(services.router.serves, Road.EMBEDDED)
        self.cluster.takes_groups = services.router.takes_groups
        if services.recalled is not None:
            self.cluster.resume(services.recalled, services.recalled_topics, services.router)
        start_job(nursery, self._shared.failures, POLLER, self._shared.poller.run)
        self._start_accepting(first, None)

    def _advertised(self) -> Advertised:
        settings, (host, port) = self._settings, self.bootstrap
        next_port = port + 1 if settings.listen.port else 0
        pattern = settings.host_pattern
        return Advertised(
            host=host,
            first_port=settings.first_broker_port or next_port,
            ports=settings.broker_ports,
            pattern=pattern and replace(pattern, port=pattern.port or port),
        )

    def _certificate_files(self) -> Iterator[Renewed]:
        """What is read again of each side that has TLS."""
        clients, brokers = self._settings.client_tls, self._settings.broker_tls
        users, logins = self._settings.logins, self._shared.rules.logins
        if users is not None and logins is not None:
            yield CertificateFiles("listen.sasl", frozenset({users.path}), partial(read_users, users.path), logins.use)
        if clients is not None:
            yield CertificateFiles("listen.tls", clients.paths(), partial(client_context, clients), self._face_clients)
        if clients is not None and clients.clients is not None and self._subject_logins is not None:
            read = partial(read_subject_logins, clients.clients)
            yield CertificateFiles("listen.tls", frozenset({clients.clients}), read, self._subject_logins.use)
        if brokers is not None:
            yield CertificateFiles(
                "upstream.tls", brokers.paths(), partial(broker_context, brokers), self._face_brokers
            )

    def _expiry_watches(self) -> Iterator[ExpiryWatch]:
        clients, brokers = self._settings.client_tls, self._settings.broker_tls
        if clients is not None:
            yield ExpiryWatch("listen.tls", clients.identity)
        if brokers is not None and brokers.identity is not None:
            yield ExpiryWatch("upstream.tls", brokers.identity)

    def _face_clients(self, context: ssl.SSLContext) -> None:
        assert self._handshakes is not None, "clients have TLS from the start or not at all"
        self._handshakes.use(context)

    def _face_brokers(self, context: ssl.SSLContext) -> None:
        self.cluster.tls = context

    @property
    def is_ready(self) -> bool:
        """Whether new clients are welcome and the cluster answered and let the bridge in when it was asked last."""
        return not self.why_not_ready

    @property
    def is_draining(self) -> bool:
        """Whether the bridge is about to end."""
        return self._shared.is_draining

    @property
    def why_not_ready(self) -> str:
        """Why new clients should not come, as a sentence; empty where they should."""
        if self.is_draining:
            return "the bridge is draining"
        if self._settings.logins is not None and self.cluster.wants_login:
            return f"{CloseReason.LOGIN_TWICE.code}: {CloseReason.LOGIN_TWICE.sentence}"
        return self.cluster.fault and f"the cluster can't be worked with: {self.cluster.fault}"

    @property
    def brokers(self) -> Mapping[int, Address]:
        """Node id -> where the broker itself is; changes in place."""
        return self._directory.brokers

    @property
    def broker_addresses(self) -> dict[int, Address]:
        """Node id -> the address that clients are told for it."""
        return dict(self._directory.ours)

    def statistics(self) -> Statistics:
        """All counters, and what the connections hold in their buffers now."""
        return self._shared.counters.picture(sum(c.bytes_held for c in self._connections.values()))

    def bytes_held(self) -> dict[int, int]:
        """Bytes in the buffers of each open connection."""
        return {number: connection.bytes_held for number, connection in self._connections.items()}

    # -------- listeners

    def _listen_for(self, broker_id: int) -> bool:
        if not self.is_draining:
            return self.broker_ports.open(broker_id)
        self._directory.pass_over(broker_id)
        return False

    def _start_accepting(self, sock: socket.socket, broker_id: int | None) -> None:
        accept = partial(accept_from, sock, partial(self._take, broker_id=broker_id), self._cannot_accept)
        start_guarded(self._nursery, self._shared.failures, ACCEPT, partial(self._accept, sock, accept))

    async def _accept(self, sock: socket.socket, accept: Callable[[], Awaitable[None]]) -> None:
        """The listener outlives whatever goes wrong with one connection."""
        with sock, trio.CancelScope() as scope:
            self._accepting.append(scope)
            if self.is_draining:  # since it was opened
                return
            await keep_running(self._shared.failures, ACCEPT, accept)

    # -------- connections

    def _take(self, client: socket.socket, host: str, broker_id: int | None) -> None:
        self._shared.counters.connections_accepted += 1
        balancers = self._settings.balancers
        is_brought = balancers is not None and balancers.trusts(host)
        if balancers is not None and balancers.is_required and not is_brought:
            client.close()
            self._turn_away(Rejected(CloseReason.NOT_BROUGHT, ""), host)
            return
        # Of a balancer those count whom it brings, once it has said so.
        if not is_brought and (reason := self._open.refusal(host, now_ms())) is not None:
            client.close()
            self._turn_away(Rejected(reason, ""), host)
            return
        wanted = self._settings.limits.connections_max
        if self._open.count >= self.descriptors.clients_max:
            client.close()
            is_full = self._open.count >= wanted
            self._refused(CloseReason.TOO_MANY_CONNECTIONS if is_full else CloseReason.NO_DESCRIPTORS)
            return
        self._open.begin("" if is_brought else host)
        serve: Callable[[], Awaitable[None]]
        if balancers is not None and is_brought:
            serve = partial(self._serve_brought, balancers, client, host, broker_id)
        else:
            serve = self._way_in(client, self._origin(client, host, None), broker_id)
        start_guarded(self._nursery, self._shared.failures, CONNECTION, serve)

    def _origin(self, client: socket.socket, host: str, route: Route | None) -> Origin:
        """Where a client comes from; `route` is what a balancer said of it."""
        host = host if route is None else route.source.host
        return Origin(host, announce(client, route) if self._settings.announces_clients else b"")

    def _way_in(self, client: socket.socket, origin: Origin, broker_id: int | None) -> Callable[[], Awaitable[None]]:
        if self._handshakes is not None:
            return partial(self._serve_inside_tls, self._handshakes, client, origin, broker_id)
        serve = self._serve if self._is_known(broker_id) else self._serve_once_named
        return partial(serve, SocketTransport(client), origin, broker_id)

    def _cannot_accept(self, sock: socket.socket, error: OSError) -> bool:
        """No descriptor is left: somebody is refused at once who would else wait for nothing."""
        if is_used_up(error) and self._spare.refuse_one(sock) is not None:
            self._shared.counters.connections_accepted += 1
            self._refused(CloseReason.NO_DESCRIPTORS)
            return True
        told = "EB-NET-021: a connection could not be accepted: %s; " + ADVICE
        self._shared.log.write(now_ms(), "accept", Line(logging.WARNING, told, (error,)))
        return False

    def _refused(self, reason: CloseReason) -> None:
        self._shared.counters.count_close(reason)
        told = "%s: a client was refused, %d are served: %s"
        line = Line(logging.WARNING, told, (reason.code, self._open.count, reason.sentence))
        self._shared.log.write(now_ms(), reason, line)

    async def _serve_brought(
        self, balancers: Balancers, client: socket.socket, host: str, broker_id: int | None
    ) -> None:
        """Hear first whom the balancer at `host` brings."""
        origin: Origin | None = None
        try:
            limit_s = self._settings.limits.handshake_time_max_ms / 1000
            heard = await hear(client, limit_s, is_required=balancers.is_required)
            if isinstance(heard, Rejected):
                self._turn_away(heard, host)
                return
            counted = heard.whom_to_count(host)
            reason = None if counted is None else self._open.refusal(counted, now_ms())
            if reason is None:
                origin = self._origin(client, host, heard.route)
                self._open.name(origin.host)
            else:
                self._turn_away(Rejected(reason, ""), counted or host)
        finally:
            if origin is None:
                client.close()
                self._open.end("")
        if origin is not None:
            await self._way_in(client, origin, broker_id)()

    async def _serve_inside_tls(
        self, handshakes: Handshakes, client: socket.socket, origin: Origin, broker_id: int | None
    ) -> None:
        is_served = False
        try:
            transport = await handshakes.shake(client)
            if isinstance(transport, Rejected):
                self._turn_away(transport, origin.host)
                return
            if self._names is not None:
                broker_id = self._names.broker_id(transport.asked_host)
            mapped = self._mapped(transport)
            if isinstance(mapped, Rejected):
                transport.close()
                self._turn_away(mapped, origin.host)
                return
            is_served = True
        finally:
            if not is_served:
                self._open.end(origin.host)
        # One frame less for nearly all of them, which is kept as long as the connection is.
        serve = self._serve if self._is_known(broker_id) else self._serve_once_named
        await serve(transport, origin, broker_id, mapped)

    def _mapped(self, transport: TlsTransport) -> MappedCluster | Rejected | None:
        """The cluster for whom the bridge logs in; None for those who log in by themselves."""
        if self._subject_logins is None:
            return None
        subject = transport.subject
        found = self._subject_logins.find(subject)
        if found is None:
            return Rejected(CloseReason.NO_KEPT_LOGIN, f"subject {quote(subject)!r}")
        return MappedCluster(self.cluster, *found)

    def _is_known(self, broker_id: int | None) -> bool:
        """Whether there is somebody to connect to: ports may be older than the brokers that they stand for."""
        return broker_id is None or broker_id in self._directory.brokers

    async def _serve_once_named(
        self, transport: Transport, origin: Origin, broker_id: int | None, mapped: MappedCluster | None = None
    ) -> None:
        is_known = False
        try:
            is_known = broker_id is None or await self.cluster.names(broker_id)
            if not is_known:
                self._turn_away(Rejected(CloseReason.UNKNOWN_BROKER, f"broker {broker_id}"), origin.host)
        finally:
            if not is_known:
                transport.close()
                self._open.end(origin.host)
        if is_known:
            await self._serve(transport, origin, broker_id, mapped)

    def _turn_away(self, rejected: Rejected, host: str) -> None:
        self._shared.counters.count_close(rejected.reason)
        tell_refusal(self._shared.log, rejected, host)

    async def _serve(
        self, transport: Transport, origin: Origin, broker_id: int | None, mapped: MappedCluster | None = None
    ) -> None:
        self._next_connection += 1
        number = self._next_connection
        session = ClientSession(self._shared.rules, number, origin.host, self._shared.passing)
        session.announcement = origin.announcement
        connection = ClientConnection(self._shared, mapped or self.cluster, session, transport, broker_id)
        if mapped is not None:
            session.name(mapped.principal)
            session.let_in()
            mapped.refused = connection.close
        self._connections[number] = connection
        self._reply_routes.add(number, connection)
        self._shared.counters.connections_open += 1
        try:
            try:
                await carry_out(CONNECTION, connection.run)
            except* Exception as problem:  # noqa: BLE001 - told and counted; a guard of its own would be one frame more
                self._shared.failures.note(CONNECTION, problem)
            finally:
                del self._connections[number]
                self._reply_routes.remove(number)
                self._shared.counters.connections_open -= 1
            self._shared.failures.spare(CONNECTION, lambda: self._ended(connection))
            await connection.linger()
        finally:
            connection.leave_broker()
            self._open.end(origin.host)

    def _ended(self, connection: ClientConnection) -> None:
        reason, detail = connection.closed or (CloseReason.CLIENT_GONE, "")
        self._shared.counters.count_close(reason)
        tell_end(self._shared.log, connection.session, reason, detail)
        if not self._shared.is_draining:
            for groups in self._shared.groups.values():
                groups.disconnected(connection.connection)

    # -------- in the background

    async def sweep(self) -> None:
        """Close connections that stand still, until cancelled."""
        limits = self._settings.limits
        least_ms = min(limits.idle_max_ms, limits.frame_time_max_ms, limits.grant_ms)
        pause_s = min(SWEEP_MAX_S, least_ms / 1000 / SWEEPS_PER_LIMIT)
        still: dict[int, Standstill] = {}
        while True:
            now = now_ms()
            still = {number: still.get(number) or Standstill(now) for number in self._connections}
            for number, connection in list(self._connections.items()):
                gone = connection.transport.has_hung_up
                unsent = connection.unsent_bytes
                reason = still[number].look(connection.session, connection.traffic, now, gone, unsent)
                if reason is not None:
                    connection.close(reason, "")
                connection.rights.keep_up(now)
            self._shared.grants.sweep(now, forgets=self.cluster.is_reachable)
            self._shared.log.catch_up(now)
            self._shared.failures.log.catch_up(now)
            await trio.sleep(pause_s)

    async def keep_refreshing(self, answered: bool) -> None:
        """Ask for the cluster's brokers again and again, until cancelled; `answered` tells of the last time."""
        while True:
            pause_ms = self._settings.refresh_interval_ms
            if not answered or self.cluster.fault:
                # Brokers that refuse a login count how often it is tried.
                await trio.sleep(min(pause_ms, REFUSED_RETRY_MS if answered else RETRY_MS) / 1000)
            else:
                await trio.sleep(min(pause_ms, DOUBTED_RETRY_MS) / 1000)
                await self.cluster.wait_for_doubt(max(0, pause_ms - DOUBTED_RETRY_MS) / 1000)
            answered = await self.cluster.refresh()

    async def drain(self, deadline_s: float) -> None:
        """Stop accepting, let answers that are due leave, and close; nobody leaves a group by it."""
        self._shared.is_draining = True
        for scope in self._accepting:
            scope.cancel()
        with trio.move_on_after(deadline_s):
            while self._connections:
                for connection in list(self._connections.values()):
                    if connection.session.is_quiet:
                        connection.close(CloseReason.DRAINED, "")
                await trio.sleep(DRAIN_LOOK_S)
        for connection in list(self._connections.values()):
            connection.close(CloseReason.DRAINED, f"with {len(connection.session.outbox)} answers open")

    def close(self) -> None:
        """Give back what outlives connections."""
        self._shared.pipes.close()
        self._shared.poller.close()
        self._spare.close()
        self._shared.log.catch_up(now_ms() + REPEAT_MS)
        self._shared.failures.log.catch_up(now_ms() + REPEAT_MS)


def _subject_logins(settings: ProxySettings, log: RateLimitedLog) -> SubjectLogins | None:
    """Those that the bridge keeps for clients with certificates; without any, brokers see nothing of certificates."""
    tls = settings.client_tls
    if tls is None or tls.certificates is ClientCertificates.NONE:
        return None
    if tls.clients is not None:
        return SubjectLogins(read_subject_logins(tls.clients), log, settings.connect_timeout_ms / 1000)
    LOG.info(
        "EB-NET-209: clients show certificates to the bridge, and brokers see nothing of them: whoever does not log in "
        "by SASL is to brokers whom the bridge's own connection is; let clients log in, or name logins for their "
        "subjects in listen.tls.clients.path"
    )
    return None


async def serve_proxy(
    settings: ProxySettings,
    services: Services,
    task_status: trio.TaskStatus[Proxy] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Run one proxy until cancelled; for `nursery.start`, which gets the Proxy once the bootstrap listener is open.

    The cluster need not be up: clients wait for it within their limits. Raises CannotListen, also for a port of a
    broker that is given, that an earlier life knew, or that the cluster names at once.
    """
    async with trio.open_nursery() as nursery:
        proxy = Proxy(settings, services, nursery)
        resolver = trio.socket.set_custom_hostname_resolver(HostLookups())
        try:
            answered = False

            async def look() -> None:
                nonlocal answered
                answered = await proxy.cluster.refresh()

            with trio.move_on_after(FIRST_REFRESH_S):
                await guarded(services.failures, REFRESH, look)
            proxy.broker_ports.require_all()
            start_job(nursery, services.failures, SWEEP, proxy.sweep)
            start_job(nursery, services.failures, CERTIFICATES, proxy.certificates.keep_looking)
            start_job(nursery, services.failures, REFRESH, partial(proxy.keep_refreshing, answered))
            task_status.started(proxy)
            await trio.sleep_forever()
        finally:
            trio.socket.set_custom_hostname_resolver(resolver)
            proxy.close()
