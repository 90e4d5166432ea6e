"""The event log that the configuration names: where it is written, and where the bridge is overheard for it."""

import logging
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from secrets import token_hex

import trio

from bridge.admin.contracts import Commands, Conversion, ConversionResult, Removal, RemovalResult
from bridge.app.rebalances import Figures, rebalance_sinks
from bridge.app.topic_access import events_bootstrap, topic_access
from bridge.config.configuration import Config
from bridge.coordinators.embedded.owner import EmbeddedOwner
from bridge.log_lines import Line, RateLimitedLog
from bridge.migration.orders import MoveOrder
from bridge.migration.route import Road as MigrationRoad
from bridge.net.cluster import OWN_SOFTWARE
from bridge.ports import BrokerUnreachable
from bridge.session.broker_addresses import Address
from bridge.session.contracts import Access, Deliver, Groups
from bridge.telemetry.cause.explain import explain
from bridge.telemetry.event_log.files import FileLimits, FileSink, find_unfinished
from bridge.telemetry.event_log.recorder import Clocks, Recorder
from bridge.telemetry.event_log.sinks import Sink, SinkUnusable, TopicAccess
from bridge.telemetry.event_log.spool import Spool
from bridge.telemetry.following.follower import Follower
from bridge.telemetry.following.topic_names import TopicBook
from bridge.telemetry.following.tracks import GroupTrack
from bridge.telemetry.group_figures import GroupFigures
from bridge.telemetry.observing import (
    ClientOf,
    EngineWatcher,
    Guard,
    ObservedGroups,
    Observer,
    SeatIdOf,
    UpstreamObserver,
    observe_answers,
)
from bridge.telemetry.passing import ObservedPassing, PassingLog
from bridge.telemetry.rebalance_metrics import RebalanceMetrics
from bridge.telemetry.schema.facts import BridgeStarted, BridgeStopped, RebalanceBegan
from bridge.telemetry.schema.terms import OperatorAction, Road
from translators.dialects.coordinator import DepartReason
from translators.dialects.ids import ClientIdentity, GroupId, MemberId, MemberRef, RequestRef
from translators.dialects.messages import GroupReply, GroupRequest

LOG = logging.getLogger("epochbridge.app")
BOOT_BYTES = 4
_NS_PER_US = 1_000

Look = Callable[[], Awaitable[None]]
"""Has the cluster's topics looked at for the engine; raises `ports.BrokerUnreachable`."""
OpenTopic = Callable[[tuple[str, ...], str, Spool, TopicAccess], Sink]


class Watch:
    """Where the bridge is overheard; this one hears nothing."""

    def __init__(self, figures: Figures) -> None:
        self.figures = figures
        self.started_s = time.time()
        """When counting began, in seconds since 1970."""
        self._unheard = PassingLog()

    def over_requests(self, groups: Groups) -> Groups:
        """Who takes the requests of embedded groups."""
        return groups

    def over_answers(self, deliver: Deliver) -> Deliver:
        """Who takes their answers."""
        return deliver

    def over_access(self, access: Access) -> Access:
        """The ways by which brokers are asked on behalf of members that they coordinate."""
        return access

    def name_clients(self, client_of: ClientOf, seat_id: SeatIdOf) -> None:
        """Learn who speaks for those members, and by which ids brokers know them."""

    def over_upstream_requests(self, groups: Groups) -> Groups:
        """Who takes the requests of their clients."""
        return groups

    def over_upstream_answers(self, deliver: Deliver) -> Deliver:
        """Who takes the answers to their clients."""
        return deliver

    def departs(self, member: MemberRef, reason: DepartReason) -> None:
        """A broker is about to be told that one of those members leaves."""

    def mapped_asked(self, ref: RequestRef, client: ClientIdentity, request: GroupRequest) -> None:
        """See `coordinators.mapped.groups.MappedEars`."""

    def mapped_answered(self, ref: RequestRef, reply: GroupReply) -> None:
        """See `coordinators.mapped.groups.MappedEars`."""

    def over_commands(self, commands: Commands) -> Commands:
        """Who carries out what operators want."""
        return commands

    def move_began(self, order: MoveOrder) -> None:
        """See `coordinators.moving.surroundings.MoveEars`."""

    def move_settled(self, group_id: GroupId, place: MigrationRoad, epochs: Mapping[MemberId, int]) -> None:
        """See `coordinators.moving.surroundings.MoveEars`."""

    def event_counts(self) -> Mapping[str, int]:
        """What became of events, for the metrics."""
        return {}

    def missed_counts(self) -> Mapping[str, int]:
        """What the event log did not take in, by why."""
        return {}

    def passing(self) -> PassingLog:
        """Who hears of what goes through untouched."""
        return self._unheard

    def tracks(self) -> Mapping[GroupId, GroupTrack] | None:
        """The groups that are followed, as they are now; None where nobody follows any."""
        return None

    def name_brokers(self, brokers: Mapping[int, Address]) -> None:
        """Learn where brokers are; what is known of them changes in place."""

    async def run(self, look: Look) -> None:
        """See to it that the engine knows the topics of groups that pass, too, until cancelled."""

    def begin(self) -> None:
        """The groups are as a journal had them, or empty; clients may come."""


