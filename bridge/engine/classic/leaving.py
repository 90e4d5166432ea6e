"""LeaveGroup on a classic group: members go, by their ids or by their instances."""

from bridge.engine.classic.rebalancing import follow_departure, try_complete
from bridge.engine.classic.seats import forget_member, judge_identity
from bridge.engine.model import Phase
from bridge.engine.outcome import RemovalCause
from bridge.engine.records import MemberIdWithdrawn
from bridge.engine.state import ClassicGroup
from bridge.engine.turn import Turn
from translators.dialects.classic import LeaveGroup, LeaveGroupReply, LeavingMember, LeftMember
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId, ReplyTo


def take_leave(turn: Turn, group: ClassicGroup, ref: ReplyTo, request: LeaveGroup) -> None:
    """Remove what can be removed, entry by entry, then rebalance once (K1.57 to K1.59).

    An entry that is there twice fails the second time. Unlike in Kafka the leaving of a mere promised id makes nobody
    rebalance.
    """
    if group.phase is Phase.DEAD:
        turn.reply(ref, LeaveGroupReply(error=ErrorCode.COORDINATOR_NOT_AVAILABLE))
        return
    count = len(group.members)
    left = tuple(
        LeftMember(member_id=entry.member_id, instance_id=entry.instance_id, error=_leave(turn, group, entry))
        for entry in request.members
    )
    turn.reply(ref, LeaveGroupReply(error=ErrorCode.NONE, members=left))
    if len(group.members) < count:
        follow_departure(turn, group)
    else:
        try_complete(turn, group)


def _leave(turn: Turn, group: ClassicGroup, entry: LeavingMember) -> ErrorCode:
    member_id = entry.member_id
    if member_id in group.pending:
        turn.write(MemberIdWithdrawn(group.group_id, member_id))
        return ErrorCode.NONE
    if not member_id and entry.instance_id is not None:
        member_id = group.instances.get(entry.instance_id, MemberId(""))
        if not member_id:
            return ErrorCode.UNKNOWN_MEMBER_ID
    code = judge_identity(group, member_id, entry.instance_id)
    if code is ErrorCode.NONE:
        cause = RemovalCause.LEFT if entry.member_id else RemovalCause.REMOVED
        forget_member(turn, group, member_id, cause)
    return code
