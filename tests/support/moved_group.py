"""A group of real clients under load behind a bridge that can be killed; ordered to other roads, and judged."""

import random
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import trio

from bridge.admin.client import NoAnswer, ask_move, ask_moves, give_order, group_path, parse
from bridge.demo.cluster import create_topics, read_committed
from bridge.demo.events import Partition
from bridge.demo.fleet import Fleet
from bridge.demo.fleet_specs import MemberSpec, ProducerSpec, Target
from bridge.demo.judge import Verdict, judge
from bridge.demo.screen import verdict_lines
from tests.support.bridge_process import QUICK_SETTINGS
from tests.support.casts import Wardrobe
from tests.support.restarted_bridge import RestartedBridge
from tests.support.story_run import require_safety

PARTITIONS = 6
SESSION_MS = 45_000
LIFE_S = 1.5
LOOK_S, BEGIN_LOOK_S = 0.1, 0.005
MOVE_TIMEOUT_S = 150.0
"""Longer than a release that waits, once, for an id of a killed bridge to lapse: 15 s for the first seat, a session and
a second, and both rounds again.
"""
LOG_CHARS = 20_000
PREPARING = "preparing"
ENDED = frozenset({"done", "stopped", "refused"})


@dataclass(slots=True)
class MovedGroup:
    """The fleet and its bridge."""

    fleet: Fleet
    bridge: RestartedBridge
    wardrobe: Wardrobe
    offsets: Mapping[Partition, int] = field(default_factory=dict)
    """What the broker says is committed, once everybody has been stopped."""
    status: int = 0
    """The bridge's exit status then."""

    @property
    def group(self) -> str:
        """The group's id."""
        return self.fleet.target.group

    async def order(self, to: str, members: Sequence[str] = ()) -> None:
        """Order a move; a bridge that dies over it gives no answer."""
        wanted: Mapping[str, object] = {"to": to, "members": list(members)}
        with suppress(NoAnswer):
            path = group_path(self.group) + "/move"
            await trio.to_thread.run_sync(give_order, self.bridge.admin, path, wanted)

    async def progress(self) -> Mapping[str, object]:
        """The last move of the group as the bridge tells it."""
        answer = await trio.to_thread.run_sync(ask_move, self.bridge.admin, self.group)
        found = parse(answer, self.bridge.admin)
        moves = found.get("moves", [found])
        assert isinstance(moves, list), found
        return dict(moves[0])

    async def move(self, to: str, members: Sequence[str] = ()) -> Mapping[str, object]:
        """Order a move as a step of the fleet, and wait for its verdict and for the fleet's rest."""
        async with self.fleet.step(f"to {to}", is_unnoticed=True):
            await self.order(to, members)
            found = await self.wait_for_end()
            await trio.sleep(LIFE_S)
            await self.fleet.wait_settled()
        return found

    async def wait_until_nothing_moves(self) -> None:
        """Wait for the end of a move that went on by itself, if there is one."""
        with trio.fail_after(MOVE_TIMEOUT_S):
            while True:
                answer = await trio.to_thread.run_sync(ask_moves, self.bridge.admin)
                moves = parse(answer, self.bridge.admin)["moves"]
                assert isinstance(moves, list), moves
                print(moves)
                if all(move["stage"] in ENDED for move in moves):
                    return
                await trio.sleep(LOOK_S)

    async def wait_until_begun(self) -> None:
        """Wait until the order that was given last moves members, or has ended: a group on `pass` is looked at for more
        than a second before, and nobody is between two roads meanwhile.
        """
        with trio.fail_after(MOVE_TIMEOUT_S):
            while True:
                with suppress(NoAnswer):
                    if (await self.progress())["stage"] != PREPARING:
                        return
                await trio.sleep(BEGIN_LOOK_S)

    async def wait_for_end(self) -> Mapping[str, object]:
        """Wait for a verdict."""
        with trio.fail_after(MOVE_TIMEOUT_S):
            while True:
                with suppress(NoAnswer):
                    found = await self.progress()
                    if found["stage"] in ENDED:
                        return found
                await trio.sleep(LOOK_S)


@asynccontextmanager
async def running_group(
    broker: str, wardrobe: Wardrobe, directory: Path, seats: Mapping[str, str], rules: str = "no-group-at-all"
) -> AsyncIterator[MovedGroup]:
    """A settled group on road pass while records flow; at the end it is read out and stopped.

    A seat whose name begins with "static" is a static member's.
    """
    bridge = RestartedBridge(broker, rules, directory, QUICK_SETTINGS)
    group = f"moved-{random.randrange(2**24):06x}"
    target = Target(bootstrap=bridge.bootstrap, group=group, topics=(f"{group}-topic",))
    partitions = await trio.to_thread.run_sync(create_topics, broker, target.topics, PARTITIONS)
    await trio.to_thread.run_sync(bridge.start)
    try:
        async with trio.open_nursery() as nursery:
            fleet = Fleet(nursery, target, partitions, directory)
            await fleet.start_producer(ProducerSpec(partitions=PARTITIONS, rate=200))
            for seat, kind in seats.items():
                await fleet.start(await trio.to_thread.run_sync(spec_of, wardrobe, seat, kind))
            await fleet.wait_settled()
            moved = MovedGroup(fleet, bridge, wardrobe)
            yield moved
            await fleet.stop_producers()
            await fleet.wait_read()
            await fleet.stop_all()
    finally:
        status = await trio.to_thread.run_sync(bridge.stop)
    moved.status = status
    moved.offsets = await trio.to_thread.run_sync(read_committed, broker, group, fleet.partitions)


def spec_of(wardrobe: Wardrobe, seat: str, kind: str) -> MemberSpec:
    """The member of a seat; a static one where the seat's name says so. May block."""
    spec = wardrobe.spec(seat, kind, SESSION_MS)
    return replace(spec, instance_id=seat) if seat.startswith("static") else spec


@asynccontextmanager
async def moved_group(
    broker: str, wardrobe: Wardrobe, directory: Path, seats: Mapping[str, str], rules: str = "no-group-at-all"
) -> AsyncIterator[MovedGroup]:
    """The same; at the end nothing was lost, owned twice, or noticed."""
    async with running_group(broker, wardrobe, directory, seats, rules) as group:
        yield group
    verdict = judge(group.fleet.evidence(group.offsets))
    print("\n".join(verdict_lines(verdict)))
    print(group.bridge.log.read_text(encoding="utf-8", errors="replace")[-LOG_CHARS:])
    require_nobody_noticed(verdict)
    assert (group.status, "Traceback" in group.bridge.tail()) == (0, False), group.bridge.tail()


def require_nobody_noticed(verdict: Verdict) -> None:
    """Nothing lost, owned twice or committed back, and no callback in any client."""
    require_safety(verdict)
    assert (verdict.disturbances, verdict.noticed) == ((), ())
