"""The small classic group at the broker by which bridges meet: coming in, saying what one has, hearing the others."""

from dataclasses import dataclass

import trio

from bridge.coordinators.embedded.bridge_claims import Claims, decode, digest, encode
from bridge.ports import Broker, BrokerUnreachable, GroupRefused
from translators.dialects.admin import DescribedGroup, DescribeGroups, DescribeGroupsReply
from translators.dialects.classic import (
    Heartbeat,
    HeartbeatReply,
    JoinGroup,
    JoinGroupReply,
    LeaveGroup,
    LeavingMember,
    Protocol,
    SyncGroup,
    SyncGroupReply,
)
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import NO_MEMBER_ID, GroupId, InstanceId, MemberId

PROTOCOL_TYPE, PROTOCOL = "epochbridge", "claims"
SESSION_MS = 30_000
"""A bridge that is dead for so long has nothing any more; with a round on top the others know within 35 s."""
REBALANCE_MS = 6_000
"""How long the others have to say again what they have when one comes or goes: two rounds."""
READ_TRIES, READ_PAUSE_S = 12, 0.25
_PASSING = frozenset(
    {
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.UNKNOWN_MEMBER_ID,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Who this bridge is, over restarts, where its clients come, and the group by which bridges meet."""

    bridge: str
    where: str
    group_id: GroupId


class Meeting:
    """The static membership of this bridge: `said` is what it said last, None for nothing or nothing that still counts.

    Everything here raises BrokerUnreachable; GroupRefused for what no second try mends.
    """

    def __init__(self, broker: Broker, place: Place) -> None:
        self.said: Claims | None = None
        self.is_said = False
        """Whether the broker surely has what was said last: else its answer was lost, and with it the member id."""
        self.has_company = False
        """Whether anybody else was in the group at the last look, heard or not."""
        self._broker = broker
        self._place = place
        self._instance_id = InstanceId(place.bridge)
        self._member = (NO_MEMBER_ID, -1)

    def has_said(self, group_id: GroupId) -> bool:
        """Whether the others can know that a group is wanted here."""
        return self.said is not None and digest(group_id) in self.said.wanted

    async def enter(self, claims: Claims) -> None:
        """Say what this bridge has and wants. As a static member it changes that without a rebalance."""
        join = JoinGroup(
            group_id=self._place.group_id,
            member_id=NO_MEMBER_ID,
            instance_id=self._instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=(Protocol(PROTOCOL, encode(claims)),),
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
        )
        self.is_said = False
        joined = await self._broker.ask_coordinator(join)
        if not isinstance(joined, JoinGroupReply) or joined.error is not ErrorCode.NONE:
            raise _problem(joined.error if isinstance(joined, JoinGroupReply) else ErrorCode.UNKNOWN_SERVER_ERROR)
        self._member, self.said = (MemberId(joined.member_id), joined.generation), claims
        sync = SyncGroup(
            group_id=self._place.group_id,
            generation=joined.generation,
            member_id=joined.member_id,
            instance_id=self._instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=PROTOCOL,
        )
        synced = await self._broker.ask_coordinator(sync)
        if not isinstance(synced, SyncGroupReply) or synced.error is not ErrorCode.NONE:
            raise BrokerUnreachable("the others come and go: SyncGroup was refused; tried again soon")
        self.is_said = True

    async def beat(self) -> ErrorCode:
        """Say that this bridge lives; what the broker says to that."""
        member_id, generation = self._member
        reply = await self._broker.ask_coordinator(
            Heartbeat(self._place.group_id, generation, member_id, self._instance_id)
        )
        return reply.error if isinstance(reply, HeartbeatReply) else ErrorCode.UNKNOWN_SERVER_ERROR

    async def read(self) -> tuple[Claims, ...] | None:
        """What the other bridges say; None while one comes or goes, since a broker does not show it then."""
        for _ in range(READ_TRIES):
            found = await self._describe()
            if found.error not in (ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND):
                raise _problem(found.error)
            self.has_company = any(member.instance_id != self._place.bridge for member in found.members)
            if found.group_state == "Stable" or not found.members:
                said = (decode(member.metadata) for member in found.members)
                return tuple(each for each in said if each is not None and each.bridge != self._place.bridge)
            await trio.sleep(READ_PAUSE_S)
        return None

    async def is_seat_taken(self) -> bool:
        """Two with one identity would take the seat from each other for ever: the earlier waits for the other to go."""
        return any(member.instance_id == self._place.bridge for member in (await self._describe()).members)

    async def leave(self) -> None:
        """Go at once, instead of after the session."""
        leaver = LeavingMember(member_id=NO_MEMBER_ID, instance_id=self._instance_id)
        await self._broker.ask_coordinator(LeaveGroup(group_id=self._place.group_id, members=(leaver,)))

    async def _describe(self) -> DescribedGroup:
        reply = await self._broker.ask_coordinator(DescribeGroups(group_ids=(self._place.group_id,)))
        if not isinstance(reply, DescribeGroupsReply) or not reply.groups:
            raise BrokerUnreachable("the group of the bridges was not described")
        return reply.groups[0]


def _problem(code: ErrorCode) -> Exception:
    return BrokerUnreachable(f"it said {code.name}") if code in _PASSING else GroupRefused(code.name)
