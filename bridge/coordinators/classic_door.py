"""Which requests belong to a classic group, run by its members' own leader, and not to a translated member's machine.

It must not know machines, or how a classic group is decided.
"""

from bridge.coordinators.arrivals import Arrival
from bridge.engine.commands import ClassicHeartbeat, ClassicJoin, ClassicLeave, ClassicSync, Command, GroupType
from bridge.engine.queries import group_type, has_members
from bridge.engine.settings import settings_of
from bridge.engine.state import Shard
from translators.classic_member.profile import read_profile
from translators.dialects.classic import Heartbeat, JoinGroup, LeaveGroup, SyncGroup
from translators.dialects.errors import Refusal
from translators.dialects.ids import MemberId

ClassicGroupRequest = JoinGroup | SyncGroup | Heartbeat | LeaveGroup


class ClassicDoor:
    """Sends requests to classic groups: to those that are, and to new ones that can't be anything else or, if groups
    begin classic, shall not (decision 21).
    """

    def __init__(self, shard: Shard) -> None:
        self._shard = shard

    def takes(self, request: ClassicGroupRequest) -> bool:
        """Whether a request is for a classic group; a join to a group without members may begin either kind."""
        if isinstance(request, JoinGroup) and not has_members(self._shard, request.group_id):
            begins_classic = settings_of(self._shard.settings, request.group_id).group_begins_classic
            return begins_classic or self._was_promised(request) or isinstance(read_profile(request), Refusal)
        return group_type(self._shard, request.group_id) is GroupType.CLASSIC

    def _was_promised(self, request: JoinGroup) -> bool:
        """Whether an Empty classic group told this client its id before (KIP-394)."""
        group = self._shard.classic_groups.get(request.group_id)
        return group is not None and request.member_id in group.pending

    def command(self, arrival: Arrival, request: ClassicGroupRequest, fresh_id: MemberId) -> Command:
        """The engine's command for a request that this door takes."""
        match request:
            case JoinGroup():
                return ClassicJoin(ref=arrival.ref, request=request, identity=arrival.client, fresh_id=fresh_id)
            case SyncGroup():
                return ClassicSync(arrival.ref, request)
            case Heartbeat():
                return ClassicHeartbeat(arrival.ref, request)
            case LeaveGroup():
                return ClassicLeave(arrival.ref, request)
