"""What happens when deadlines pass: sessions, rebalances, initial delays, delayed targets."""

from bridge.engine.classic.rebalancing import follow_departure, pass_join_deadline, try_complete
from bridge.engine.classic.seats import forget_member as forget_classic_member
from bridge.engine.classic.syncing import pass_sync_deadline
from bridge.engine.consumer.heartbeats import forget_member, pass_delay
from bridge.engine.model import DeadlineKey, DeadlineKind
from bridge.engine.outcome import RemovalCause
from bridge.engine.records import DeadlineCleared, MemberIdWithdrawn
from bridge.engine.state import ClassicGroup
from bridge.engine.turn import Turn

_CAUSES = {
    DeadlineKind.SESSION: RemovalCause.SESSION_EXPIRED,
    DeadlineKind.REBALANCE: RemovalCause.REBALANCE_TIMED_OUT,
}


def pass_deadlines(turn: Turn) -> None:
    """Do everything that is due; expiry is decided like any command and leaves records (K0.3, K2.50).

    What an earlier deadline of the same moment moved or dropped does not pass (K0.3.3).
    """
    due = turn.state.deadlines.due
    for key in turn.state.deadlines.passed(turn.now_ms):
        if key not in due or due[key] > turn.now_ms:
            continue
        if key.kind in CLASSIC_KINDS:
            pass_classic_deadline(turn, key)
        elif key.kind is DeadlineKind.INITIAL_DELAY:
            _pass_delay(turn, key)
        elif key.kind is DeadlineKind.TARGET:
            turn.write(DeadlineCleared(key))
            turn.touch(key.group_id)
            turn.settling[key.group_id] = None
        else:
            group = turn.state.groups[key.group_id]
            forget_member(turn, group, group.members[key.member_id], _CAUSES[key.kind])


def _pass_delay(turn: Turn, key: DeadlineKey) -> None:
    group = turn.state.groups[key.group_id]
    parked = tuple(group.parked)
    turn.write(*pass_delay(turn.state, group, turn.now_ms))
    if group.delay is None:
        turn.asks.extend(parked)
        turn.touch(group.group_id)


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
        forget_classic_member(turn, group, member_id, RemovalCause.SESSION_EXPIRED)
        follow_departure(turn, group)
