"""Balance for members that want the same topics: all get the floor, and what they hold decides who gets one more.

It knows claims and counts, and must not know that other members want other topics.
"""

from collections.abc import Mapping, Sequence

from bridge.engine.assignors.claims import Claims
from bridge.engine.assignors.interface import Assignment
from translators.dialects.ids import MemberId, TopicIdPartition


def share_evenly(claims: Claims) -> Assignment:
    """Spread the partitions so that loads differ by at most one, taking no partition away that balance does not force.

    Kafka's homogeneous builder fixes who may hold one more by iteration order and fills member by member (K9.3). Here
    the surplus stays with those who have it, and free partitions are dealt in turn, which also spreads each topic.
    """
    quotas = set_quotas({member_id: len(held) for member_id, held in claims.held.items()}, len(claims.unclaimed))
    shares = dict(claims.held)
    pool = list(claims.unclaimed)
    for member_id, held in claims.held.items():
        excess = len(held) - quotas[member_id]
        if excess > 0:
            released = _pick_released(held, excess, len(pool))
            shares[member_id] = held.difference(released)
            pool.extend(released)
    for member_id, dealt in _deal(sorted(pool), quotas, shares).items():
        shares[member_id] = shares[member_id].union(dealt)
    return shares


def set_quotas(loads: Mapping[MemberId, int], unclaimed: int) -> dict[MemberId, int]:
    """Say how many partitions each member ends up with.

    One more than the floor goes first to members that hold so many (it saves a move each), then to those below the
    floor (they change anyway), last to those at the floor; by seat order where equal.
    """
    floor, surplus = divmod(sum(loads.values()) + unclaimed, len(loads))
    if not surplus:
        return dict.fromkeys(loads, floor)
    ranked = sorted(loads, key=lambda member_id: _surplus_rank(loads[member_id], floor))
    favoured = set(ranked[:surplus])
    return {member_id: floor + (member_id in favoured) for member_id in loads}


def _surplus_rank(load: int, floor: int) -> tuple[int, int]:
    if load > floor:
        return (0, -load)
    return (1, load)


def _pick_released(held: frozenset[TopicIdPartition], excess: int, offset: int) -> list[TopicIdPartition]:
    """Choose what a member gives up; the offset differs from donor to donor, so a newcomer gets a mix of topics."""
    ordered = sorted(held)
    start = offset % len(ordered)
    return (ordered[start:] + ordered[:start])[:excess]


def _deal(
    pool: Sequence[TopicIdPartition], quotas: Mapping[MemberId, int], shares: Assignment
) -> dict[MemberId, list[TopicIdPartition]]:
    """Hand the pool out in turn, one each per round, until every quota is met."""
    missing = {member_id: quota - len(shares[member_id]) for member_id, quota in quotas.items()}
    waiting = [member_id for member_id, count in missing.items() if count > 0]
    dealt: dict[MemberId, list[TopicIdPartition]] = {member_id: [] for member_id in waiting}
    position = 0
    while waiting:
        for member_id in waiting:
            dealt[member_id].append(pool[position])
            position += 1
        waiting = [member_id for member_id in waiting if len(dealt[member_id]) < missing[member_id]]
    return dealt
