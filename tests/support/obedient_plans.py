"""Plans that do as they are told, for pages and commands of the admin room."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from bridge.migration.patterns import Pattern
from bridge.migration.plans.reading import PlanFault
from bridge.migration.plans.step import step
from bridge.migration.plans.values import Plan, PlanEvent, PlanStage, PlanState
from bridge.migration.route import Road
from tests.support.planned_world import PlannedWorld

PLAN = Plan(
    name="pay.1",
    destination=Road.UPSTREAM,
    groups=(Pattern("g-*"),),
    stages=(PlanStage(groups_percent=50, watch_ms=60_000), PlanStage(groups_percent=100)),
    groups_max=2,
)
FAULT = PlanFault("EB-PLAN-004", "to", "'x'", "pass or embedded or upstream")


def planned(looks: int = 0) -> PlanState:
    """A plan of three groups after so many looks."""
    world = PlannedWorld(PLAN, ["g-1", "g-2", "g-3"])
    world.run(looks)
    return world.state


@dataclass(slots=True)
class ObedientPlans:
    """Finds every text that is `wrong` wrong, and any other the same plan (`admin.contracts.Plans`)."""

    states: dict[str, PlanState] = field(default_factory=dict)
    texts: list[tuple[str, str]] = field(default_factory=list)
    words: list[PlanEvent] = field(default_factory=list)

    async def check(self, text: str, source: str) -> PlanState | tuple[PlanFault, ...]:
        """The plan."""
        return (FAULT, FAULT) if text == "wrong" else planned()

    async def start(self, text: str, source: str) -> PlanState | tuple[PlanFault, ...]:
        """Begin it."""
        self.texts.append((text, source))
        taken = await self.check(text, source)
        if not isinstance(taken, tuple):
            self.states[taken.progress.plan.name] = taken
        return taken

    def tell(self, name: str, word: PlanEvent) -> PlanState | None:
        """Hear a word."""
        state = self.states.get(name)
        if state is None:
            return None
        self.words.append(word)
        self.states[name] = step(state, word, 2_000_000).state
        return self.states[name]

    def plan(self, name: str) -> PlanState | None:
        """One of them."""
        return self.states.get(name)

    def all(self) -> Sequence[PlanState]:
        """All of them."""
        return tuple(self.states.values())