FOLLOWED_ROADS = {
    MigrationRoad.PASS: Road.PASSING,
    MigrationRoad.UPSTREAM: Road.UPSTREAM,
    MigrationRoad.EMBEDDED: Road.EMBEDDED,
}
"""Who coordinates a group that was moved, in the words of the event log."""

Order = Callable[[str, OperatorAction, Sequence[str]], None]
"""Hears that an operator wants something of a group, of these members or all."""


class ObservedCommands:
    """What operators want, overheard (`admin.contracts.Commands`)."""

    def __init__(self, commands: Commands, order: Order) -> None:
        self._commands = commands
        self._order = order

    async def remove_members(self, removal: Removal) -> RemovalResult | None:
        """See `admin.contracts.Commands`."""
        self._order(removal.group, OperatorAction.REMOVE_MEMBERS, (*removal.member_ids, *removal.instance_ids))
        return await self._commands.remove_members(removal)

    async def convert(self, conversion: Conversion) -> ConversionResult | None:
        """See `admin.contracts.Commands`."""
        if not conversion.is_dry_run:
            self._order(conversion.group, OperatorAction.CONVERT, ())
        return await self._commands.convert(conversion)


class EventWatch(Watch):
    """Overhears everything for an event log."""

    def __init__(
        self,
        recorder: Recorder,
        owner: EmbeddedOwner,
        figures: Figures,
        look_ms: int,
        left_open: Sequence[RebalanceBegan],
    ) -> None:
        super().__init__(figures)
        self._recorder = recorder
        self._owner = owner
        self._guard = Guard()
        self._look_ms = look_ms
        self._left_open = left_open
        self._is_wanted = trio.Event()
        self._log = RateLimitedLog(LOG)
        topics = TopicBook()
        self._follower = Follower(recorder.boot, recorder, explain, topics, owner.shard)
        self._observer = Observer(self._follower, figures.times, self._guard, recorder.now_us)
        self._upstream_observer = UpstreamObserver(self._follower, self._guard, recorder.now_us)
        self._passing = ObservedPassing(self._follower, self._guard, topics, recorder.now_us, self._want_look)

    def over_requests(self, groups: Groups) -> Groups:
        """See `Watch`."""
        return ObservedGroups(groups, self._observer.asked, self._gone)

    def _gone(self, connection: int) -> None:
        self._passing.disconnected(connection)
        self._observer.lost(connection)

    def event_counts(self) -> Mapping[str, int]:
        """See `Watch`."""
        recorder = self._recorder
        return {"written": recorder.written, "dropped": recorder.dropped, "lost": recorder.lost}

    def missed_counts(self) -> Mapping[str, int]:
        """See `Watch`."""
        return {
            "unfollowed": self._follower.unfollowed,
            "unread": self._passing.unread,
            "bug": self._guard.bugs + self._recorder.failures,
        }

    def passing(self) -> PassingLog:
        """See `Watch`."""
        return self._passing

    def tracks(self) -> Mapping[GroupId, GroupTrack] | None:
        """See `Watch`."""
        return self._follower.groups

    def over_answers(self, deliver: Deliver) -> Deliver:
        """See `Watch`."""
        return observe_answers(deliver, self._observer)

    def over_access(self, access: Access) -> Access:
        """See `Watch`."""
        return self._upstream_observer.over(access)

    def name_clients(self, client_of: ClientOf, seat_id: SeatIdOf) -> None:
        """See `Watch`."""
        self._upstream_observer.client_of, self._upstream_observer.seat_id = client_of, seat_id

    def over_upstream_requests(self, groups: Groups) -> Groups:
        """See `Watch`."""
        return self._upstream_observer.over_requests(groups)

    def over_upstream_answers(self, deliver: Deliver) -> Deliver:
        """See `Watch`."""
        return self._upstream_observer.over_answers(deliver)

    def departs(self, member: MemberRef, reason: DepartReason) -> None:
        """See `Watch`."""
        self._upstream_observer.departs(member, reason)

    def mapped_asked(self, ref: RequestRef, client: ClientIdentity, request: GroupRequest) -> None:
        """See `Watch`: they pass, as far as anybody can see."""
        now_us = self._recorder.now_us()
        self._guard.run(lambda: self._hear_mapped(ref, client, request, now_us))

    def _hear_mapped(self, ref: RequestRef, client: ClientIdentity, request: GroupRequest, now_us: int) -> None:
        self._follower.asked(ref, client, request, Road.PASSING, now_us)

    def mapped_answered(self, ref: RequestRef, reply: GroupReply) -> None:
        """See `Watch`."""
        now_us = self._recorder.now_us()
        self._guard.run(lambda: self._follower.answered(ref, reply, now_us))

    def begin(self) -> None:
        """See `Watch`."""
        is_revived = bool(self._owner.shard.groups or self._owner.shard.classic_groups)
        self._recorder.say(BridgeStarted(bridge_version=OWN_SOFTWARE.version, is_revived=is_revived))
        self._guard.run(self._begin)
        self._owner.watch(EngineWatcher(self._follower, self._guard, self._recorder.now_us))

    def _begin(self) -> None:
        now_us = self._recorder.now_us()
        self._follower.interrupted(self._left_open, now_us)
        self._follower.revived(now_us)

    def over_commands(self, commands: Commands) -> Commands:
        """See `Watch`."""
        return ObservedCommands(commands, self._order)

    def move_began(self, order: MoveOrder) -> None:
        """See `Watch`: one that is refused, or only tried, has changed nothing."""
        self._order(order.group_id, OperatorAction.MOVE, order.members)

    def move_settled(self, group_id: GroupId, place: MigrationRoad, epochs: Mapping[MemberId, int]) -> None:
        """See `Watch`."""
        now_us = self._recorder.now_us()
        self._guard.run(lambda: self._follower.settled(group_id, FOLLOWED_ROADS[place], epochs, now_us))

    def _order(self, group_id: str, action: OperatorAction, members: Sequence[str]) -> None:
        now_us = self._recorder.now_us()
        self._guard.run(lambda: self._follower.ordered(GroupId(group_id), action, members, now_us))

    async def run(self, look: Look) -> None:
        """See `Watch`: what the engine is told of topics is heard like all that it does, no sooner and no later."""
        while True:
            with trio.move_on_after(self._look_ms / 1000):
                await self._is_wanted.wait()
            is_wanted, self._is_wanted = self._is_wanted.is_set(), trio.Event()
            if is_wanted or any(group.road is not Road.EMBEDDED for group in self._follower.groups.values()):
                await self._look(look)
            self._passing.learned()
            self._guard.run(lambda: self._follower.expire(self._recorder.now_us()))

    def name_brokers(self, brokers: Mapping[int, Address]) -> None:
        """See `Watch`."""
        self._follower.broker_name = lambda broker_id: str(brokers.get(broker_id, broker_id))

    def _want_look(self) -> None:
        self._is_wanted.set()

    async def _look(self, look: Look) -> None:
        now_ms = self._recorder.now_us() // 1000
        self._log.catch_up(now_ms)
        try:
            await look()
        except BrokerUnreachable as problem:
            message = "the topics could not be looked at for the event log: %s"
            self._log.write(now_ms, message, Line(logging.INFO, message, (str(problem),)))

    def end(self, reason: str) -> None:
        """The bridge ends."""
        self._guard.run(lambda: self._follower.stopped(self._recorder.now_us()))
        self._recorder.say(BridgeStopped(reason=reason))


