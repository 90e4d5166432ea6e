"""A new balanced target from the last one by looking only at what changed: the incremental way of `uniform`."""

from collections.abc import Iterator

from bridge.engine.assignors.chain_search import Chain, ChainSearch, Draft, Touched
from bridge.engine.assignors.interface import Assignment
from bridge.engine.assignors.load_index import LoadIndex, Region
from bridge.engine.assignors.quotas import deal, set_quotas
from bridge.engine.assignors.seats import Seat
from translators.dialects.ids import MemberId, TopicIdPartition

MOST_CHAINS = 256
"""Beyond so many moves between different subscriptions computing all anew is cheaper than searching one by one."""
MOST_LINKS = 2_048
"""Beyond so many pairs of a set and a kind one search costs as much as computing all anew."""


def revise(index: LoadIndex, target: Assignment) -> Assignment | None:
    """The new shares of the members whose share changes; None if that is a job for a full computation.

    `target` is the group's last one; O(what changes) with one subscription, and with several a search over sets and
    kinds per move.
    """
    shares: dict[MemberId, frozenset[TopicIdPartition]] = {}
    for region in index.changed:
        revised = _revise_mixed(index, region, target) if region.is_mixed else _revise_even(index, region, target)
        if revised is None:
            return None
        shares.update(revised)
    for member_id in index.unsettled - shares.keys():
        shares[member_id] = index.valid(member_id, target)
    return shares


def _revise_even(index: LoadIndex, region: Region, target: Assignment) -> Assignment:
    (subscribers,) = region.subscriber_sets
    free = [partition for kind in subscribers.kinds for partition in kind.free]
    quotas = set_quotas(subscribers.load_order, len(free))
    held = {seat[2]: index.valid(seat[2], target) for seat in quotas}
    return deal(quotas, held, sorted(free))


def _revise_mixed(index: LoadIndex, region: Region, target: Assignment) -> Assignment | None:
    links = sum(len(subscribers.kinds) for subscribers in region.subscriber_sets)
    if links > MOST_LINKS or sum(len(kind.free) for kind in region.kinds) > MOST_CHAINS:
        return None
    draft = Draft(region, index.standings)
    for _ in range(MOST_CHAINS):
        chain = ChainSearch(draft).find_chain()
        if chain is None:
            return _deal_names(index, draft, target)
        _apply(draft, chain)
    return None


def _apply(draft: Draft, chain: Chain) -> None:
    giver, receiver = chain.members[0], chain.members[-1]
    for kind, giving, gaining in zip(chain.kinds, chain.members, chain.members[1:], strict=False):
        if giving is None:
            draft.free[kind] -= 1
        else:
            draft.touch(giving).change(kind, -1)
        if gaining is not None:
            draft.touch(gaining).change(kind, 1)
    if giver is not None:
        draft.touch(giver).load -= 1
    if receiver is not None:
        draft.touch(receiver).load += 1


def _deal_names(index: LoadIndex, draft: Draft, target: Assignment) -> Assignment:
    """Turn counts into partitions: everybody keeps as many of its own as it may, the rest is dealt by seat.

    Those who release come first in the answer, as in `quotas.deal`.
    """
    pools = [sorted(kind.free) for kind in draft.kinds]
    places = {kind.number: place for place, kind in enumerate(draft.kinds)}
    changed = sorted((one for one in draft.touched.values() if one.units != one.claimed), key=_giving_first)
    shares: dict[MemberId, frozenset[TopicIdPartition]] = {}
    for one in changed:
        share = index.valid(one.seat[2], target)
        released = list(_pick_released(index, places, one, share))
        shares[one.seat[2]] = share.difference(partition for _, partition in released)
        for place, partition in released:
            pools[place].append(partition)
    for pool in pools:
        pool.sort(reverse=True)
    for one in changed:
        gained = [
            pools[place].pop()
            for place, count in sorted(one.units.items())
            for _ in range(count - one.claimed.get(place, 0))
        ]
        shares[one.seat[2]] = shares[one.seat[2]].union(gained)
    return shares


def _giving_first(one: Touched) -> tuple[bool, Seat]:
    return (one.load >= sum(one.claimed.values()), one.seat)


def _pick_released(
    index: LoadIndex, places: dict[int, int], one: Touched, share: frozenset[TopicIdPartition]
) -> Iterator[tuple[int, TopicIdPartition]]:
    excess = {place: count - one.units.get(place, 0) for place, count in one.claimed.items()}
    for partition in sorted(share, reverse=True):
        place = places[index.kind_of(partition).number]
        if excess[place] > 0:
            excess[place] -= 1
            yield place, partition
