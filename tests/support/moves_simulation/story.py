"""A story of moves run in its world: phase by phase, each followed by rest, with the laws that moves must keep."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from random import Random

import trio
from trio.testing import MockClock

from bridge.coordinators.moving.places import FACTS
from bridge.engine.commands import Speaks
from bridge.engine.model import Phase as GroupPhase
from bridge.migration.orders import MoveStage
from bridge.migration.route import Road
from tests.support.moves_simulation.bridge_life import BridgeLife
from tests.support.moves_simulation.kafka_group import Release
from tests.support.moves_simulation.schedule import Act, Action, Phase, Schedule, draw_schedule
from tests.support.moves_simulation.world import TOPIC, MovesWorld
from tests.support.simulation.actor import GROUP, Actor
from tests.support.simulation.oracle import InvariantBroken
from translators.dialects.consumer_protocol import decode_assignment
from translators.dialects.ids import MemberId, MemberRef, TopicPartition

LOOK_MS = 500
QUIET_MS = 5_000
REST_MAX_MS = 180_000
LAG_LASTS_MS = 5_000
FAULTS_LAST_MS = 3_000
UNANSWERED_MAX_MS = 90_000
BOUND_S = 4_000.0
"""Virtual seconds after which a story that has not ended never will."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a story ended: how much happened, and the law that was broken, if one was."""

    seed: int
    virtual_ms: int
    steps: int
    orders: int
    moved: int
    commits: int
    broken: InvariantBroken | None
    trace: tuple[str, ...]


def run_seed(seed: int) -> Outcome:
    """Tell the story of a seed."""
    return run_story(draw_schedule(seed))


def run_story(schedule: Schedule) -> Outcome:
    """Tell a story; one schedule has one outcome within one process."""
    scheduler = vars(trio._core._run)
    before = {name: scheduler[name] for name in ("_ALLOW_DETERMINISTIC_SCHEDULING", "_r")}
    scheduler.update(_ALLOW_DETERMINISTIC_SCHEDULING=True, _r=Random(f"trio {schedule.seed}"))
    try:
        return trio.run(_tell, schedule, clock=MockClock(autojump_threshold=0))
    finally:
        scheduler.update(before)


async def _tell(schedule: Schedule) -> Outcome:
    worlds: list[MovesWorld] = []
    story: StoryRun | None = None
    try:
        async with trio.open_nursery() as nursery:
            world = MovesWorld(schedule.conditions, schedule.seed, nursery)
            worlds.append(world)
            story = StoryRun(schedule, world)
            nursery.start_soon(world.timeline.drive)
            nursery.start_soon(story.run)
            with trio.move_on_after(BOUND_S) as bound:
                await world.is_over.wait()
            if bound.cancelled_caught:
                world.fail(InvariantBroken("every world comes to rest", "the story never ends"))
            nursery.cancel_scope.cancel()
    except* Exception as problems:  # noqa: BLE001  # whatever the bridge raises is what the story tells
        worlds[0].fail(problems)
    world = worlds[0]
    return Outcome(
        seed=schedule.seed,
        virtual_ms=world.timeline.now_ms,
        steps=world.timeline.steps,
        orders=world.orders,
        moved=0 if story is None else story.moved,
        commits=world.commits_landed,
        broken=world.broken,
        trace=tuple(world.oracle.trace),
    )


