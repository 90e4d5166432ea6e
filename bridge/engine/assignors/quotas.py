"""Balance for members that want the same topics: all get the floor, and what they hold decides who gets one more."""

from collections.abc import Iterable, Mapping, Sequence

from bridge.engine.assignors.interface import Assignment
from bridge.engine.assignors.seats import LoadOrder, Seat
from bridge.engine.assignors.subscriber_sets import Claims
from translators.dialects.ids import MemberId, TopicIdPartition


def share_evenly(claims: Claims, seats: Mapping[MemberId, Seat]) -> Assignment:
    """Spread the partitions so that loads differ by at most one, taking no partition away that balance does not force.

    Kafka's homogeneous builder fixes who may hold one more by iteration order and fills member by member (K9.3). Here
    the surplus stays with those who have it, and free partitions are dealt in turn, which also spreads each topic.
    """
    load_order = LoadOrder()
    load_order.fill([(len(held), seats[member_id]) for member_id, held in claims.held.items()])
    return {**claims.held, **deal(set_quotas(load_order, len(claims.unclaimed)), claims.held, claims.unclaimed)}


def set_quotas(load_order: LoadOrder, unclaimed: int) -> dict[Seat, int]:
    """Say who ends up with how many partitions, where that is not what it has; O(levels + changes), n log n for many.

    One more than the floor goes first to members that hold so many (it saves a move each), then to those below the
    floor (they change anyway), last to those at the floor. Of equals the first seats are left alone if they can be.
    """
    floor, surplus = divmod(load_order.total + unclaimed, load_order.size)
    quotas: dict[Seat, int] = {}
    for load in sorted(load_order.levels, key=lambda load: (load <= floor, -load if load > floor else load)):
        level = load_order.levels[load]
        favoured = min(surplus, len(level))
        surplus -= favoured
        if load == floor:
            quotas.update(dict.fromkeys(level[len(level) - favoured :], floor + 1))
            continue
        if load != floor + 1:
            quotas.update(dict.fromkeys(level[:favoured], floor + 1))
        quotas.update(dict.fromkeys(level[favoured:], floor))
    return quotas


def deal(quotas: Mapping[Seat, int], held: Assignment, unclaimed: Iterable[TopicIdPartition]) -> Assignment:
    """Give those whose quota changed their new share: who has too much releases some, the rest is dealt by seat.

    Those who release come first in the answer, so that nobody is told to have what another still has.
    """
    shares: dict[MemberId, frozenset[TopicIdPartition]] = {}
    missing: dict[MemberId, int] = {}
    pool = list(unclaimed)
    for seat in sorted(quotas):
        member_id, share = seat[2], held[seat[2]]
        excess = len(share) - quotas[seat]
        if excess > 0:
            released = _pick_released(share, excess, len(pool))
            shares[member_id] = share.difference(released)
            pool.extend(released)
        else:
            missing[member_id] = -excess
    for member_id, dealt in _deal_in_turn(sorted(pool), missing).items():
        shares[member_id] = held[member_id].union(dealt)
    return shares


def _pick_released(held: frozenset[TopicIdPartition], excess: int, offset: int) -> list[TopicIdPartition]:
    """Choose what a member gives up; the offset differs from donor to donor, so a newcomer gets a mix of topics."""
    ordered = sorted(held)
    start = offset % len(ordered)
    return (ordered[start:] + ordered[:start])[:excess]


def _deal_in_turn(
    pool: Sequence[TopicIdPartition], missing: Mapping[MemberId, int]
) -> dict[MemberId, list[TopicIdPartition]]:
    """Hand the pool out, one each per round, until nobody misses any."""
    waiting = [member_id for member_id, count in missing.items() if count > 0]
    dealt: dict[MemberId, list[TopicIdPartition]] = {member_id: [] for member_id in waiting}
    position = 0
    while waiting:
        for member_id in waiting:
            dealt[member_id].append(pool[position])
            position += 1
        waiting = [member_id for member_id in waiting if len(dealt[member_id]) < missing[member_id]]
    return dealt