@contextmanager
def watched(config: Config, owner: EmbeddedOwner) -> Iterator[Watch]:
    """Write the event log that the configuration names, if any, until the end of the context; raises SinkUnusable."""
    boot = f"{int(time.time()):x}{token_hex(BOOT_BYTES)}"
    settings, clocks = config.settings, _clocks()
    rebalances = RebalanceMetrics(has_traces=bool(settings.otel_endpoint), is_fed=settings.metrics_rebalances)
    figures = Figures(rebalances=rebalances, groups=GroupFigures(settings.migration_judge_rebalances_max))
    sinks = [*_sinks(config, boot), *rebalance_sinks(config, figures, clocks.mono_us)]
    if not sinks:
        yield Watch(figures)
        return
    recorder = Recorder(boot, clocks, sinks, settings.events_queue_max)
    look_ms = settings.embedded_topics_refresh_ms
    watch = EventWatch(recorder, owner, figures, look_ms, _left_open(config, boot))
    try:
        yield watch
        watch.end("asked to")
    except BaseException as problem:
        watch.end(f"{type(problem).__name__}")
        raise
    finally:
        recorder.close()


def _left_open(config: Config, boot: str) -> list[RebalanceBegan]:
    path = config.settings.events_path
    try:
        return find_unfinished(Path(path), boot) if path else []
    except OSError as problem:
        told = "EB-EVENTS-013: the last run's events can't be read from %s: %s; see that this user may read the folder"
        LOG.warning(told, path, problem.strerror)
        return []