class StoryRun:
    """One story on its way."""

    def __init__(self, schedule: Schedule, world: MovesWorld) -> None:
        self.schedule, self.world = schedule, world
        self.moved = 0

    async def run(self) -> None:
        """Tell it to its end or to the first broken law."""
        try:
            await self.world.begin_life()
            for phase in self.schedule.phases:
                await self._run_phase(phase)
            # What is in the journal is what is so: nobody notices that the bridge begins anew with it.
            await self._run_phase(Phase(is_calm=True, acts=(Act(at_ms=0, action=Action.KILL_BRIDGE, amount=200),)))
        except Exception as problem:  # noqa: BLE001  # whatever the bridge raises is what the story tells
            self.world.fail(problem)
        self.world.is_over.set()

    async def _run_phase(self, phase: Phase) -> None:
        world = self.world
        world.oracle.note("story", f"a {'calm' if phase.is_calm else 'stormy'} phase of {len(phase.acts)} acts")
        before = world.living()
        world.oracle.rest()
        begin_ms = world.timeline.now_ms
        for act in phase.acts:
            world.timeline.at(begin_ms + act.at_ms, partial(perform, world, act))
        await trio.sleep((max((act.at_ms for act in phase.acts), default=0) + LOOK_MS) / 1000)
        if not phase.is_calm:
            await trio.sleep(FAULTS_LAST_MS / 1000)
        world.heal()
        await self._come_to_rest()
        life = world.life
        assert life is not None
        world.check_tasks(life)
        self.moved += sum(one.stage.has_ended and bool(one.members) for one in life.live.all())
        _check_type(world, life)
        if phase.is_calm and not _may_disturb(world, phase):
            _check_treatment([actor for actor in before if actor.is_alive])

    async def _come_to_rest(self) -> None:
        """Faults are over: within bounds everything settles, and stays so."""
        world = self.world
        end_ms = world.timeline.now_ms + REST_MAX_MS
        quiet_since_ms, joins = world.timeline.now_ms, -1
        while world.timeline.now_ms < end_ms:
            await trio.sleep(LOOK_MS / 1000)
            world.timeline.now_ms = max(world.timeline.now_ms, round(trio.current_time() * 1000))
            overdue = world.network.overdue(world.timeline.now_ms - UNANSWERED_MAX_MS)
            if overdue:
                raise InvariantBroken("every request is answered", f"{overdue} wait for {UNANSWERED_MAX_MS} ms")
            seen = sum(one.treatment.joins + one.treatment.calls for one in world.oracle.standings.values())
            if seen != joins or any(unrest(world)):
                quiet_since_ms, joins = world.timeline.now_ms, seen
            elif world.timeline.now_ms - quiet_since_ms >= QUIET_MS:
                return
        raise InvariantBroken("every world comes to rest", "; ".join(unrest(world)) or "joins never end")


def _may_disturb(world: MovesWorld, phase: Phase) -> bool:
    """Whether Kafka itself calls members: before 4.2 a scout's farewell moves the epoch, and calls whoever was not
    taken over.
    """
    some_stay = any(act.places for act in phase.acts) or bool(world.conditions.direct_places)
    is_stopped = any(act.action is Action.STOP for act in phase.acts)
    return world.conditions.release is not Release.V4_3 and (some_stay or is_stopped)


def _check_type(world: MovesWorld, life: BridgeLife) -> None:
    """A group that was given back with nothing left to be known is a classic one, until somebody joins otherwise."""
    for one in life.live.all():
        whole_way_back = one.order.destination is Road.PASS and not one.order.members and not one.obstacles
        is_undisturbed = {member.member_id for member in one.members} == _members_at_broker(world)
        if (
            whole_way_back
            and one.stage is MoveStage.DONE
            and is_undisturbed
            and world.broker.group.consumer is not None
        ):
            raise InvariantBroken("a group that was given back is a classic group", one.verdict)


def _members_at_broker(world: MovesWorld) -> set[MemberId]:
    group = world.broker.group
    known = group.consumer or group.classic
    return set() if known is None else set(known.members)


def _check_treatment(actors: list[Actor]) -> None:
    for actor in actors:
        treatment = actor.standing.treatment
        if treatment.fences:
            raise InvariantBroken("nobody is fenced by a move", f"{actor.role.name} {treatment}")
        if treatment.joins or treatment.calls or treatment.revocations:
            raise InvariantBroken("no client hears of a move", f"{actor.role.name} {treatment}")


# ---------------------------------------------------------------------- rest


def unrest(world: MovesWorld) -> Iterator[str]:
    """Everything that keeps a world from rest, in words."""
    now_ms, living = world.timeline.now_ms, world.living()
    for actor in living:
        if not actor.is_settled or now_ms < actor.wakes_ms:
            yield f"{actor.role.name} is not settled"
    for partition in sorted(world.topics.partitions([TOPIC])) if living else []:
        holders = world.oracle.holders(partition)
        if len(holders) != 1:
            yield f"{partition} is processed by {[world.oracle.standings[one].name for one in holders]}"
    life = world.life
    if life is None:
        yield "no bridge runs"
        return
    for move in life.live.all():
        if not move.stage.has_ended:
            yield f"the move to {move.order.destination} is {move.stage}: {move.verdict}"
        elif not move.verdict:
            yield f"the move to {move.order.destination} has no verdict"
    if life.router.place(GROUP) is Road.MOVING or "move" in json.loads(
        life.embedded.facts(FACTS).get(FACTS + GROUP, "{}")
    ):
        yield "a move is under way"
    yield from _disagreements(world, life)


