"""The share of a member that left waits a while for whoever comes, so that a restart moves nothing."""

from dataclasses import replace

from bridge.engine.model import KeptSeat, Member, Subscription
from bridge.engine.records import Record, SeatKept, SeatsGivenUp, SeatTaken, TargetAssigned
from bridge.engine.settings import settings_of
from bridge.engine.state import Group, Shard, topic_ids_of, topic_names_of
from bridge.engine.turn import Turn
from translators.dialects.ids import GroupId, MemberId


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
    wanted = topic_ids_of(turn.state, topic_names_of(turn.state, subscription))
    fitting = [seat for seat in group.kept if all(one.topic_id in wanted for one in seat.partitions)]
    own = (seat for seat in fitting if _is_for(seat, subscription))
    seat = next(own, None) or next((seat for seat in fitting if turn.now_ms < seat.open_until_ms), None)
    if seat is None:
        return False
    turn.write(SeatTaken(group.group_id, seat), TargetAssigned(group.group_id, newcomer, seat.partitions))
    return True


def kept_until_ms(group: Group) -> int:
    """Until when the group waits for replacements, 0 if it does not."""
    return max((seat.until_ms for seat in group.kept), default=0)


def _timed(state: Shard, group_id: GroupId, seat: KeptSeat, now_ms: int) -> KeptSeat:
    settings = settings_of(state.settings, group_id)
    open_until_ms = now_ms + settings.departure_wait_ms
    until_ms = max(open_until_ms, now_ms + settings.replacement_grace_ms)
    return replace(seat, open_until_ms=open_until_ms, until_ms=until_ms)


def _is_for(seat: KeptSeat, subscription: Subscription) -> bool:
    if seat.instance_id is not None:
        return seat.instance_id == subscription.instance_id
    mine, theirs = seat.identity, subscription.identity
    same_place = (mine.client_id, mine.client_host) == (theirs.client_id, theirs.client_host)
    return same_place and subscription.instance_id is None
