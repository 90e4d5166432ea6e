"""What happens when deadlines pass: sessions, rebalances, initial delays, delayed targets.

It must not know who set them.
"""

from bridge.engine.classic.expiry import CLASSIC_KINDS, pass_classic_deadline
from bridge.engine.consumer.delay import pass_delay
from bridge.engine.consumer.heartbeats import forget_member
from bridge.engine.model import DeadlineKey, DeadlineKind
from bridge.engine.outcome import RemovalCause
from bridge.engine.records import DeadlineCleared
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
