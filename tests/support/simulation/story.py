"""A story run in a world: phase by phase, each followed by rest, with the laws that hold between two rests."""

from dataclasses import dataclass
from functools import partial

from bridge.engine.model import MemberState
from tests.support.simulation.actor import GROUP, Actor, Partitions
from tests.support.simulation.oracle import InvariantBroken
from tests.support.simulation.schedule import Act, Action, Phase, Schedule
from tests.support.simulation.subject import MakeSubject
from tests.support.simulation.world import EXTRA_TOPIC, TOPIC, World
from translators.dialects.ids import MemberId, TopicName, TopicPartition


def unrest(world: World) -> list[str]:
    """Everything that keeps a world from rest, in words; empty means that all is as it should be (liveness, 3.2)."""
    return [*_restless(world), *_held_up(world), *_misowned(world), *_disagreements(world)]


def _restless(world: World) -> list[str]:
    living = world.living()
    now_ms = world.timeline.now_ms
    return [f"{actor.role.name} is not settled" for actor in living if not actor.is_settled or now_ms < actor.wakes_ms]


def _held_up(world: World) -> list[str]:
    """A fault lasts until the last that it held up is there: a session may end meanwhile."""
    return [f"something of client {number} is on its way, and late" for number in world.network.late()]


def _misowned(world: World) -> list[str]:
    """Every partition of every subscribed topic is processed by exactly one client, which subscribes to it."""
    living = world.living()
    wanted = world.topics.partitions(topic for actor in living for topic in actor.role.topics)
    problems = []
    for partition in sorted(wanted):
        holders = world.oracle.holders(partition)
        if len(holders) != 1:
            problems.append(f"{partition} is processed by {[world.oracle.standings[one].name for one in holders]}")
    for actor in living:
        strange = [partition for partition in actor.owned if partition.topic not in actor.role.topics]
        problems += [f"{actor.role.name} processes {partition} unasked" for partition in strange]
    return problems


def _disagreements(world: World) -> list[str]:
    """The group has the living as members and nobody else, each with what it says it has."""
    group = world.shell.subject.shard.groups.get(GROUP)
    members = {} if group is None else group.members
    living: dict[MemberId, Actor] = {actor.member_id: actor for actor in world.living()}
    problems = [f"{member_id!r} is a member and no client" for member_id in members if member_id not in living]
    for member_id, actor in living.items():
        member = members.get(member_id)
        if member is None:
            problems.append(f"{actor.role.name} is no member")
            continue
        assigned: frozenset[TopicPartition] = world.topics.to_names(member.current.assigned)
        existing = actor.owned & world.topics.partitions(actor.role.topics)
        if assigned != existing or member.current.state is not MemberState.STABLE:
            seen = f"{sorted(existing)}, for the group {sorted(assigned)} and {member.current.state.name}"
            problems.append(f"{actor.role.name} has {seen}")
    return problems