def _disagreements(world: MovesWorld, life: BridgeLife) -> Iterator[str]:
    """The broker or the bridge has the living as members and nobody else, each with what it has and in its words."""
    shares = dict(_broker_shares(world))
    engine = dict(_engine_shares(life))
    if shares and engine:
        yield f"broker ({sorted(shares)}) and bridge ({sorted(engine)}) both have members"
    found, seen = (engine, "the bridge") if engine else (shares, "the broker")
    expected: set[MemberId] = set()
    for actor in world.living():
        seat = None if engine else life.mapped.seat(GROUP, actor.member_id)
        named = actor.member_id if engine else life.upstream.names.seat_id(MemberRef(GROUP, actor.member_id))
        member_id = named if seat is None else seat.seat_id
        expected.add(member_id)
        if member_id not in found:
            yield f"{actor.role.name} ({member_id}) is no member of {seen}"
            continue
        share, generation = found[member_id]
        if share != actor.owned:
            yield f"{actor.role.name} has {sorted(actor.owned)}, for {seen} {sorted(share)}"
        known = actor.epoch if seat is None else seat.seat_generation
        is_translated = life.upstream.translates(GROUP, actor.member_id)
        if not engine and not is_translated and generation != known:
            yield f"{actor.role.name} is in {known}, for {seen} in {generation}"
        if not engine and not actor.role.profile.is_native and is_translated is not _is_consumer(world, member_id):
            yield f"{actor.role.name} is {'' if is_translated else 'not '}translated, and the broker has it otherwise"
    for stranger in found.keys() - expected:
        yield f"{stranger!r} is a member of {seen} and no client"


def _is_consumer(world: MovesWorld, member_id: MemberId) -> bool:
    group = world.broker.group.consumer
    return group is not None and group.members[member_id].subscription.speaks is Speaks.CONSUMER


def _broker_shares(world: MovesWorld) -> Iterator[tuple[MemberId, tuple[frozenset[TopicPartition], int]]]:
    broker = world.broker.group
    if broker.consumer is not None:
        for member_id, member in broker.consumer.members.items():
            yield member_id, (broker.to_names(member.current.assigned), member.current.epoch)
    elif broker.classic is not None:
        is_stable = broker.classic.phase is GroupPhase.STABLE
        for member_id, seat in broker.classic.members.items():
            share = decode_assignment(seat.assignment).partitions if is_stable and seat.assignment else frozenset()
            yield member_id, (share, broker.classic.generation_of(member_id))


def _engine_shares(life: BridgeLife) -> Iterator[tuple[MemberId, tuple[frozenset[TopicPartition], int]]]:
    shard = life.embedded.owner.shard
    group, classic = shard.groups.get(GROUP), shard.classic_groups.get(GROUP)
    if group is not None:
        for member_id, member in group.members.items():
            names = frozenset(TopicPartition(shard.topics[one].name, number) for one, number in member.current.assigned)
            yield member_id, (names, member.current.epoch)
    elif classic is not None:
        for member_id, seat in classic.members.items():
            share = decode_assignment(seat.assignment).partitions if seat.assignment else frozenset()
            yield member_id, (share, classic.generation_of(member_id))


# ---------------------------------------------------------------------- acts


def perform(world: MovesWorld, act: Act) -> None:
    """Do an action."""
    match act.action:
        case Action.START:
            world.start(act.place, act.name)
        case Action.MOVE:
            world.order(Road(act.name), act.places)
        case Action.STOP:
            world.stop()
        case Action.KILL_BRIDGE:
            world.kill_bridge(act.amount)
        case Action.BUSY_BROKER:
            world.busy_broker(act.amount)
        case Action.KILL_BROKER:
            world.kill_broker()
        case Action.HANG_BROKER:
            world.hang_broker(act.amount)
        case _:
            actor = world.fleet.get(act.place)
            if actor is not None and actor.is_alive:
                _perform_on(world, act, actor)


def _perform_on(world: MovesWorld, act: Act, actor: Actor) -> None:
    network = actor.outside.network
    match act.action:
        case Action.LEAVE:
            actor.leave()
        case Action.KILL:
            actor.die()
        case Action.RESTART:
            actor.leave()
            world.timeline.after(act.amount + 600, lambda: world.start(act.place, act.name))
        case Action.PAUSE:
            actor.pause(act.amount)
        case Action.CUT:
            actor.note("loses its connections")
            network.cut(actor.role.number)
        case Action.LAG:
            network.lag(actor.role.number, act.amount, LAG_LASTS_MS)
        case _:
            pass
