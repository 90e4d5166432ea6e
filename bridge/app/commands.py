"""The orders of the admin room carried out by the coordinators, in each other's words."""

from bridge.admin.contracts import (
    Conversion,
    ConversionResult,
    ConvertedMember,
    Removal,
    RemovalResult,
    RemovedSeat,
)
from bridge.app.views import by_topic
from bridge.coordinators.embedded.operators import GroupConversion, MemberPreview, Operators
from bridge.engine.commands import GroupType
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

    async def convert(self, conversion: Conversion) -> ConversionResult | None:
        """Make a group a classic or a consumer group; None if the bridge does not coordinate it."""
        to, group_id = GroupType(conversion.to), GroupId(conversion.group)
        done = await self._operators.convert(group_id, to, is_dry_run=conversion.is_dry_run)
        return None if done is None else _converted(conversion, done)


def _converted(conversion: Conversion, done: GroupConversion) -> ConversionResult:
    return ConversionResult(
        group=conversion.group,
        to=conversion.to,
        is_dry_run=conversion.is_dry_run,
        error=done.refusal,
        members=tuple(_member(member, disturbs_all=done.disturbs_all) for member in done.members),
    )


def _member(member: MemberPreview, *, disturbs_all: bool) -> ConvertedMember:
    return ConvertedMember(
        member_id=member.member_id,
        instance_id=member.instance_id,
        client_id=member.identity.client_id,
        protocol="classic",
        is_disturbed=disturbs_all or bool(member.loses or member.gains),
        loses=by_topic(member.loses),
        gains=by_topic(member.gains),
    )


def _result(reply: LeaveGroupReply) -> RemovalResult:
    seats = tuple(
        RemovedSeat(member_id=member.member_id, instance_id=member.instance_id, error=_name(member.error))
        for member in reply.members
    )
    return RemovalResult(error=_name(reply.error), seats=seats)


def _name(code: ErrorCode) -> str:
    return "" if code is ErrorCode.NONE else code.name
