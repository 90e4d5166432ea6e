"""What a shard that was rebuilt from its journal needs before it serves. It must not know how the records were kept."""

from bridge.engine.classic.recovery import resume_classic
from bridge.engine.commands import Speaks
from bridge.engine.consumer.answer import session_timeout_ms
from bridge.engine.consumer.grace import renew_seats
from bridge.engine.loads import prepare_loads
from bridge.engine.model import DeadlineKey, DeadlineKind, Member, MemberState
from bridge.engine.records import DeadlineSet, Record
from bridge.engine.state import Group, Shard
from bridge.engine.turn import Turn


def resume(state: Shard, now_ms: int) -> tuple[Record, ...]:
    """Give every native member a full session, and a full rebalance timeout to those that have to give something up
    (K7, after load); members of classic groups get theirs too, and a group that must rebalance does so (K1.71).

    Returns the records, which were applied; the durable ones among them belong into the journal. Consumer groups behind
    their epoch get their target with the next `PassDeadlines`, or when what members left behind has waited; one that
    has lost its last KIP-848 member may turn classic with it.
    """
    turn = Turn(state, now_ms)
    for group in state.groups.values():
        for member in group.members.values():
            turn.write(*_deadlines(state, group, member, now_ms))
        prepare_loads(state, group)
        turn.write(*renew_seats(state, group, now_ms))
        if group.epoch > group.assignment_epoch or group.lost_natives:
            turn.write(DeadlineSet(DeadlineKey(DeadlineKind.TARGET, group.group_id), now_ms))
    for classic in state.classic_groups.values():
        resume_classic(turn, classic)
    return turn.finish().records


def _deadlines(state: Shard, group: Group, member: Member, now_ms: int) -> list[Record]:
    subscription, current = member.subscription, member.current
    if subscription.speaks is Speaks.CLASSIC and current.epoch >= 0:
        return []
    member_id = subscription.member_id
    session = DeadlineKey(DeadlineKind.SESSION, group.group_id, member_id)
    records: list[Record] = [DeadlineSet(session, now_ms + session_timeout_ms(state, group))]
    if current.state is MemberState.UNREVOKED_PARTITIONS and current.epoch >= 0:
        rebalance = DeadlineKey(DeadlineKind.REBALANCE, group.group_id, member_id)
        records.append(DeadlineSet(rebalance, now_ms + subscription.rebalance_timeout_ms))
    return records
