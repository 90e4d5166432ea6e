"""The composition root: it picks adapters and opens nurseries, and alone knows all rooms.

It must not decide anything about groups or bytes itself.
"""

import logging
import signal
import time
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator, Hashable, Iterable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from uuid import uuid4

import trio

from bridge.admin.contracts import CONNECTIONS_MAX, AdminError, AdminSources, Snapshots
from bridge.admin.server import serve_admin
from bridge.admin.tokens import Tokens
from bridge.app.admin_door import AdminDoor, make_door, renewed
from bridge.app.admin_tokens import read_admin_tokens, renew_admin_tokens
from bridge.app.bridges import leave_bridges, meet_bridges
from bridge.app.cluster_access import closed_reason, may_ask, speaks_consumer_protocol, waiting_reason
from bridge.app.commands import AppCommands
from bridge.app.events import Watch, events_folder, wall_ms, watched
from bridge.app.journal import UNWRITTEN, Keeping, keep_journal
from bridge.app.metric_readings import coordinator_figures, metric_readings
from bridge.app.moves import Between, Moving, put_together
from bridge.app.plan_door import begin_plans
from bridge.app.reloading import Configured, ReadAgain
from bridge.app.service_notices import Say, ServiceNotices, announce
from bridge.app.settings import (
    RuledSettings,
    embedded_settings,
    engine_settings,
    member_limits,
    proxy_settings,
    share_limits,
)
from bridge.app.survey_door import Ears, SurveyParts, SurveysOnDemand
from bridge.app.views import AppSnapshots, UpstreamViews
from bridge.config.configuration import Config
from bridge.config.sources import read_environment
from bridge.coordinators.admission import SessionBounds
from bridge.coordinators.catalog import Catalog
from bridge.coordinators.embedded.assignor_plugins import PluginUnusable, load_assignors
from bridge.coordinators.embedded.coordinator import FreshIds
from bridge.coordinators.embedded.groups import EmbeddedGroups
from bridge.coordinators.embedded.operators import Operators
from bridge.coordinators.embedded.owner import EmbeddedOwner
from bridge.coordinators.embedded.regular_expressions import read_regex
from bridge.coordinators.embedded.shares import ShareLimits, Shares
from bridge.coordinators.embedded.time_away import end_sessions, note_serving, time_away_ms
from bridge.coordinators.ledger import Clients
from bridge.coordinators.machines import Machines
from bridge.coordinators.moving.preflight import KnownAbilities
from bridge.coordinators.placement import GroupPlaces
from bridge.coordinators.upstream.groups import UpstreamGroups, UpstreamSettings
from bridge.engine.settings import EngineSettings
from bridge.engine.state import Shard
from bridge.journal.refusals import JournalRefused
from bridge.migration.route import Road, Router
from bridge.net.bridge_questions import BridgeQuestions
from bridge.net.client_rights import EVERYBODY
from bridge.net.clock import TrioClock
from bridge.net.cluster import UpstreamCluster
from bridge.net.cluster_memory import FACT
from bridge.net.descriptors import admin_connections_max
from bridge.net.listener import CannotListen
from bridge.net.proxy import Proxy, Services, serve_proxy
from bridge.net.reply_routes import ReplyRoutes
from bridge.net.settings import ProxySettings
from bridge.net.tls import Certificates
from bridge.session.counters import Counters
from bridge.session.group_requests import KnownGroups
from bridge.supervision import (
    ANNOUNCEMENT,
    BRIDGES,
    CERTIFICATES,
    EVENTS,
    RELOAD,
    SERVING,
    Failures,
    guarded,
    start_job,
)
from bridge.telemetry.event_log.sinks import SinkUnusable
from bridge.telemetry.metrics import PrometheusMetrics
from translators.dialects.ids import GroupId, MemberId, Via

LOG = logging.getLogger("epochbridge.app")
ADMIN_OFF = "off"
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class AppError(Exception):
    """The bridge can't run; the text says what happened, the likely cause and the next step."""

    code = "EB-APP-001"


