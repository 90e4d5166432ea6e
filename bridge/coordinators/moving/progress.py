"""How far a move has come, as operators see it: kept by the move itself, read by anybody at any time."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from bridge.migration.moves.members import ClassicMember
from bridge.migration.orders import MemberProgress, MemberStage, MoveOrder, MoveProgress, MoveStage, Obstacle
from bridge.migration.route import Road
from translators.dialects.ids import MemberId


class Progress:
    """One order from its first word to its verdict."""

    def __init__(self, order: MoveOrder, origin: Road, wall_ms: Callable[[], int]) -> None:
        self._wall_ms = wall_ms
        self._now = MoveProgress(order=order, origin=origin, stage=MoveStage.PREPARING, started_ms=wall_ms())
        self._members: dict[MemberId, MemberProgress] = {}

    @property
    def now(self) -> MoveProgress:
        """How far it is."""
        return replace(self._now, members=tuple(self._members.values()))

    def refuse(self, obstacles: tuple[Obstacle, ...], verdict: str) -> None:
        """It is not begun."""
        self._end(MoveStage.REFUSED, verdict, obstacles)

    def warn(self, obstacles: tuple[Obstacle, ...]) -> None:
        """It is made although these stand in its way, or these are to be known."""
        self._now = replace(self._now, obstacles=obstacles)

    def begin(self, members: Mapping[MemberId, ClassicMember]) -> None:
        """These are to be moved."""
        for member_id, member in members.items():
            self._members[member_id] = MemberProgress(
                member_id, member.client.client_id, member.client.client_host, MemberStage.WAITING
            )
        self._now = replace(self._now, stage=MoveStage.MOVING, verdict=f"{len(members)} members are moved")

    def note(self, member_id: MemberId, stage: MemberStage, detail: str = "") -> None:
        """One member has come so far."""
        known = self._members.get(member_id)
        if known is not None:
            self._members[member_id] = replace(known, stage=stage, detail=detail)

    def end(self, stage: MoveStage, verdict: str) -> None:
        """It is over."""
        self._end(stage, verdict, self._now.obstacles)

    def _end(self, stage: MoveStage, verdict: str, obstacles: tuple[Obstacle, ...]) -> None:
        self._now = replace(self._now, stage=stage, verdict=verdict, obstacles=obstacles, ended_ms=self._wall_ms())