def _sinks(config: Config, boot: str) -> Iterator[Sink]:
    settings = config.settings
    if settings.events_path:
        yield FileSink(Path(settings.events_path), boot, file_limits(config), _clocks().wall_us)
    if settings.events_topic:
        yield _topic_sink(config, boot)


def _topic_sink(config: Config, boot: str) -> Sink:
    """Raises SinkUnusable."""
    settings = config.settings
    if find_spec("confluent_kafka") is None:
        raise SinkUnusable(
            "EB-EVENTS-007: events.topic needs confluent-kafka, which is not installed; "
            "run `pip install 'epochbridge[demo]'`"
        )
    spool = Spool(Path(settings.events_spool_path), boot, settings.events_spool_bytes_max)
    # Only who asks for the topic needs the library behind it.
    open_topic: OpenTopic = import_module("bridge.telemetry.event_log.topic_sink").open_topic
    return open_topic(
        events_bootstrap(config), settings.events_topic, spool, partial(topic_access, config, _clocks().wall_us)
    )


def events_folder(config: Config) -> str:
    """Where event files are written, as others on this machine find them; "" for nowhere."""
    path = config.settings.events_path
    return str(Path(path).absolute()) if path else ""


def file_limits(config: Config) -> FileLimits:
    """How event files are rotated and kept."""
    settings = config.settings
    return FileLimits(
        file_bytes_max=settings.events_file_bytes_max,
        file_age_max_s=settings.events_file_age_ms // 1000,
        total_bytes_max=settings.events_total_bytes_max,
        total_age_max_s=settings.events_total_age_ms // 1000,
    )


def wall_ms() -> int:
    """The time of day, in milliseconds since 1970: what has to be understood after a restart is told in it."""
    return time.time_ns() // 1_000_000


def _clocks() -> Clocks:
    return Clocks(mono_us=_us(time.monotonic_ns), wall_us=_us(time.time_ns))


def _us(clock_ns: Callable[[], int]) -> Callable[[], int]:
    return lambda: clock_ns() // _NS_PER_US