def fresh_member_id() -> MemberId:
    """An id that no member has had, as Kafka gives it to members that bring none: a random UUID in 22 characters of
    URL-safe base64, never with a leading dash (K2.6).
    """
    while (text := urlsafe_b64encode(uuid4().bytes).decode().rstrip("=")).startswith("-"):
        pass
    return MemberId(text)


FRESH_IDS = FreshIds(ending=lambda: str(uuid4()), whole=fresh_member_id)


async def serve(config: Config, *, say: Say, read_again: ReadAgain | None = None) -> None:
    """Run the bridge until SIGTERM, SIGINT or cancellation, then drain; `say` gets a line once clients may come, and
    before that one for each reason why they may not.

    SIGHUP has the configuration read again by `read_again`; without it, it stays what it is. Raises ConfigError for
    settings that name what is not there, and AppError when a port can't be had.
    """
    faults: list[AppError] = []
    try:
        await _run(config, say, read_again or (lambda: config))
    except* AppError as group:
        # Nurseries wrap what ends them; who starts the bridge wants one sentence.
        faults += [fault for fault in _leaves(group) if isinstance(fault, AppError)]
    if faults:
        raise faults[0]


def _leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for inner in group.exceptions:
        if isinstance(inner, BaseExceptionGroup):
            yield from _leaves(inner)
        else:
            yield inner


async def _start_proxy(nursery: trio.Nursery, settings: ProxySettings, services: Services) -> Proxy:
    found: list[BaseException] = []
    try:
        proxy: Proxy = await nursery.start(serve_proxy, settings, services)
        return proxy
    except* CannotListen as group:
        found += _leaves(group)
    raise AppError(str(found[0])) from found[0]


async def _run(config: Config, say: Say, read_again: ReadAgain) -> None:
    clock = TrioClock()
    owner = make_owner(config, clock.now_ms())
    try:
        with watched(config, owner) as watch:
            await _serve_groups(config, say, read_again, owner, watch)
    except SinkUnusable as problem:
        raise AppError(str(problem)) from problem


