"""Moves that do as they are told: a servant for pages and commands, and values of moves for their tests."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from bridge.migration.orders import MemberProgress, MemberStage, MoveOrder, MoveProgress, MoveStage, Obstacle
from bridge.migration.route import Road
from translators.dialects.ids import GroupId, MemberId

STUCK = GroupId("stuck")
"""A group that can't move."""
OBSTACLE = Obstacle("EB-MOVE-001", "user data can't be rewritten", "play it again later", MemberId("m-2"))
BEGAN_MS = 1_700_000_000_000

Turn = Callable[[MoveProgress], MoveProgress]


def member(name: str, stage: MemberStage, detail: str = "") -> MemberProgress:
    """One member of the moves of these tests."""
    return MemberProgress(MemberId(name), f"client of {name}", "/10.0.0.1", stage, detail)


def begun(order: MoveOrder, at_ms: int = BEGAN_MS) -> MoveProgress:
    """A move that has just begun."""
    members = (member("m-1", MemberStage.WAITING), member("m-2", MemberStage.WAITING))
    return MoveProgress(order, Road.PASS, MoveStage.PREPARING, at_ms, members=members, verdict="asking the broker")


def moving(move: MoveProgress) -> MoveProgress:
    """The same move once it has begun."""
    return replace(move, stage=MoveStage.MOVING)


def done(move: MoveProgress) -> MoveProgress:
    """The same move at its end: everybody has moved."""
    moved = tuple(replace(one, stage=MemberStage.MOVED) for one in move.members)
    return replace(move, stage=MoveStage.DONE, ended_ms=move.started_ms + 900, members=moved, verdict="nobody noticed")


def refused(move: MoveProgress) -> MoveProgress:
    """The same move if it was not begun."""
    told = "one obstacle"
    return replace(move, stage=MoveStage.REFUSED, ended_ms=move.started_ms, obstacles=(OBSTACLE,), verdict=told)


def stopped(move: MoveProgress) -> MoveProgress:
    """The same move ended on the way."""
    return replace(move, stage=MoveStage.STOPPED, ended_ms=move.started_ms + 5, verdict="an operator ended it")


@dataclass(slots=True)
class ObedientMoves:
    """Begins every move (but of a group that is stuck) and keeps the order (`admin.contracts.Moves`).

    Each look at one takes a further turn in `turns`, the last one again and again.
    """

    turns: Sequence[Turn] = (done,)
    orders: list[MoveOrder] = field(default_factory=list)
    checked: list[MoveOrder] = field(default_factory=list)
    moves: dict[GroupId, MoveProgress] = field(default_factory=dict)
    looks: int = 0
    is_prepared: bool = False
    now_ms: Callable[[], int] = lambda: BEGAN_MS

    async def check(self, order: MoveOrder) -> MoveProgress:
        """What would become of it."""
        self.checked.append(order)
        return refused(begun(order)) if order.group_id == STUCK else replace(begun(order), stage=MoveStage.DONE)

    async def prepare(self) -> None:
        """Remember that it was asked to."""
        self.is_prepared = True

    def start(self, order: MoveOrder) -> MoveProgress:
        """Begin."""
        self.orders.append(order)
        move = begun(order, self.now_ms())
        self.moves[order.group_id] = refused(move) if order.group_id == STUCK else move
        return self.moves[order.group_id]

    def stop(self, group_id: GroupId) -> MoveProgress | None:
        """End it."""
        move = self.moves.get(group_id)
        if move is None or move.stage.has_ended:
            return None
        self.moves[group_id] = stopped(move)
        return self.moves[group_id]

    def progress(self, group_id: GroupId) -> MoveProgress | None:
        """Take a turn, and say what came of it."""
        move = self.moves.get(group_id)
        if move is not None and not move.stage.has_ended:
            self.moves[group_id] = self.turns[min(self.looks, len(self.turns) - 1)](move)
            self.looks += 1
        return self.moves.get(group_id)

    def all(self) -> Sequence[MoveProgress]:
        """The one that was ordered last first."""
        return tuple(reversed(self.moves.values()))
