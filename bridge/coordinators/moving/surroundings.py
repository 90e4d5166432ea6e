"""What every move is made with, whatever it does."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from bridge.coordinators.mapped.groups import MappedGroups
from bridge.coordinators.moving.requests import Ways
from bridge.coordinators.upstream.groups import UpstreamGroups
from bridge.migration.orders import MoveOrder
from bridge.migration.route import Road
from translators.dialects.coordinator import Refused
from translators.dialects.errors import ErrorCode, quote
from translators.dialects.ids import GroupId, MemberId, Via

SCOUT_ID = MemberId("epochbridge-scout")
"""One id in every move, every try and every life of the bridge: to join again under it changes nothing, and whom a life
that was cut off has left in the next one knows by it, and sees off.
"""
BY_OPERATOR = Refused(ErrorCode.UNKNOWN_SERVER_ERROR, "an operator stopped the move before its turn")
NOT_HEARD = Refused(
    ErrorCode.REQUEST_TIMED_OUT,
    "it was not heard within a session, or did not come to rest",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """The ways on which requests go, and the groups between which members are moved."""

    ways: Ways
    upstream: UpstreamGroups
    mapped: MappedGroups
    now_ms: Callable[[], int]

    def home(self, group_id: GroupId, member_id: MemberId) -> Road:
        """Where a member is that no move has touched, or that is through with one."""
        if self.mapped.seat(group_id, member_id) is not None:
            return Road.MAPPED
        return Road.UPSTREAM if self.upstream.translates(group_id, member_id) else Road.PASS

    def is_newcomer(self, via: Via, group_id: GroupId, member_id: MemberId) -> bool:
        """Whether who joins is no member yet, as far as is known: of such nothing is lost while it waits."""
        is_at_broker = self.home(group_id, member_id) is Road.PASS
        return is_at_broker and self.ways.roster.is_newcomer(via, group_id, member_id)


class MoveEars(Protocol):
    """Who hears what becomes of groups by moves."""

    def move_began(self, order: MoveOrder) -> None:
        """It was looked whether a move can be made, it can, and nothing has changed so far."""
        ...

    def move_settled(self, group_id: GroupId, place: Road, epochs: Mapping[MemberId, int]) -> None:
        """A move has ended. The group's road is `place`; the members with an epoch are classic clients that the bridge
        makes members of the broker's consumer group.
        """
        ...


class NoEars:
    """Nobody hears it."""

    def move_began(self, order: MoveOrder) -> None:
        """See `MoveEars`."""

    def move_settled(self, group_id: GroupId, place: Road, epochs: Mapping[MemberId, int]) -> None:
        """See `MoveEars`."""


def in_a_sentence(refused: Refused) -> str:
    """A broker's or operator's word on a member, for people."""
    return f"{refused.code.name}: {quote(refused.reason)}"


async def is_not_known() -> bool | None:
    """What is said where brokers can't be asked."""
    return None
