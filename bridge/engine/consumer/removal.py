"""LeaveGroup on a consumer group: each entry judged, then all gone with one move of the epoch."""

from bridge.engine.commands import RemoveMembers
from bridge.engine.consumer.heartbeats import forget_member
from bridge.engine.consumer.membership import find_leaver
from bridge.engine.model import Member
from bridge.engine.outcome import RemovalCause
from bridge.engine.state import Group
from bridge.engine.turn import Turn
from translators.dialects.classic import LeaveGroupReply, LeavingMember, LeftMember
from translators.dialects.errors import ErrorCode, Refusal
from translators.dialects.ids import MemberId


def take_removal(turn: Turn, command: RemoveMembers) -> None:
    """Remove what can be removed of a batch and answer every entry as it was asked (K4.40 to K4.42, K1.58; K11.4:
    native ones too).

    All entries are judged on the state before the batch, so an entry that is there twice succeeds twice (K12.19).
    """
    group = turn.state.groups.get(command.request.group_id)
    verdicts = [(entry, _judge(group, entry)) for entry in command.request.members]
    leaving: dict[MemberId, Member] = {
        verdict.subscription.member_id: verdict for _, verdict in verdicts if isinstance(verdict, Member)
    }
    if group is not None:
        for member in leaving.values():
            forget_member(turn, group, member, RemovalCause.REMOVED)
    members = tuple(_answer(entry, verdict) for entry, verdict in verdicts)
    turn.reply(command.ref, LeaveGroupReply(error=ErrorCode.NONE, members=members))


def _judge(group: Group | None, entry: LeavingMember) -> Member | Refusal:
    if group is None:
        return Refusal(ErrorCode.UNKNOWN_MEMBER_ID)
    member_id = entry.member_id
    if entry.instance_id is not None and not member_id:
        member_id = group.instances.get(entry.instance_id, member_id)
    return find_leaver(group, member_id, entry.instance_id)


def _answer(entry: LeavingMember, verdict: Member | Refusal) -> LeftMember:
    error = verdict.code if isinstance(verdict, Refusal) else ErrorCode.NONE
    return LeftMember(member_id=entry.member_id, instance_id=entry.instance_id, error=error)
