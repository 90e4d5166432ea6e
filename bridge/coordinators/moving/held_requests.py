"""Requests of a whole group that wait for the end of its move, in the order in which they came."""

from collections.abc import Callable, Collection
from typing import Generic, Protocol, TypeVar

from bridge.coordinators.rounds import OWN
from bridge.migration.orders import Obstacle
from bridge.ports import BrokerUnreachable, Coordinators
from translators.dialects.classic import JoinGroup, LeaveGroup, LeaveGroupReply, LeavingMember
from translators.dialects.errors import ErrorCode, quote
from translators.dialects.ids import GroupId, MemberId, Via
from translators.dialects.messages import GroupRequest

REASON = "epochbridge moves the group"
_COME_AGAIN = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NETWORK_EXCEPTION,
    }
)


class HeldRequest(Protocol):
    """A request as it came: by which connection, and when (monotonic milliseconds)."""

    @property
    def via(self) -> Via:
        """The connection that it came by."""
        ...

    @property
    def request(self) -> GroupRequest:
        """What is asked."""
        ...

    @property
    def at_ms(self) -> int:
        """When it came."""
        ...


HeldT = TypeVar("HeldT", bound=HeldRequest)


class HeldRequests(Generic[HeldT]):
    """What waits; a JoinGroup and a farewell wait for the end, anything else until it is excused."""

    def __init__(self, excuse: Callable[[HeldT], None]) -> None:
        """`excuse` answers one that has waited too long."""
        self._excuse = excuse
        self._held: list[HeldT] = []

    def keep(self, held: HeldT) -> None:
        """Let a request wait."""
        self._held.append(held)

    def forget(self, connection: int) -> None:
        """A connection is gone, and nobody waits for its answers: only that somebody leaves still counts."""
        self._held = [one for one in self._held if one.via.connection != connection or is_farewell(one.request)]

    def excuse(self, before_ms: int) -> None:
        """Answer what has waited since before then: its client's session goes on, and it can ask again.

        A farewell is not said twice.
        """
        excused, kept = list[HeldT](), list[HeldT]()
        for one in self._held:
            is_excused = one.at_ms < before_ms and not (is_farewell(one.request) or isinstance(one.request, JoinGroup))
            (excused if is_excused else kept).append(one)
        self._held = kept
        for one in excused:
            self._excuse(one)

    def take(self) -> list[HeldT]:
        """Everything that waits, for whoever lets it go."""
        held, self._held = self._held, []
        return held


def is_farewell(request: GroupRequest) -> bool:
    """Whether somebody leaves: its client says so once, and may close its connection behind it."""
    return isinstance(request, LeaveGroup)


async def leave_seats(
    coordinators: Coordinators, group_id: GroupId, seats: Collection[MemberId]
) -> Obstacle | BrokerUnreachable | None:
    """Let these members leave their broker's group in one request: None when it has none of them any more.

    An obstacle if the broker does not let the bridge do that; BrokerUnreachable, not raised, if it is not known.
    """
    entries = tuple(LeavingMember(member_id=one, reason=REASON) for one in seats)
    if not entries:
        return None
    try:
        line = await coordinators.connect_coordinator(await coordinators.find_coordinator(group_id))
        try:
            reply = await line.ask(LeaveGroup(group_id=group_id, members=entries), OWN)
        finally:
            line.close()
    except BrokerUnreachable as problem:
        return problem
    assert isinstance(reply, LeaveGroupReply), reply
    if reply.error in _COME_AGAIN:
        return BrokerUnreachable(f"LeaveGroup got {reply.error.name}")
    return None if reply.error is ErrorCode.NONE else _refused(group_id, reply.error)


def _refused(group_id: GroupId, code: ErrorCode) -> Obstacle:
    return Obstacle(
        "EB-MOVE-221",
        f"the broker does not let the bridge speak for the members of {quote(group_id)}: {code.name}",
        "give the bridge's own login READ on the group",
    )
