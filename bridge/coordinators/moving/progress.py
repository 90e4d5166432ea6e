"""How far a move has come, as operators see it: kept by the move itself, read by anybody at any time."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from bridge.migration.moves.members import ClassicMember
from bridge.migration.orders import MemberProgress, MemberStage, MoveOrder, MoveProgress, MoveStage, Obstacle
from bridge.migration.route import Road
from translators.dialects.counts import counted
from translators.dialects.ids import MemberId

FOR_NEWCOMERS = "all members are there already, and whoever joins next goes there, too"
"""How an order ends that moves nobody, and says where newcomers go."""


class Progress:
    """One order from its first word to its verdict."""

    def __init__(self, order: MoveOrder, origin: Road, wall_ms: Callable[[], int], *, is_resumed: bool = False) -> None:
        self._wall_ms = wall_ms
        self._now = MoveProgress(
            order=order, origin=origin, stage=MoveStage.PREPARING, started_ms=wall_ms(), is_resumed=is_resumed
        )
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
        self._now = replace(
            self._now, stage=MoveStage.MOVING, verdict=f"{counted(len(members), 'member is', 'members are')} moved"
        )

    def note(self, member_id: MemberId, stage: MemberStage, detail: str = "") -> None:
        """One member has come so far."""
        known = self._members.get(member_id)
        if known is not None:
            self._members[member_id] = replace(known, stage=stage, detail=detail)

    def leave_out(self, obstacles: Mapping[MemberId, Obstacle]) -> None:
        """These stay where they are, whatever becomes of the others."""
        for member_id, obstacle in obstacles.items():
            self.note(member_id, MemberStage.STAYS, f"{obstacle.code}: {obstacle.sentence}")

    def foretell(self, members: Mapping[MemberId, ClassicMember], staying: Mapping[MemberId, Obstacle]) -> None:
        """It could be made now, with these members, some of whom would stay where they are."""
        self.begin(members)
        self.leave_out(staying)
        moved = len(members.keys() - staying.keys())
        self.end(MoveStage.DONE, f"it can be made, and nobody will notice; members that it moves: {moved}")

    def end(self, stage: MoveStage, verdict: str) -> None:
        """It is over."""
        self._end(stage, verdict, self._now.obstacles)

    def _end(self, stage: MoveStage, verdict: str, obstacles: tuple[Obstacle, ...]) -> None:
        self._now = replace(self._now, stage=stage, verdict=verdict, obstacles=obstacles, ended_ms=self._wall_ms())
