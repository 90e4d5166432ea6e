"""The end of serving classic groups: whoever is parked hears of it.

It must not know why serving ends.
"""

from bridge.engine.classic.model import Phase
from bridge.engine.classic.records import ClassicGroupUnloaded
from bridge.engine.classic.seats import refuse_join
from bridge.engine.turn import Turn
from translators.dialects.classic import SyncGroupReply
from translators.dialects.errors import ErrorCode


def unload_classic_groups(turn: Turn) -> None:
    """Answer all parked JoinGroups and SyncGroups NOT_COORDINATOR; the groups are Dead from now on (K1.75).

    Nothing durable is written: the journal has them as they were, and no member leaves.
    """
    for group in turn.state.classic_groups.values():
        if group.phase is Phase.DEAD:
            continue
        for member_id, ref in group.joining.items():
            turn.reply(ref, refuse_join(ErrorCode.NOT_COORDINATOR, member_id))
        for ref in group.syncing.values():
            turn.reply(ref, SyncGroupReply(error=ErrorCode.NOT_COORDINATOR))
        turn.write(ClassicGroupUnloaded(group.group_id))
