"""The share of a member that left waits a while for its replacement, so that a restart moves nothing.

It must not know targets of others, nor how long anything takes.
"""

from bridge.engine.model import KeptSeat, Member, Subscription
from bridge.engine.outcome import RemovalCause
from bridge.engine.records import SeatTaken, TargetAssigned
from bridge.engine.settings import settings_of
from bridge.engine.state import Group, Shard, topic_ids_of, topic_names_of
from bridge.engine.turn import Turn
from translators.dialects.ids import MemberId


def kept_seat(state: Shard, group: Group, leaver: Member, cause: RemovalCause, now_ms: int) -> KeptSeat | None:
    """What is kept of a member that leaves by itself and leaves others behind; None where nothing is."""
    grace_ms = settings_of(state.settings, group.group_id).replacement_grace_ms
    subscription = leaver.subscription
    share = group.target.get(subscription.member_id)
    if cause is not RemovalCause.LEFT or not grace_ms or not share or len(group.members) == 1:
        return None
    return KeptSeat(
        instance_id=subscription.instance_id,
        identity=subscription.identity,
        partitions=share,
        until_ms=now_ms + grace_ms,
    )


def take_kept_seat(turn: Turn, group: Group, newcomer: MemberId) -> bool:
    """Give a newcomer the share that waits for it, if one does; who wants other topics by now is no replacement."""
    subscription = group.members[newcomer].subscription
    wanted = topic_ids_of(turn.state, topic_names_of(turn.state, subscription))
    fitting = (seat for seat in group.kept if _is_for(seat, subscription))
    seat = next((seat for seat in fitting if all(one.topic_id in wanted for one in seat.partitions)), None)
    if seat is None:
        return False
    turn.write(SeatTaken(group.group_id, seat), TargetAssigned(group.group_id, newcomer, seat.partitions))
    return True


def kept_until_ms(group: Group) -> int:
    """Until when the group waits for replacements, 0 if it does not."""
    return max((seat.until_ms for seat in group.kept), default=0)


def _is_for(seat: KeptSeat, subscription: Subscription) -> bool:
    if seat.instance_id is not None:
        return seat.instance_id == subscription.instance_id
    mine, theirs = seat.identity, subscription.identity
    same_place = (mine.client_id, mine.client_host) == (theirs.client_id, theirs.client_host)
    return same_place and subscription.instance_id is None
