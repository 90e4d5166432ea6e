"""A world for plans: groups with moves that end as a test says, and figures that it may spoil."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from bridge.migration.orders import MoveOrder, MoveProgress, MoveStage
from bridge.migration.plans.canaries import Waited
from bridge.migration.plans.conditions import Figures
from bridge.migration.plans.step import begin, step
from bridge.migration.plans.values import (
    GroupsSeen,
    OrderMove,
    Plan,
    PlanEffect,
    PlanEvent,
    PlanState,
    SeenGroup,
    StopMove,
)
from bridge.migration.route import Road
from translators.dialects.ids import GroupId, MemberId

MEMBERS = tuple(MemberId(f"m-{number}") for number in range(10))
TICK_MS = 2_000


@dataclass(slots=True)
class PlannedWorld:
    """A plan among its groups. Moves go on until `end` ends them."""

    plan: Plan
    names: Sequence[str]
    now_ms: int = 1_000_000
    others: dict[GroupId, Figures] = field(default_factory=dict)
    moves: dict[GroupId, MoveProgress] = field(default_factory=dict)
    figures: dict[GroupId, Figures] = field(default_factory=dict)
    roads: dict[GroupId, Road] = field(default_factory=dict)
    orders: list[MoveOrder] = field(default_factory=list)
    waits: list[Waited] = field(default_factory=list)
    members: Sequence[MemberId] = MEMBERS
    room: int = 1_000
    uncounted: set[GroupId] = field(default_factory=set)
    state: PlanState = field(init=False)

    def __post_init__(self) -> None:
        for name in self.names:
            self.figures[GroupId(name)] = Figures(at_ms=self.now_ms)
            self.roads[GroupId(name)] = Road.PASS
        self.state = begin(self.plan, self.seen(), self.now_ms)

    def seen(self) -> Mapping[GroupId, SeenGroup]:
        """All groups as they are now."""
        return {
            group_id: SeenGroup(
                replace(figures, at_ms=self.now_ms),
                tuple(self.members),
                self.moves.get(group_id),
                is_counted=group_id not in self.uncounted,
            )
            for group_id, figures in self.figures.items()
        }

    def look(self) -> None:
        """Time passes, and the plan looks at its groups."""
        self.now_ms += TICK_MS
        others = {group_id: replace(figures, at_ms=self.now_ms) for group_id, figures in self.others.items()}
        waits, self.waits = tuple(self.waits), []
        self.tell(GroupsSeen(self.seen(), others, self.room, waits))

    def rebalance(self, group_id: GroupId, wait_ms: int, moved_wait_ms: int) -> None:
        """A rebalance is over in which members that were moved waited so long, and the others so."""
        move = self.moves.get(group_id)
        is_moved = self.roads[group_id] is self.plan.destination
        named = move.order.members if is_moved and move is not None else ()
        members = (
            (member_id, moved_wait_ms if is_moved and (not named or member_id in named) else wait_ms)
            for member_id in self.members
        )
        self.waits.append(Waited(group_id, self.now_ms, tuple(members)))

    def tell(self, event: PlanEvent) -> None:
        """Something happens to the plan, and what it orders is begun."""
        taken = step(self.state, event, self.now_ms)
        self.state = taken.state
        for effect in taken.effects:
            self._carry_out(effect)

    def run(self, looks: int = 60) -> None:
        """Every move ends well at once."""
        for _ in range(looks):
            self.look()
            self.end_all()

    def end_all(self, stage: MoveStage = MoveStage.DONE) -> None:
        """All moves that go on end so."""
        for group_id in [group_id for group_id, move in self.moves.items() if not move.stage.has_ended]:
            self.end(group_id, stage)

    def end(self, group_id: GroupId, stage: MoveStage = MoveStage.DONE) -> None:
        """A move ends so."""
        move = self.moves[group_id]
        self.moves[group_id] = replace(move, stage=stage, ended_ms=self.now_ms, verdict=f"it is {stage.value}")
        if stage is MoveStage.DONE:
            self.roads[group_id] = move.order.destination

    def order(self, order: MoveOrder) -> None:
        """Somebody orders a move, the plan or an operator."""
        origin = self.roads[order.group_id]
        self.moves[order.group_id] = MoveProgress(order, origin, MoveStage.PREPARING, self.now_ms)

    def phase(self) -> type[PlanState]:
        """What the plan is doing."""
        return type(self.state)

    def going_on(self) -> int:
        """How many moves go on."""
        return sum(not move.stage.has_ended for move in self.moves.values())

    def _carry_out(self, effect: PlanEffect) -> None:
        match effect:
            case OrderMove(order):
                self.orders.append(order)
                self.order(order)
            case StopMove(group_id):
                self.end(group_id, MoveStage.STOPPED)
