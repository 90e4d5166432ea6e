"""Where a story is told: a fleet behind the bridge, the moment when the event began, and what the bridge says of it."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import trio
from kafka.admin import KafkaAdminClient, MemberToRemove

from bridge.admin.client import give_order
from bridge.demo.cluster import create_topics
from bridge.demo.events import Partition, now_ns
from bridge.demo.fleet import Fleet
from bridge.demo.fleet_specs import MemberSpec
from bridge.telemetry.event_log.files import read_log
from bridge.telemetry.rebalances.rebalance import Rebalance
from bridge.telemetry.schema.facts import Event, PartitionsReleased
from bridge.telemetry.trace.selection import NothingToShow, Wanted, find_rebalances
from tests.support.bridge_process import BridgeProcess
from tests.support.causes.acting_member import __name__ as program
from tests.support.causes.diaries import Accounts, felt, told
from tests.support.causes.players import KINDS, Case, Name
from tests.support.grown_topic import grow_topic
from tests.support.restarted_bridge import RestartedBridge

PARTITIONS = 6
SESSION_MS = 6_000
HEARTBEAT_MS = 400
SLOW_S = 1.5
FOREVER_US = 10**15
STABLE_MS = 1_000
LOOK_S = 0.1
WAIT_S = 270.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The broker, the bridge before it, the folder of its events, and how its coordinator is moved."""

    broker: str
    bridge: str
    events: Path
    admin: str = ""
    restarted: RestartedBridge | None = None
    move_coordinator: Callable[[str], None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """How long a frozen member used nothing: as it was, and as the log tells."""

    felt_us: int
    told_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A fleet in a place; `began_us` is when the event began that the story is about, the last counts;
    `frozen_us` when seats were frozen, or polled no more, and `idle_ns` the same by the clients' clock.
    """

    case: Case
    fleet: Fleet
    place: Place
    session_ms: int = SESSION_MS
    began_us: list[int] = field(default_factory=list)
    frozen_us: dict[str, int] = field(default_factory=dict)
    idle_ns: dict[str, int] = field(default_factory=dict)

    def member(
        self,
        seat: str,
        *,
        revoke_s: float = 0.0,
        acts: tuple[str, ...] = (),
        instance_id: str | None = None,
        poll_ms: int | None = None,
    ) -> MemberSpec:
        """A member; with `poll_ms` it has no more time for a rebalance than that, and a shorter session.

        Were both the same, the coordinator's clock for a member that waits for the others would run out as theirs does.
        """
        chosen = KINDS[self.case.kind]
        session_ms = self.session_ms if poll_ms is None else poll_ms * 2 // 3
        polls = () if poll_ms is None else ("--max-poll-interval-ms", str(poll_ms))
        role = ("--library", chosen.library, "--revoke-s", str(revoke_s), *acts)
        return MemberSpec(
            seat=seat,
            program=(sys.executable, "-m", program, *role),
            protocol=chosen.protocol,
            assignor=chosen.assignor,
            instance_id=instance_id,
            session_timeout_ms=session_ms,
            heartbeat_interval_ms=HEARTBEAT_MS,
            # Stories are told at the same time on one host, where only clients tell whose a Fetch is.
            more=("--metadata-max-age-ms", "1000", "--client-id", f"{self.case.group}-{seat}", *polls),
        )

    def consumer(self, seat: str) -> MemberSpec:
        """A member that speaks the consumer protocol, whatever the others do."""
        return replace(self, case=self.case._replace(kind=Name.CONSUMER)).member(seat)

    def slow(self, seat: str, revoke_s: float = SLOW_S) -> MemberSpec:
        """A member that takes its time when it has to give something up."""
        return self.member(seat, revoke_s=revoke_s)

    async def form(self, *specs: MemberSpec) -> None:
        """Members come: the first alone, so that it leads a classic group, then the others together."""
        first, *others = specs
        await self.fleet.start(first)
        if others:
            await self.settle()
        for spec in others:
            await self.fleet.start(spec)
        await self.settle()

    async def settle(self) -> None:
        """Until nothing moves, and no rebalance is under way."""
        with trio.fail_after(WAIT_S):
            await self.fleet.wait_settled(stable_ms=STABLE_MS)
            while any(one.outcome is None for one in await self.history()):
                await trio.sleep(STABLE_MS / 1_000)
                await self.fleet.wait_settled(stable_ms=STABLE_MS)

    def begin(self) -> None:
        """What follows is the story's event."""
        self.began_us.append(time.time_ns() // 1_000)

    def freeze(self, seat: str) -> None:
        """Freeze a seat's process; what the log says of its silence is to be held against that moment."""
        self.fleet.freeze(seat)
        self._note_idle(seat)

    def rest(self, seat: str) -> None:
        """Let a seat's application poll no more for a while, while its client goes on."""
        self.fleet.nudge(seat)
        self._note_idle(seat)

    def _note_idle(self, seat: str) -> None:
        self.frozen_us[seat], self.idle_ns[seat] = time.time_ns() // 1_000, now_ns()

    async def accounts(self) -> Accounts:
        """How long partitions stood still since the event, by the clients' diaries and by the log."""
        began_us = self.began_us[-1]
        # Both clocks are this host's.
        since_ns = now_ns() - (time.time_ns() - began_us * 1_000)
        events = await trio.to_thread.run_sync(lambda: [*_events(self.place.events, self.case.group)])
        return Accounts(felt(self.fleet.logs(), self.idle_ns, since_ns), told(events, began_us))

    async def wait_ended(self) -> None:
        """Until a rebalance that began since `begin` has ended."""
        with trio.fail_after(WAIT_S):
            is_open = True
            while is_open:
                is_open = all(one.outcome is None for one in await self.told())
                await trio.sleep(LOOK_S if is_open else 0)

    async def wait_begun(self) -> None:
        """Until a rebalance has begun since `begin`."""
        with trio.fail_after(WAIT_S):
            is_quiet = True
            while is_quiet:
                is_quiet = not await self.told()
                await trio.sleep(LOOK_S if is_quiet else 0)

    async def told(self) -> list[Rebalance]:
        """What the log says of the rebalances that began since the event."""
        return [one for one in await self.history() if one.began_wall_us >= self.began_us[-1]]

    async def history(self) -> list[Rebalance]:
        """What the log says of all the group's rebalances."""
        find = Wanted(group_id=self.case.group, since_us=FOREVER_US)
        try:
            return await trio.to_thread.run_sync(find_rebalances, self.place.events, find)
        except NothingToShow:
            return []

    async def silences(self) -> dict[str, Silence]:
        """Of each frozen member that is gone: how long it was silent, and how long by what its log says.

        Both end when what it had was free.
        """
        if not self.frozen_us:
            return {}
        releases = await trio.to_thread.run_sync(lambda: [*_releases(self.place.events, self.case.group)])
        seats = seats_of(await self.history())
        found: dict[str, Silence] = {}
        for wall_us, member_id, idle_us in releases:
            seat = seats.get(member_id, member_id)
            began_us = self.frozen_us.get(seat)
            if began_us is not None and wall_us > began_us:
                found.setdefault(seat, Silence(felt_us=wall_us - began_us, told_us=idle_us))
        return found

    # ------------------------------------------------------------------ the world around

    async def create_topic(self, name: str, partitions: int) -> frozenset[Partition]:
        """One more topic; its partitions are not waited for yet."""
        return await trio.to_thread.run_sync(create_topics, self.place.broker, (name,), partitions)

    async def grow_topic(self, name: str, partitions: int) -> None:
        """More partitions."""
        self.fleet.partitions |= await trio.to_thread.run_sync(grow_topic, self.place.broker, name, partitions)

    async def order(self, name: str, **order: object) -> None:
        """An operator gives the bridge an order."""
        await trio.to_thread.run_sync(give_order, self.place.admin, f"/{name}", {"group": self.case.group, **order})

    async def remove_by_kafka(self, instance_id: str) -> None:
        """An operator removes a static member with Kafka's own request, through the bridge."""
        await trio.to_thread.run_sync(_remove, self.place.bridge, self.case.group, instance_id)

    async def restart_bridge(self) -> None:
        """The bridge is killed and started again."""
        assert self.place.restarted is not None
        await trio.to_thread.run_sync(self.place.restarted.kill)
        await trio.to_thread.run_sync(self.place.restarted.start)

    async def move_coordinator(self) -> None:
        """Another broker coordinates the group."""
        assert self.place.move_coordinator is not None
        await trio.to_thread.run_sync(self.place.move_coordinator, self.case.group)


def seats_of(rebalances: Iterable[Rebalance]) -> dict[str, str]:
    """Members by their ids; clients are called as their seats, after a group, which is that of another kind of clients
    where a story has two.
    """
    members = (member for one in rebalances for member in one.members)
    return {member.member_id: member.client_id.rpartition("-")[2] for member in members}


def _releases(folder: Path, group: str) -> Iterator[tuple[int, str, int]]:
    """When each member of a group had released something, and how long it had been idle by then."""
    for event in read_log(folder):
        if isinstance(event, Event) and isinstance(event.fact, PartitionsReleased) and event.fact.group_id == group:
            yield event.stamp.wall_us, event.fact.member_id, event.fact.idle_us


def _events(folder: Path, group: str) -> Iterator[Event]:
    """What the log has of a group."""
    for event in read_log(folder):
        if isinstance(event, Event) and getattr(event.fact, "group_id", "") == group:
            yield event


def _remove(bootstrap: str, group: str, instance_id: str) -> None:
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    try:
        admin.remove_group_members(group, [MemberToRemove(group_instance_id=instance_id, reason="asked for")])
    finally:
        admin.close()


def place_of(bridge: BridgeProcess, broker: str, events: Path) -> Place:
    """A bridge that lives as long as the stories do."""
    return Place(broker=broker, bridge=bridge.bootstrap, events=events, admin=bridge.admin)
