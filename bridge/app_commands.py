"""The orders of the admin room carried out by the coordinators, in each other's words.

It must not know HTTP, or how anything is decided.
"""

from bridge.admin.contracts import Removal, RemovalResult, RemovedSeat
from bridge.coordinators.operators import Operators
from translators.dialects.classic import LeaveGroupReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, InstanceId, MemberId


class AppCommands:
    """What the bridge can be told to do (`admin.contracts.Commands`)."""

    def __init__(self, operators: Operators) -> None:
        self._operators = operators

    async def remove_members(self, removal: Removal) -> RemovalResult | None:
        """Let members leave; None if the bridge does not coordinate the group."""
        group_id = GroupId(removal.group)
        if removal.is_all:
            reply = await self._operators.remove_all_members(group_id)
        else:
            members, instances = map(MemberId, removal.member_ids), map(InstanceId, removal.instance_ids)
            reply = await self._operators.remove_members(group_id, tuple(members), tuple(instances))
        return None if reply is None else _result(reply)


def _result(reply: LeaveGroupReply) -> RemovalResult:
    seats = tuple(
        RemovedSeat(member_id=member.member_id, instance_id=member.instance_id, error=_name(member.error))
        for member in reply.members
    )
    return RemovalResult(error=_name(reply.error), seats=seats)


def _name(code: ErrorCode) -> str:
    return "" if code is ErrorCode.NONE else code.name