async def _serve_groups(config: Config, say: Say, read_again: ReadAgain, owner: EmbeddedOwner, watch: Watch) -> None:
    settings, clock, counters, questions = proxy_settings(config), TrioClock(), Counters(), BridgeQuestions()
    reply_routes = ReplyRoutes(counters)
    clients = Clients(watch.over_answers(partial(reply_routes.deliver, road=Road.EMBEDDED)), reply_routes.access)
    groups = EmbeddedGroups(owner, questions, clock, clients, embedded_settings(config))
    upstream = _watched_upstream(config, questions, reply_routes, groups.supervised, watch)
    router, failures = Router(settings.rules, read_regex=read_regex), groups.supervised
    places = GroupPlaces(router, questions, partial(road_of_members, groups, upstream), groups.holds, clock.now_ms)
    groups.locate_coordinators(questions.coordinator_of)
    between = Between(
        router=router,
        stays=places,
        reply_routes=reply_routes,
        embedded=groups,
        upstream=upstream,
        requests_of_embedded=watch.over_requests(groups),
        requests_of_upstream=watch.over_upstream_requests(upstream),
        broker=questions,
        coordinators=questions,
        clock=clock,
        wall_ms=wall_ms,
        passing=watch.passing(),
    )
    moving = _overheard_moves(between, watch)
    journals, unwritten = _keep_journals(config, groups, upstream)
    # Where groups were moved to comes before where they stay: those that were moved stay nowhere.
    moving.recall()
    living = partial(_living, groups, upstream)
    places.keep_living(living())
    configured = Configured(config, read_again, places, living, _ruled(owner))
    _let_roads_begin(config, between, moving, configured, unwritten)
    services = _services(between, moving, counters)
    watch.begin()
    with journals, closing(questions), trio.open_signal_receiver(*STOP_SIGNALS, signal.SIGHUP) as signals:
        async with trio.open_nursery() as nursery:
            await nursery.start(groups.run)
            await nursery.start(upstream.run)
            moving.live.start_in(nursery)
            proxy = await _start_proxy(nursery, settings, services)
            questions.attach(proxy.cluster, proxy.descriptors)
            watch.name_brokers(proxy.brokers)
            _start_jobs(nursery, failures, groups, watch)
            _introduce(proxy.cluster, between, places)
            sources = _sources(config, between, proxy, watch)
            door = make_door(config.settings)
            admin_files = renewed(door, config.settings.certificates_watch_ms)
            start_job(nursery, failures, CERTIFICATES, admin_files.keep_looking)
            configured.renew = partial(_renew, config, (proxy.certificates, admin_files), sources.tokens)
            ears = _ears(watch, between, proxy, moving)
            surveys = _surveys(configured, proxy.cluster, questions, sources.snapshots, ears)
            _let_moves_ask(moving, surveys, proxy.cluster)
            sources = replace(sources, reloading=configured, moves=moving.live, surveys=surveys)
            sources = begin_plans(nursery, sources, groups, watch, configured)
            admin = await _start_admin(nursery, config.settings.admin_listen, sources, failures, door)
            notices = ServiceNotices(read_environment(), lambda: time.monotonic_ns() // 1_000)
            start_job(nursery, failures, RELOAD, partial(configured.run, notices))
            start_job(nursery, failures, ANNOUNCEMENT, partial(announce, proxy, admin, say, notices))
            await _wait_for_stop(signals, configured, notices)
            await _drain(config, groups, proxy)
            nursery.cancel_scope.cancel()


def _let_roads_begin(
    config: Config, between: Between, moving: Moving, configured: Configured, unwritten: frozenset[Road]
) -> None:
    """Have other bridges noticed as soon as any group may be this one's own, by a rule or an order."""
    configured.unwritten = unwritten
    meet = partial(meet_bridges, config, between.embedded, fresh_member_id())

    def begin_roads(roads: Iterable[Road]) -> None:
        if Road.EMBEDDED in roads:
            meet()

    moving.live.meet_bridges, configured.begin_roads = meet, begin_roads
    if between.router.serves(Road.EMBEDDED):
        meet()


def _overheard_moves(between: Between, watch: Watch) -> Moving:
    """What moves groups; the event log hears of it, and of members whose broker knows them otherwise."""
    moving = put_together(between)
    moving.live.ears = watch
    moving.mapped.ears = watch
    return moving


def _services(between: Between, moving: Moving, counters: Counters) -> Services:
    groups, stays = between.embedded, between.stays
    return Services(
        groups=moving.roads,
        passing=moving.passing,
        reply_routes=between.reply_routes,
        counters=counters,
        failures=groups.supervised,
        router=between.router,
        old_commits=between.old_commits,
        known_groups=KnownGroups(
            translates=between.upstream.translates,
            is_known=stays.is_known,
            has_members=stays.has_members,
            holds=groups.holds,
            subscribed=groups.subscribed,
            matched=groups.matched,
        ),
        place=stays.place,
        report_kind=stays.report_kind,
        recalled=groups.fact(FACT),
        keep=partial(groups.keep_fact, FACT),
        recalled_topics=lambda: tuple(groups.owner.shard.topics.values()),
    )


async def _renew(config: Config, files: Iterable[Certificates], tokens: Tokens) -> tuple[str, ...]:
    """Have what files hold by now count: certificates, and tokens of the admin API."""
    # The disk may never answer, and who stops the bridge does not wait for it.
    told = await trio.to_thread.run_sync(renew_admin_tokens, config.settings, tokens, abandon_on_cancel=True)
    read = [sentence for certificates in files for sentence in await certificates.read_changed()]
    return (*read, *((told,) if told else ()))


def _sources(config: Config, between: Between, proxy: Proxy, watch: Watch) -> AdminSources:
    groups = between.embedded
    snapshots = AppSnapshots(groups, proxy, between.stays, UpstreamViews(between.upstream))
    tokens = read_admin_tokens(config.settings)
    readings = replace(
        metric_readings(config, groups, proxy, watch, snapshots),
        admin_refusals=lambda: tokens.refused,
        coordinators=lambda: coordinator_figures((groups.task, between.upstream.task)),
    )
    return AdminSources(
        snapshots=snapshots,
        metrics=PrometheusMetrics(readings),
        commands=watch.over_commands(AppCommands(Operators(groups))),
        events_path=events_folder(config),
        tokens=tokens,
        connections_max=min(CONNECTIONS_MAX, admin_connections_max(config.settings.limits_connections_max)),
    )


def _start_jobs(nursery: trio.Nursery, failures: Failures, groups: EmbeddedGroups, watch: Watch) -> None:
    """What goes on beside requests."""
    start_job(nursery, failures, SERVING, partial(note_serving, groups, wall_ms))
    start_job(nursery, failures, EVENTS, partial(watch.run, groups.look_at_topics))


def _introduce(cluster: UpstreamCluster, between: Between, places: GroupPlaces) -> None:
    """Let those who need to know it ask what the cluster allows."""
    places.may_ask = partial(may_ask, cluster)
    places.speaks_consumer_protocol = partial(speaks_consumer_protocol, cluster)
    between.upstream.on_refused = places.note_refusal
    between.upstream.tell_principals(partial(_principal, cluster, between.reply_routes))
    between.embedded.guard(partial(closed_reason, cluster), partial(waiting_reason, cluster))


def _principal(cluster: UpstreamCluster, reply_routes: ReplyRoutes, via: Via) -> Hashable | None:
    """Whom the broker takes the client of a connection for: everybody for the same where it authenticates nobody."""
    return EVERYBODY if cluster.is_open else reply_routes.principal_of(via)


async def _drain(config: Config, groups: EmbeddedGroups, proxy: Proxy) -> None:
    groups.unload()
    await proxy.drain(config.settings.drain_timeout_ms / 1000)
    await guarded(groups.supervised, BRIDGES, partial(leave_bridges, config, groups))


async def _wait_for_stop(signals: AsyncIterator[int], configured: Configured, notices: ServiceNotices) -> None:
    """Return when the bridge is to stop; until then SIGHUP has the configuration read again."""
    async for number in signals:
        if number in STOP_SIGNALS:
            LOG.info("%s: draining", signal.Signals(number).name)
            notices.stopping(configured.config.settings.drain_timeout_ms)
            return
        configured.ask_again()


def _living(groups: EmbeddedGroups, upstream: UpstreamGroups) -> tuple[GroupId, ...]:
    return (*groups.groups(), *upstream.groups())


def _ruled(owner: EmbeddedOwner) -> RuledSettings | None:
    """What rules set for their groups."""
    own = owner.shard.settings.per_group
    return own if isinstance(own, RuledSettings) else None


def _keep_journals(
    config: Config, groups: EmbeddedGroups, upstream: UpstreamGroups
) -> tuple[ExitStack, frozenset[Road]]:
    """Have the groups of both roads go on with what their journals hold; gives what closes these, and the roads whose
    journal can't be had. Raises AppError.
    """
    unwritten: set[Road] = set()
    roads: tuple[tuple[Road, Keeping], ...] = ((Road.EMBEDDED, groups), (Road.UPSTREAM, upstream))
    with ExitStack() as journals:
        try:
            for road, kept in roads:
                journal = keep_journal(config, kept, read_environment(), road)
                journals.enter_context(journal)
                if journal is UNWRITTEN:
                    unwritten.add(road)
        except JournalRefused as problem:
            raise AppError(f"{problem.code}: {problem}") from problem
        end_sessions(groups, time_away_ms(groups, wall_ms()))
        return journals.pop_all(), frozenset(unwritten)


def _surveys(
    configured: Configured, cluster: UpstreamCluster, questions: BridgeQuestions, snapshots: Snapshots, ears: Ears
) -> SurveysOnDemand:
    return SurveysOnDemand(
        SurveyParts(
            configured=configured,
            cluster=cluster,
            broker=questions,
            fresh_member_id=fresh_member_id,
            snapshots=snapshots,
            ears=ears,
        )
    )


def _let_moves_ask(moving: Moving, surveys: SurveysOnDemand, cluster: UpstreamCluster) -> None:
    """What brokers can do they are asked by whoever surveys them."""
    known = KnownAbilities(surveys.abilities, lambda: frozenset(cluster.directory.brokers.items()), TrioClock().now_ms)
    moving.live.reconverts = partial(_reconverts, known)
    moving.preflight.abilities, moving.preflight.forget_abilities = known.now, known.forget


async def _reconverts(known: KnownAbilities) -> bool | None:
    policy = (await known.now()).policy
    return None if policy is None else policy.downgrades


def _ears(watch: Watch, between: Between, proxy: Proxy, moving: Moving) -> Ears:
    clock, began_ms = TrioClock(), TrioClock().now_ms()
    return Ears(
        tracks=watch.tracks,
        road=between.router.road,
        seats=moving.seats,
        profile=moving.profile,
        listening_s=lambda: (clock.now_ms() - began_ms) / 1000,
        addresses=lambda: (proxy.bootstrap, *proxy.broker_addresses.values()),
        old_commits=between.old_commits,
    )


def road_of_members(groups: EmbeddedGroups, upstream: UpstreamGroups, group_id: GroupId) -> Road | None:
    """The road on which the bridge has members of a group; None: it has none."""
    if groups.lives(group_id):
        return Road.EMBEDDED
    return Road.UPSTREAM if group_id in upstream.groups() else None


def make_owner(config: Config, now_ms: int) -> EmbeddedOwner:
    """The owner of all embedded groups, with the assignors that are installed; raises ConfigError and AppError."""
    try:
        assignors = load_assignors()
    except PluginUnusable as problem:
        raise AppError(str(problem)) from problem
    shard = Shard(
        settings=engine_settings(config, assignors),
        assignors=assignors,
        no_assignment_before_ms=now_ms + config.settings.embedded_resume_grace_ms,
    )
    return EmbeddedOwner(shard, Catalog(), Machines(member_limits(config)), FRESH_IDS)


def _watched_upstream(
    config: Config, broker: BridgeQuestions, reply_routes: ReplyRoutes, failures: Failures, watch: Watch
) -> UpstreamGroups:
    """The groups that brokers coordinate, overheard."""
    deliver = watch.over_upstream_answers(partial(reply_routes.deliver, road=Road.UPSTREAM))
    clients = Clients(deliver, watch.over_access(reply_routes.access))
    upstream = make_upstream(config, broker, TrioClock(), clients, failures)
    watch.name_clients(upstream.client_of_seat, upstream.names.seat_id)
    upstream.tell_departures(watch.departs)
    return upstream


def make_upstream(
    config: Config, broker: BridgeQuestions, clock: TrioClock, clients: Clients, failures: Failures
) -> UpstreamGroups:
    """The groups that a broker coordinates; their machines are apart from those of embedded groups."""
    settings = config.settings
    chosen = UpstreamSettings(
        limits=member_limits(config),
        bounds=SessionBounds(settings.group_min_session_timeout_ms, settings.group_max_session_timeout_ms),
        fresh_member_id=FRESH_IDS.whole,
        topics_refresh_ms=settings.embedded_topics_refresh_ms,
        commit_drain_ms=settings.commit_drain_ms,
        resume_ms=settings.group_consumer_session_timeout_ms,
    )
    groups = UpstreamGroups(broker, clock, clients, chosen, failures)
    limits = share_limits(settings)
    if limits is not None:
        groups.share_out(partial(shares_of_members, limits))
    return groups


def shares_of_members(limits: ShareLimits, machines: Machines) -> Shares:
    """What members of groups that brokers have may hold of their journal, in which there is nothing else."""
    shares = Shares(Shard(settings=EngineSettings(), assignors={}), machines, keeps_groups=False)
    shares.limit(limits)
    return shares


async def _start_admin(
    nursery: trio.Nursery, address: str, sources: AdminSources, failures: Failures, door: AdminDoor | None
) -> str:
    """Serve the admin API where it is wanted; gives the address it is bound to, or `off`."""
    if address == ADMIN_OFF:
        return ADMIN_OFF
    try:
        shake_hands = None if door is None else door.shake
        bound: str = await nursery.start(serve_admin, address, sources, failures, shake_hands)
    except AdminError as problem:
        raise AppError(str(problem)) from problem
    return bound