LOOK_MS = 500
QUIET_MS = 7_000
REST_MAX_MS = 240_000
SLOW_RELEASE_MS = 4_500
UNANSWERED_MAX_MS = 90_000
BROKEN_MS = 3_000
LAG_LASTS_MS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a story ended: how much happened, and the law that was broken, if one was."""

    seed: int
    virtual_ms: int
    steps: int
    takes: int
    commits: int
    joins: int
    broken: InvariantBroken | None
    trace: tuple[str, ...]


class StoryRun:
    """One story on its way."""

    def __init__(self, schedule: Schedule, make_subject: MakeSubject) -> None:
        self.schedule = schedule
        self.world = World(schedule.conditions, schedule.seed, make_subject)
        self._joins = 0

    def run(self) -> Outcome:
        """Tell it to its end or to the first broken law."""
        broken = None
        try:
            self._run_phases()
        except InvariantBroken as problem:
            broken = problem
        world = self.world
        return Outcome(
            seed=self.schedule.seed,
            virtual_ms=world.timeline.now_ms,
            steps=world.timeline.steps,
            takes=world.oracle.takes,
            commits=world.commits_landed,
            joins=self._joins,
            broken=broken,
            trace=tuple(world.oracle.trace),
        )

    def _run_phases(self) -> None:
        try:
            for phase in self.schedule.phases:
                self._run_phase(phase)
        except InvariantBroken:
            raise
        except Exception as problem:
            raise InvariantBroken("nothing raises", repr(problem)) from problem

    def _run_phase(self, phase: Phase) -> None:
        world = self.world
        world.oracle.note("story", f"a {'calm' if phase.is_calm else 'stormy'} phase of {len(phase.acts)} acts")
        before = {actor: actor.owned for actor in world.living()}
        world.oracle.rest()
        begin_ms = world.timeline.now_ms
        for act in phase.acts:
            world.timeline.at(begin_ms + act.at_ms, partial(perform, world, act))
        world.timeline.run_until(begin_ms + max((act.at_ms for act in phase.acts), default=0))
        if not phase.is_calm:
            world.timeline.run_until(world.timeline.now_ms + BROKEN_MS)
            world.heal()
        self._come_to_rest()
        self._joins += sum(standing.treatment.joins for standing in world.oracle.standings.values())
        if phase.is_calm:
            self._check_treatment(before)

    def _come_to_rest(self) -> None:
        """Faults are over: within bounds everything settles, and stays so."""
        world = self.world
        end_ms = world.timeline.now_ms + REST_MAX_MS
        quiet_since_ms, joins = world.timeline.now_ms, -1
        while world.timeline.now_ms < end_ms:
            world.timeline.run_until(world.timeline.now_ms + LOOK_MS)
            overdue = world.network.overdue(world.timeline.now_ms - UNANSWERED_MAX_MS)
            if overdue:
                raise InvariantBroken("every request is answered", f"{overdue} wait for {UNANSWERED_MAX_MS} ms")
            seen = sum(one.treatment.joins + one.treatment.calls for one in world.oracle.standings.values())
            if seen != joins or unrest(world):
                quiet_since_ms, joins = world.timeline.now_ms, seen
            elif world.timeline.now_ms - quiet_since_ms >= QUIET_MS:
                return
        raise InvariantBroken("every world comes to rest", "; ".join(unrest(world)) or "joins never end")

    def _check_treatment(self, before: dict[Actor, Partitions]) -> None:
        """Between two rests with one change and no fault in between."""
        for actor in self.world.living():
            treatment = actor.standing.treatment
            if treatment.fences:
                raise InvariantBroken("nobody is fenced in calm", f"{actor.role.name} {treatment}")
            if before.get(actor) == actor.owned and (treatment.joins or treatment.calls or treatment.revocations):
                raise InvariantBroken("nobody is disturbed whose share stays", f"{actor.role.name} {treatment}")
            if treatment.joins > self._joins_allowed(actor, before.get(actor, frozenset())):
                seen = f"{actor.role.name} {treatment}, from {sorted(before.get(actor, ()))} to {sorted(actor.owned)}"
                raise InvariantBroken("one join a change", seen)
            if treatment.calls > self._calls_allowed(actor, before.get(actor, frozenset())):
                raise InvariantBroken("one call a change", f"{actor.role.name} {treatment}")

    def _calls_allowed(self, actor: Actor, had: Partitions) -> int:
        """One call a change, and one more after an expiry of decision 10 or 11.

        A cooperative client that loses and gains is called for each: for what it loses others wait, and what it gains
        another may still be using (decision 12). One that doesn't join by itself when it has let go is called once
        more for that.
        """
        profile = actor.role.profile
        loses, gains = bool(had - actor.owned), bool(actor.owned - had)
        return 1 + self._is_slow + (profile.is_cooperative and loses and gains) + (profile.waits_for_call and loses)

    def _joins_allowed(self, actor: Actor, had: Partitions) -> int:
        """One join of the eager, two of the cooperative, three if they lose and gain (decision 12); one more after an
        expiry of decision 10 or 11.
        """
        profile = actor.role.profile
        allowed = profile.rounds
        if profile.is_cooperative:
            allowed = 3 if had - actor.owned and actor.owned - had else 2
        return allowed + self._is_slow * profile.rounds

    @property
    def _is_slow(self) -> bool:
        """Whether members may hear of a loss only after others were told to wait no longer."""
        return self.schedule.conditions.consumer_heartbeat_ms >= SLOW_RELEASE_MS


def perform(world: World, act: Act) -> None:
    """Do an action."""
    actor = world.fleet.get(act.place)
    if actor is not None and actor.is_alive and act.action in _TO_CLIENTS:
        _perform_on(world, act, actor)
        return
    match act.action:
        case Action.START:
            world.start(act.place, act.name)
        case Action.GROW:
            world.change_topics(world.topics.grow(TOPIC, act.amount))
        case Action.CREATE:
            world.create_topic(EXTRA_TOPIC, act.amount)
        case Action.DELETE:
            world.delete_topic(EXTRA_TOPIC)
        case Action.RESTART_BRIDGE:
            world.restart_bridge()
        case Action.BREAK_UPSTREAM:
            world.broker.is_broken = True
            world.timeline.after(BROKEN_MS, lambda: setattr(world.broker, "is_broken", False))
        case Action.SLOW_BROKER:
            world.broker.delay_ms = act.amount
        case _:
            pass


_TO_CLIENTS = frozenset(
    {
        Action.LEAVE,
        Action.KILL,
        Action.RESTART,
        Action.KILL_RESTART,
        Action.PAUSE,
        Action.CUT,
        Action.LAG,
        Action.RESUBSCRIBE,
    }
)


def _perform_on(world: World, act: Act, actor: Actor) -> None:
    match act.action:
        case Action.LEAVE:
            actor.leave()
        case Action.KILL:
            actor.die()
        case Action.RESTART:
            actor.leave()
            world.timeline.after(act.amount + 600, lambda: world.start(act.place, act.name))
        case Action.KILL_RESTART:
            actor.die()
            world.timeline.after(act.amount, lambda: world.start(act.place, act.name))
        case Action.PAUSE:
            actor.pause(act.amount)
        case Action.CUT:
            world.network.cut(actor.role.number)
        case Action.RESUBSCRIBE:
            actor.resubscribe(map(TopicName, act.name.split()))
        case Action.LAG:
            world.network.lag(actor.role.number, act.amount, LAG_LASTS_MS)
        case _:
            pass
