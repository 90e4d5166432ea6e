"""What happens in a classic group when a deadline passes: sessions, promised ids, join and sync phases.

It must not know who set them.
"""

from bridge.engine.classic.group import ClassicGroup
from bridge.engine.classic.rebalancing import follow_departure, pass_join_deadline, try_complete
from bridge.engine.classic.records import MemberIdWithdrawn
from bridge.engine.classic.seats import forget_member
from bridge.engine.classic.syncing import pass_sync_deadline
from bridge.engine.model import DeadlineKey, DeadlineKind
from bridge.engine.outcome import RemovalCause
from bridge.engine.records import DeadlineCleared
from bridge.engine.turn import Turn

CLASSIC_KINDS = frozenset({DeadlineKind.CLASSIC_SESSION, DeadlineKind.CLASSIC_JOIN, DeadlineKind.CLASSIC_SYNC})
"""The deadlines of classic groups."""


def pass_classic_deadline(turn: Turn, key: DeadlineKey) -> None:
    """Do what is due; a deadline goes with its group and its rebalance, so it is never about another (K12.9)."""
    group = turn.state.classic_groups[key.group_id]
    if key.kind is DeadlineKind.CLASSIC_JOIN:
        pass_join_deadline(turn, group)
    elif key.kind is DeadlineKind.CLASSIC_SYNC:
        pass_sync_deadline(turn, group)
    else:
        _expire(turn, group, key)


def _expire(turn: Turn, group: ClassicGroup, key: DeadlineKey) -> None:
    """A session is over (K1.60): who is parked and not new is alive; it gets a new session with its answer."""
    member_id = key.member_id
    if member_id in group.pending:
        turn.write(MemberIdWithdrawn(group.group_id, member_id))
        try_complete(turn, group)
    elif member_id not in group.newcomers and (member_id in group.joining or member_id in group.syncing):
        turn.write(DeadlineCleared(key))
    else:
        forget_member(turn, group, member_id, RemovalCause.SESSION_EXPIRED)
        follow_departure(turn, group)
