"""Telling a story in a world: phase by phase, each followed by rest, with the laws that hold between two rests.

It must not know how stories are drawn.
"""

from dataclasses import dataclass
from functools import partial

from bridge.simulation.actor import Actor, Partitions
from bridge.simulation.ledger import InvariantBroken
from bridge.simulation.rest import unrest
from bridge.simulation.schedule import Act, Deed, Phase, Schedule
from bridge.simulation.subject import MakeSubject
from bridge.simulation.world import EXTRA_TOPIC, TOPIC, World
from translators.dialects.ids import TopicName

LOOK_MS = 500
QUIET_MS = 7_000
REST_MAX_MS = 240_000
SLOW_RELEASE_MS = 4_500
UNANSWERED_MAX_MS = 90_000
BROKEN_MS = 3_000
LAG_LASTS_MS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a story ended: how much happened, and the law that was broken, if one was."""

    seed: int
    virtual_ms: int
    steps: int
    takes: int
    commits: int
    joins: int
    broken: InvariantBroken | None
    trace: tuple[str, ...]


class Telling:
    """One story on its way."""

    def __init__(self, schedule: Schedule, make_subject: MakeSubject) -> None:
        self.schedule = schedule
        self.world = World(schedule.conditions, schedule.seed, make_subject)
        self._joins = 0

    def tell(self) -> Ending:
        """Tell it to its end or to the first broken law."""
        broken = None
        try:
            self._tell_phases()
        except InvariantBroken as problem:
            broken = problem
        world = self.world
        return Ending(
            seed=self.schedule.seed,
            virtual_ms=world.timeline.now_ms,
            steps=world.timeline.steps,
            takes=world.ledger.takes,
            commits=world.commits_landed,
            joins=self._joins,
            broken=broken,
            trace=tuple(world.ledger.trace),
        )

    def _tell_phases(self) -> None:
        try:
            for phase in self.schedule.phases:
                self._tell_phase(phase)
        except InvariantBroken:
            raise
        except Exception as problem:
            raise InvariantBroken("nothing raises", repr(problem)) from problem

    def _tell_phase(self, phase: Phase) -> None:
        world = self.world
        world.ledger.note("story", f"a {'calm' if phase.is_calm else 'stormy'} phase of {len(phase.acts)} acts")
        before = {actor: actor.owned for actor in world.living()}
        world.ledger.rest()
        begin_ms = world.timeline.now_ms
        for act in phase.acts:
            world.timeline.at(begin_ms + act.at_ms, partial(perform, world, act))
        world.timeline.run_until(begin_ms + max((act.at_ms for act in phase.acts), default=0))
        if not phase.is_calm:
            world.timeline.run_until(world.timeline.now_ms + BROKEN_MS)
            world.heal()
        self._come_to_rest()
        self._joins += sum(standing.treatment.joins for standing in world.ledger.standings.values())
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
            seen = sum(one.treatment.joins + one.treatment.calls for one in world.ledger.standings.values())
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
        """Decision 12: one, and one more after an expiry of 10 or 11; a cooperative client that loses and gains is
        called for each, for what it loses others wait, and what it gains another may still be using. One that doesn't
        join by itself when it has let go is called once more for that.
        """
        temper = actor.role.temper
        loses, gains = bool(had - actor.owned), bool(actor.owned - had)
        return 1 + self._is_slow + (temper.is_cooperative and loses and gains) + (temper.waits_for_call and loses)

    def _joins_allowed(self, actor: Actor, had: Partitions) -> int:
        """Decision 12: one of the eager, two of the cooperative, three if they lose and gain; one more after an
        expiry of 10 or 11.
        """
        temper = actor.role.temper
        allowed = temper.rounds
        if temper.is_cooperative:
            allowed = 3 if had - actor.owned and actor.owned - had else 2
        return allowed + self._is_slow * temper.rounds

    @property
    def _is_slow(self) -> bool:
        """Whether members may hear of a loss only after others were told to wait no longer."""
        return self.schedule.conditions.consumer_heartbeat_ms >= SLOW_RELEASE_MS


def perform(world: World, act: Act) -> None:
    """Do a deed."""
    actor = world.fleet.get(act.place)
    if actor is not None and actor.is_alive and act.deed in _TO_CLIENTS:
        _perform_on(world, act, actor)
        return
    match act.deed:
        case Deed.START:
            world.start(act.place, act.name)
        case Deed.GROW:
            world.change_topics(world.topics.grow(TOPIC, act.amount))
        case Deed.CREATE:
            world.create_topic(EXTRA_TOPIC, act.amount)
        case Deed.DELETE:
            world.delete_topic(EXTRA_TOPIC)
        case Deed.RESTART_BRIDGE:
            world.restart_bridge()
        case Deed.BREAK_UPSTREAM:
            world.broker.is_broken = True
            world.timeline.after(BROKEN_MS, lambda: setattr(world.broker, "is_broken", False))
        case Deed.SLOW_BROKER:
            world.broker.delay_ms = act.amount
        case _:
            pass


_TO_CLIENTS = frozenset(
    {
        Deed.LEAVE,
        Deed.KILL,
        Deed.RESTART,
        Deed.KILL_RESTART,
        Deed.PAUSE,
        Deed.CUT,
        Deed.LAG,
        Deed.RESUBSCRIBE,
    }
)


def _perform_on(world: World, act: Act, actor: Actor) -> None:
    match act.deed:
        case Deed.LEAVE:
            actor.leave()
        case Deed.KILL:
            actor.die()
        case Deed.RESTART:
            actor.leave()
            world.timeline.after(act.amount + 600, lambda: world.start(act.place, act.name))
        case Deed.KILL_RESTART:
            actor.die()
            world.timeline.after(act.amount, lambda: world.start(act.place, act.name))
        case Deed.PAUSE:
            actor.pause(act.amount)
        case Deed.CUT:
            world.network.cut(actor.role.number)
        case Deed.RESUBSCRIBE:
            actor.resubscribe(map(TopicName, act.name.split()))
        case Deed.LAG:
            world.network.lag(actor.role.number, act.amount, LAG_LASTS_MS)
        case _:
            pass
