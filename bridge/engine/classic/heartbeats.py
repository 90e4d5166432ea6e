"""Heartbeat on a classic group: who lives, and who is to join again."""

from bridge.engine.classic.seats import extend_session, judge_identity
from bridge.engine.commands import ClassicHeartbeat
from bridge.engine.model import Phase
from bridge.engine.state import Shard
from bridge.engine.turn import Turn
from translators.dialects.classic import Heartbeat, HeartbeatReply
from translators.dialects.errors import ErrorCode

_REPLIES = {code: HeartbeatReply(code) for code in ErrorCode}
_ALIVE = (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS)


def take_heartbeat(turn: Turn, command: ClassicHeartbeat) -> None:
    """Answer a heartbeat; one of a member in the current generation extends its session (K1.54 to K1.56); O(1)."""
    request = command.request
    code = judge_heartbeat(turn.state, request)
    if code in _ALIVE:
        group = turn.state.classic_groups[request.group_id]
        extend_session(turn, group, group.members[request.member_id])
    turn.reply(command.ref, _REPLIES[code])


def judge_heartbeat(state: Shard, request: Heartbeat) -> ErrorCode:
    """The code of a heartbeat, in Kafka's order (K1.55)."""
    if not request.group_id:
        return ErrorCode.INVALID_GROUP_ID
    group = state.classic_groups.get(request.group_id)
    if group is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if group.phase is Phase.DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    code = judge_identity(group, request.member_id, request.instance_id)
    if code is not ErrorCode.NONE:
        return code
    if request.generation != group.generation_of(request.member_id):
        return ErrorCode.ILLEGAL_GENERATION
    is_rebalancing = group.phase is Phase.PREPARING_REBALANCE
    return ErrorCode.REBALANCE_IN_PROGRESS if is_rebalancing else ErrorCode.NONE
