"""What an operator orders of a group, and what becomes of it: the order, what stands in its way, each member's part."""

from dataclasses import dataclass
from enum import StrEnum, auto

from bridge.migration.route import Road
from translators.dialects.ids import GroupId, MemberId


@dataclass(frozen=True, slots=True)
class MoveOrder:
    """Move a group to another road while its members work.

    `members` names those to be moved where a road is a member's own (`upstream`); empty: all of them, and whoever comes
    later. With `allow_rebalance` the move is made even if members will have to join again.
    """

    group_id: GroupId
    destination: Road
    members: tuple[MemberId, ...] = ()
    allow_rebalance: bool = False

    def concerns(self, member_id: MemberId) -> bool:
        """Whether a member is to be moved."""
        return not self.members or member_id in self.members


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why a group can't move without a rebalance: a stable code, what was seen, and what to do about it.

    `member_id` is None for what concerns the whole group.
    """

    code: str
    sentence: str
    remedy: str
    member_id: MemberId | None = None


class MemberStage(StrEnum):
    """How far one member has come."""

    WAITING = auto()
    """Its turn has not come."""
    MOVING = auto()
    """It is between two roads: what it commits is held, what it asks is answered as before."""
    MOVED = auto()
    """It is on the road that was ordered, and has not noticed."""
    STAYS = auto()
    """It is left where it is: it was not ordered, or it can't move; the detail says which."""
    GONE = auto()
    """It left or died before its turn came to an end."""


@dataclass(frozen=True, slots=True)
class MemberProgress:
    """How far one member of a group has come, and what its client sees of it (`detail`, a sentence or empty)."""

    member_id: MemberId
    client_id: str
    client_host: str
    stage: MemberStage
    detail: str = ""


class MoveStage(StrEnum):
    """How far a move has come."""

    PREPARING = auto()
    """The brokers are asked whether it can be made."""
    MOVING = auto()
    """Members are moved, one after the other or all at once."""
    DONE = auto()
    """Everybody who was to be moved is, and nobody noticed who need not have."""
    STOPPED = auto()
    """An operator or a failure ended it on the way; every member has a road and an owner all the same."""
    REFUSED = auto()
    """It was not begun: the obstacles say why. Nothing was changed."""

    @property
    def has_ended(self) -> bool:
        """Whether nothing comes after it."""
        return self not in {MoveStage.PREPARING, MoveStage.MOVING}


@dataclass(frozen=True, slots=True)
class MoveProgress:
    """How far a move has come; times are milliseconds since 1970, `ended_ms` is None while it goes on.

    `origin` is the road on which the group was when the move was ordered. `verdict` is one sentence for people: what
    is done now, or how it ended and why. One that `is_resumed` is what was left of an order as the bridge was started
    again.
    """

    order: MoveOrder
    origin: Road
    stage: MoveStage
    started_ms: int
    ended_ms: int | None = None
    obstacles: tuple[Obstacle, ...] = ()
    members: tuple[MemberProgress, ...] = ()
    verdict: str = ""
    is_resumed: bool = False

    def count(self, stage: MemberStage) -> int:
        """How many members are at this stage."""
        return sum(member.stage is stage for member in self.members)

    def told(self) -> tuple[MemberId, ...]:
        """Members that had to be told to join again, or are gone."""
        return tuple(one.member_id for one in self.members if one.detail and one.stage is not MemberStage.STAYS)
