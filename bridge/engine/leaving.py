"""LeaveGroup, for whatever type the named group is of."""

from bridge.engine.classic.leaving import take_leave as take_classic_leave
from bridge.engine.commands import ClassicLeave, RemoveMembers
from bridge.engine.consumer.removal import take_removal as take_consumer_removal
from bridge.engine.turn import Turn
from translators.dialects.classic import LeaveGroupReply
from translators.dialects.errors import ErrorCode


def take_leave(turn: Turn, command: ClassicLeave) -> None:
    """Refuse a LeaveGroup without group id, else carry it out (K1.57)."""
    if command.request.group_id:
        take_removal(turn, RemoveMembers(command.ref, command.request))
    else:
        turn.reply(command.ref, LeaveGroupReply(error=ErrorCode.INVALID_GROUP_ID))


def take_removal(turn: Turn, command: RemoveMembers) -> None:
    """Remove members from a group of either type; a group that does not exist answers every entry 25 (K1.58)."""
    group = turn.state.classic_groups.get(command.request.group_id)
    if group is not None:
        take_classic_leave(turn, group, command.ref, command.request)
    else:
        take_consumer_removal(turn, command)
