"""Which requests belong to a classic group, run by its members' own leader, and the engine's commands for them."""

from bridge.engine.commands import ClassicHeartbeat, ClassicJoin, ClassicLeave, ClassicSync, Command, GroupType
from bridge.engine.queries import group_type, has_members
from bridge.engine.settings import settings_of
from bridge.engine.state import Shard
from translators.classic_member.profile import read_profile
from translators.dialects.classic import Heartbeat, JoinGroup, LeaveGroup, SyncGroup
from translators.dialects.coordinator import ClassicGroupRequest
from translators.dialects.errors import Refusal
from translators.dialects.ids import ClientIdentity, MemberId, ReplyTo


def takes_classic(shard: Shard, request: ClassicGroupRequest) -> bool:
    """Whether a request is for a classic group; a join to a group without members may begin either kind.

    It begins a classic one if it can't be anything else or, where groups begin classic, shall not (decision 21).
    """
    if isinstance(request, JoinGroup) and not has_members(shard, request.group_id):
        begins_classic = settings_of(shard.settings, request.group_id).group_begins_classic
        return begins_classic or _was_promised(shard, request) or isinstance(read_profile(request), Refusal)
    return group_type(shard, request.group_id) is GroupType.CLASSIC


def classic_command(ref: ReplyTo, client: ClientIdentity, request: ClassicGroupRequest, fresh_id: MemberId) -> Command:
    """The engine's command for a request to a classic group; a LeaveGroup is for groups of either kind."""
    match request:
        case JoinGroup():
            return ClassicJoin(ref=ref, request=request, identity=client, fresh_id=fresh_id)
        case SyncGroup():
            return ClassicSync(ref, request)
        case Heartbeat():
            return ClassicHeartbeat(ref, request)
        case LeaveGroup():
            return ClassicLeave(ref, request)


def _was_promised(shard: Shard, request: JoinGroup) -> bool:
    """Whether an Empty classic group told this client its id before (KIP-394)."""
    group = shard.classic_groups.get(request.group_id)
    return group is not None and request.member_id in group.pending
