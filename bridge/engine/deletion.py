"""When a group may be forgotten."""

from bridge.engine.commands import DeleteGroup
from bridge.engine.model import Phase
from bridge.engine.records import GroupDeleted
from bridge.engine.state import Shard
from bridge.engine.turn import Turn
from translators.dialects.admin import DeletedGroup
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId


def take_deletion(turn: Turn, command: DeleteGroup) -> None:
    """Forget an empty group (K6.7)."""
    code = judge_deletion(turn.state, command.group_id)
    if code is ErrorCode.NONE:
        turn.write(GroupDeleted(command.group_id))
        turn.forget(command.group_id)
    turn.reply(command.ref, DeletedGroup(command.group_id, code))


def judge_deletion(state: Shard, group_id: GroupId) -> ErrorCode:
    """Whether a group may go: unknown 69, members or parked joiners 68; a classic one if it is Empty, whatever ids are
    promised (K6.7).
    """
    classic = state.classic_groups.get(group_id)
    if classic is not None:
        return _PHASES.get(classic.phase, ErrorCode.NON_EMPTY_GROUP)
    group = state.groups.get(group_id)
    if group is None:
        return ErrorCode.GROUP_ID_NOT_FOUND
    return ErrorCode.NON_EMPTY_GROUP if group.members or group.parked else ErrorCode.NONE


_PHASES = {Phase.EMPTY: ErrorCode.NONE, Phase.DEAD: ErrorCode.GROUP_ID_NOT_FOUND}
