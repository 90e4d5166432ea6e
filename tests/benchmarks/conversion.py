"""How long everybody else waits while a group of 10,000 members on 100,000 partitions changes its kind, journal on.

It must not know how a group is converted.
"""

import gc
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import trio

from bridge.app.process import calm_collector
from bridge.engine.commands import GroupType
from bridge.engine.outcome import Converted
from bridge.engine.settings import EngineSettings
from bridge.journal.sqlite import open_journal
from bridge.journal.sqlite_file import FileSettings
from tests.benchmarks.figures import Figure, Target, middle, spread
from tests.benchmarks.processes import BenchmarkError
from tests.support.embedded_world import World, embedded_world, join_request, native_join
from tests.support.owned_group import GROUP, TOPIC
from translators.dialects.classic import (
    Heartbeat,
    HeartbeatReply,
    JoinGroup,
    JoinGroupReply,
    MemberAssignment,
    SyncGroup,
    SyncGroupReply,
)
from translators.dialects.consumer import ConsumerGroupHeartbeatReply
from translators.dialects.consumer_protocol import encode_assignment
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, Topic, TopicId, TopicPartition

MEMBERS, PER_MEMBER = 10_000, 10
ROUNDS = 3
DELAY_MS = 2_000
SESSION_MS = 600_000
NEIGHBOUR = GroupId("neighbour")
PULSE_S = 0.002
LOOK_S = 0.1
"""Longer than the broker of this world takes to say that it knows no members of a group."""
LONGEST_MS = Target(bound=300)
SETTINGS = EngineSettings(
    group_initial_rebalance_delay_ms=DELAY_MS,
    group_begins_classic=True,
    group_max_session_timeout_ms=SESSION_MS,
)


@dataclass(slots=True)
class Waits:
    """By what happened, in milliseconds of each round: the longest wait of another group's heartbeat, the same in CPU
    time, which other programs don't lengthen, and how long all of it took.
    """

    longest_ms: dict[str, list[float]] = field(default_factory=dict)
    longest_cpu_ms: dict[str, list[float]] = field(default_factory=dict)
    whole_ms: dict[str, list[float]] = field(default_factory=dict)


def measure_conversion(directory: Path) -> list[Figure]:
    """There and back by order, and up by the first KIP-848 member, in a classic neighbour's eyes."""
    calm_collector()
    waits = Waits()
    try:
        for number in range(ROUNDS):
            trio.run(_play, directory / f"conversion-{number}.db", waits)
    finally:
        gc.unfreeze()
    size = f"{MEMBERS} members × {MEMBERS * PER_MEMBER} partitions"
    return [
        Figure(
            name=f"{size}, {what}: the longest that another group's heartbeat waits",
            value=middle(longest_ms),
            unit="ms",
            target=LONGEST_MS,
            note=(
                f"{spread(longest_ms)}; CPU {middle(waits.longest_cpu_ms[what]):.0f} ms; the conversion is durable and"
                f" answered after {middle(waits.whole_ms[what]):.0f} ms"
            ),
        )
        for what, longest_ms in waits.longest_ms.items()
    ]


async def _play(path: Path, waits: Waits) -> None:
    with closing(open_journal(FileSettings(path=path))) as journal:
        async with embedded_world(SETTINGS) as world:
            world.broker.topics = [Topic(TopicId(b"t" * 16), TOPIC, MEMBERS * PER_MEMBER)]
            world.groups.keep(journal)
            await _form(world, GROUP, MEMBERS)
            await _form(world, NEIGHBOUR, 1)
            await _time(world, waits, "up by order", lambda: _order(world, GroupType.CONSUMER))
            await _time(world, waits, "down by order", lambda: _order(world, GroupType.CLASSIC))
            await _time(world, waits, "up by a KIP-848 member", lambda: _join_natively(world))


async def _time(world: World, waits: Waits, what: str, act: Callable[[], Awaitable[None]]) -> None:
    begin = time.perf_counter()
    async with _pulse(world) as waited:
        await act()
        whole_ms = (time.perf_counter() - begin) * 1000
    waits.whole_ms.setdefault(what, []).append(whole_ms)
    waits.longest_ms.setdefault(what, []).append(max(wall_ms for wall_ms, _ in waited))
    waits.longest_cpu_ms.setdefault(what, []).append(max(cpu_ms for _, cpu_ms in waited))


@asynccontextmanager
async def _pulse(world: World) -> AsyncIterator[list[tuple[float, float]]]:
    """Let the neighbour beat all the time; how late each answer came, counted from when the heartbeat was due, and how
    much CPU time went by.
    """
    waited: list[tuple[float, float]] = []
    member = next(iter(world.groups.owner.shard.classic_groups[NEIGHBOUR].members))
    heartbeat = Heartbeat(NEIGHBOUR, 1, member, None)

    async def beat() -> None:
        while True:
            due, before = time.perf_counter() + PULSE_S, time.process_time()
            await trio.sleep(PULSE_S)
            reply = await world.answer(world.send(heartbeat), HeartbeatReply)
            _require(reply.error)
            waited.append(((time.perf_counter() - due) * 1000, (time.process_time() - before) * 1000))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(beat)
        await trio.sleep(10 * PULSE_S)
        yield waited
        await trio.sleep(10 * PULSE_S)
        nursery.cancel_scope.cancel()


async def _order(world: World, to: GroupType) -> None:
    verdict = await world.groups.convert(GROUP, to, is_dry_run=False)
    if not isinstance(verdict, Converted) or verdict.rebalances:
        raise BenchmarkError(f"the group was not converted as it stands: {verdict!r:.200}")


async def _join_natively(world: World) -> None:
    _require((await world.answer(world.send(native_join("native")), ConsumerGroupHeartbeatReply)).error)


async def _form(world: World, group_id: GroupId, count: int) -> None:
    """Members join at once, and their leader deals out in turn."""
    refs = [world.send(_newcomer(group_id))]
    await trio.sleep(LOOK_S)
    for _ in range(count - 1):
        refs.append(world.send(_newcomer(group_id)))
        await trio.lowlevel.checkpoint()
    joined = [await world.answer(ref, JoinGroupReply) for ref in refs]
    for reply in joined:
        _require(reply.error)
    leader = next(reply for reply in joined if reply.member_id == reply.leader)
    dealt = tuple(
        MemberAssignment(reply.member_id, encode_assignment(_share(place))) for place, reply in enumerate(joined)
    )
    syncs = [world.send(_sync(group_id, reply, dealt if reply is leader else ())) for reply in joined]
    for ref in syncs:
        _require((await world.answer(ref, SyncGroupReply)).error)


def _newcomer(group_id: GroupId) -> JoinGroup:
    return replace(join_request("", session_timeout_ms=SESSION_MS), group_id=group_id, needs_member_id=False)


def _share(place: int) -> frozenset[TopicPartition]:
    return frozenset(TopicPartition(TOPIC, place * PER_MEMBER + number) for number in range(PER_MEMBER))


def _sync(group_id: GroupId, joined: JoinGroupReply, dealt: tuple[MemberAssignment, ...]) -> SyncGroup:
    return SyncGroup(
        group_id=group_id,
        generation=joined.generation,
        member_id=joined.member_id,
        instance_id=None,
        assignments=dealt,
    )


def _require(code: ErrorCode) -> None:
    if code is not ErrorCode.NONE:
        raise BenchmarkError(f"a request was answered {code.name}")
