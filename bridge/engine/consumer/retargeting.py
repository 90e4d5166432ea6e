"""When groups get a new target within a turn, what of a member that left waits for its successor meanwhile, and what
becomes of those who asked when the assignor fails.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from bridge.engine.assignors.interface import seat_of
from bridge.engine.consumer.reconciliation import refused
from bridge.engine.consumer.target import FailedTarget, compute_target, target_allowed_at
from bridge.engine.indexes import remember_target
from bridge.engine.model import Ask, DeadlineKey, DeadlineKind, KeptSeat, Member, Subscription
from bridge.engine.outcome import AssignorFailed, TargetChanged
from bridge.engine.records import (
    DeadlineSet,
    MemberForgotten,
    MemberSubscribed,
    Record,
    SeatKept,
    SeatsGivenUp,
    SeatTaken,
    TargetAssigned,
)
from bridge.engine.state import NO_PARTITIONS, Group, Partitions, Shard, settings_of, topic_ids_of, topic_names_of
from bridge.engine.turn import Turn
from translators.dialects.errors import ErrorCode, Refusal
from translators.dialects.ids import GroupId, MemberId, TopicIdPartition


def gather_claims(asks: Iterable[Ask]) -> dict[GroupId, list[Ask]]:
    """Those who came with a claim, by group: few, if any."""
    claiming: dict[GroupId, list[Ask]] = {}
    for ask in asks:
        if ask.claimed and ask.before is None:
            claiming.setdefault(ask.group_id, []).append(ask)
    return claiming


def find_hints(state: Shard, group: Group, asks: Iterable[Ask]) -> Mapping[MemberId, Partitions]:
    """What each newcomer among those who claim is taken to have had: never what is in another's target, never twice.

    Of several claims to a partition the one of the highest generation counts, of equal ones that of the first seat.
    Who has a target is no newcomer: its target says what it has.
    """
    newcomers = [ask for ask in asks if ask.member_id in group.members and ask.member_id not in group.target]
    hints: dict[MemberId, Partitions] = {}
    taken: set[TopicIdPartition] = set()
    for ask in sorted(newcomers, key=lambda ask: (-ask.claimed_generation, seat_of(ask.member_id, ask.instance_id))):
        wanted = topic_ids_of(state, topic_names_of(state, group.hidden, group.members[ask.member_id].subscription))
        unowned = ask.claimed.difference(group.target_owners).difference(taken)
        found = frozenset(partition for partition in unowned if partition.topic_id in wanted)
        if found:
            taken |= found
            hints[ask.member_id] = hints.get(ask.member_id, NO_PARTITIONS) | found
    return hints


def retarget_groups(turn: Turn) -> None:
    """Compute one target for each touched group that is behind its epoch and may have one now (K2.26, decisions 9 and
    13).
    """
    claims = gather_claims(turn.asks) if turn.touched else {}
    for group_id in turn.touched:
        group = turn.state.groups[group_id]
        if group.epoch > group.assignment_epoch and group.delay is None:
            _retarget_when_allowed(turn, group, claims.get(group_id, ()))
    turn.touched.clear()


def _retarget_when_allowed(turn: Turn, group: Group, claiming: Sequence[Ask]) -> None:
    key = DeadlineKey(DeadlineKind.TARGET, group.group_id)
    allowed_ms = max(target_allowed_at(turn.state, group), kept_until_ms(group))
    if group.members and turn.now_ms < allowed_ms:
        if turn.state.deadlines.due.get(key) != allowed_ms:
            turn.write(DeadlineSet(key, allowed_ms))
        return
    retry_ms = turn.state.deadlines.due.get(key, turn.now_ms)
    if turn.now_ms < retry_ms and group.group_id not in turn.moved:
        return
    _retarget(turn, group, key, claiming)


def _retarget(turn: Turn, group: Group, key: DeadlineKey, claiming: Sequence[Ask]) -> None:
    if group.kept:
        turn.write(SeatsGivenUp(group.group_id))
    before = _take_back(turn, group)
    hints = find_hints(turn.state, group, claiming)
    target = compute_target(turn.state, group, turn.now_ms, hints)
    if isinstance(target, FailedTarget):
        turn.write(*(TargetAssigned(group.group_id, member_id, share) for member_id, share in before.items()))
        turn.notices.append(AssignorFailed(group.group_id, target.assignor, target.reason))
        _turn_back(turn, group)
        retry_ms = settings_of(turn.state, group.group_id).assignor_retry_ms
        turn.write(DeadlineSet(key, turn.now_ms + retry_ms))
        return
    turn.write(*target.records)
    remember_target(turn.state, group)
    changed = target.changed.difference(before)
    changed |= {member_id for member_id, share in before.items() if group.target[member_id] != share}
    if changed:
        turn.notices.append(TargetChanged(group.group_id, changed))


def _take_back(turn: Turn, group: Group) -> dict[MemberId, Partitions]:
    """Take out of the last target what nobody has taken yet, and give what the members concerned were to have.

    An assignor keeps what the last target says. Were that all, who comes back a moment after it left would be given
    what others use, while they keep what was its own and is still idle. Who came in this turn is left its kept seat.
    """
    newcomers = {ask.member_id for ask in turn.asks if ask.before is None}
    idle = {member_id: parts for member_id, parts in group.grantable.items() if member_id not in newcomers}
    before = {member_id: group.target[member_id] for member_id in idle}
    taken_back = {member_id: before[member_id].difference(partitions) for member_id, partitions in idle.items()}
    turn.write(*(TargetAssigned(group.group_id, member_id, share) for member_id, share in taken_back.items()))
    return before


def _turn_back(turn: Turn, group: Group) -> None:
    """Undo what those who asked changed about their membership, and answer them -1; the others keep their target
    (K2.28).
    """
    staying: list[Ask] = []
    for ask in turn.asks:
        is_here = ask.group_id == group.group_id and ask.member_id in group.members
        if not (is_here and ask.has_new_topics):
            staying.append(ask)
            continue
        if ask.before is None:
            turn.write(MemberForgotten(group.group_id, ask.member_id))
        else:
            turn.write(MemberSubscribed(group.group_id, _restore(ask, ask.before)))
        turn.reply(ask.ref, refused(_FAILED))
    turn.asks[:] = staying


def _restore(ask: Ask, before: Subscription) -> Subscription:
    """What the seat wanted before; whose seat it is stays, also when it was just taken over."""
    return replace(before, member_id=ask.member_id)


_FAILED = Refusal(ErrorCode.UNKNOWN_SERVER_ERROR, "The group's assignor failed; the bridge's log has the reason.")


def kept_seat(state: Shard, group: Group, leaver: Member, now_ms: int) -> KeptSeat | None:
    """What is kept of a member that said that it leaves, and leaves others behind; None where nothing is.

    For `departure.wait.ms` whoever comes may have it, for `replacement.grace.ms` only who takes the member's place.
    """
    subscription = leaver.subscription
    share = group.target.get(subscription.member_id)
    if not share or len(group.members) == 1:
        return None
    seat = KeptSeat(
        instance_id=subscription.instance_id,
        identity=subscription.identity,
        partitions=share,
        open_until_ms=now_ms,
        until_ms=now_ms,
    )
    kept = _timed(state, group.group_id, seat, now_ms)
    return kept if kept.until_ms > now_ms else None


def renew_seats(state: Shard, group: Group, now_ms: int) -> tuple[Record, ...]:
    """After a restart, which may have lasted long and whose clock is another: every seat waits its whole time again."""
    if not group.kept:
        return ()
    seats = (_timed(state, group.group_id, seat, now_ms) for seat in group.kept)
    return (SeatsGivenUp(group.group_id), *(SeatKept(group.group_id, seat) for seat in seats))


def take_kept_seat(turn: Turn, group: Group, newcomer: MemberId) -> bool:
    """Give a newcomer a share that waits: that of the member whose place it takes, else one that anybody may have.

    Who wants other topics by now is no replacement.
    """
    subscription = group.members[newcomer].subscription
    wanted = topic_ids_of(turn.state, topic_names_of(turn.state, group.hidden, subscription))

    def fits(seat: KeptSeat) -> bool:
        return all(one.topic_id in wanted for one in seat.partitions)

    own = (seat for seat in group.kept if _is_for(seat, subscription) and fits(seat))
    free = (seat for seat in group.kept if turn.now_ms < seat.open_until_ms and fits(seat))
    seat = next(own, None) or next(free, None)
    if seat is None:
        return False
    turn.write(SeatTaken(group.group_id, seat), TargetAssigned(group.group_id, newcomer, seat.partitions))
    return True


def kept_until_ms(group: Group) -> int:
    """Until when the group waits for replacements, 0 if it does not."""
    return max((seat.until_ms for seat in group.kept), default=0)


def _timed(state: Shard, group_id: GroupId, seat: KeptSeat, now_ms: int) -> KeptSeat:
    settings = settings_of(state, group_id)
    open_until_ms = now_ms + settings.departure_wait_ms
    until_ms = max(open_until_ms, now_ms + settings.replacement_grace_ms)
    return replace(seat, open_until_ms=open_until_ms, until_ms=until_ms)


def _is_for(seat: KeptSeat, subscription: Subscription) -> bool:
    if seat.instance_id is not None:
        return seat.instance_id == subscription.instance_id
    mine, theirs = seat.identity, subscription.identity
    same_place = (mine.client_id, mine.client_host) == (theirs.client_id, theirs.client_host)
    return same_place and subscription.instance_id is None
