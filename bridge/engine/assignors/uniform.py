"""The `uniform` assignor: the best balance subscriptions allow, and of all ways to it one that moves least.

Where members want different, overlapping topics it keeps claims, hands out the rest, settles, and deals names.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heapreplace

from bridge.engine.assignors.chain_search import Chain, ChainSearch, Draft, Touched
from bridge.engine.assignors.chains import Flow, settle
from bridge.engine.assignors.interface import (
    NOTHING,
    Assignment,
    AssignmentSpec,
    IncrementalAssignor,
    IndexSource,
    LoadOrder,
    Seat,
    TargetIndex,
)
from bridge.engine.assignors.load_index import LoadIndex, Region
from bridge.engine.assignors.subscriber_sets import (
    Claims,
    Component,
    form_subscriber_sets,
    link_components,
    seat,
    settle_claims,
)
from translators.dialects.ids import MemberId, TopicId, TopicIdPartition

# ------------------------------------------------------------------------------------------- quotas
# Balance for members that want the same topics: all get the floor, and what they hold decides who gets one more.


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
    for place in sorted(quotas):
        member_id, share = place[2], held[place[2]]
        excess = len(share) - quotas[place]
        if excess > 0:
            released = _pick_released_in_turn(share, excess, len(pool))
            shares[member_id] = share.difference(released)
            pool.extend(released)
        else:
            missing[member_id] = -excess
    for member_id, dealt in _deal_in_turn(sorted(pool), missing).items():
        shares[member_id] = held[member_id].union(dealt)
    return shares


def _pick_released_in_turn(held: frozenset[TopicIdPartition], excess: int, offset: int) -> list[TopicIdPartition]:
    """Choose what a member gives up; the offset differs from donor to donor, so a newcomer gets a mix of topics."""
    ordered = sorted(held)
    start = offset % len(ordered)
    return (ordered[start:] + ordered[:start])[:excess]


def _deal_in_turn(
    pool: Sequence[TopicIdPartition], missing: Mapping[MemberId, int]
) -> dict[MemberId, list[TopicIdPartition]]:
    """Hand the pool out, one each per round, until nobody misses any; rounds with the same members are one step."""
    waiting = {member_id: count for member_id, count in missing.items() if count > 0}
    if len(waiting) == len(pool):  # One each, as when a member leaves: the commonest by far.
        return {member_id: [partition] for member_id, partition in zip(waiting, pool, strict=True)}
    dealt: dict[MemberId, list[TopicIdPartition]] = {member_id: [] for member_id in waiting}
    position = 0
    while waiting:
        rounds, size = min(waiting.values()), len(waiting)
        end = position + rounds * size
        for place, member_id in enumerate(waiting, position):
            dealt[member_id] += pool[place:end:size]
        position = end
        waiting = {member_id: count - rounds for member_id, count in waiting.items() if count > rounds}
    return dealt


# ----------------------------------------------------------------------------------------- revision
# A new balanced target from the last one by looking only at what changed: the incremental way of `uniform`.

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
    unsettled = index.unsettled
    held = {one: index.valid(one, target) if one in unsettled else target.get(one, NOTHING) for _, _, one in quotas}
    return deal(quotas, held, sorted(free))


def _revise_mixed(index: LoadIndex, region: Region, target: Assignment) -> Assignment | None:
    links = sum(len(subscribers.kinds) for subscribers in region.subscriber_sets)
    if links > MOST_LINKS or sum(len(kind.free) for kind in region.kinds) > MOST_CHAINS:
        return None
    draft = Draft(region, index.standings)
    for _ in range(MOST_CHAINS):
        chain = ChainSearch(draft).find_chain()
        if chain is None:
            return _deal_changed_names(index, draft, target)
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


def _deal_changed_names(index: LoadIndex, draft: Draft, target: Assignment) -> Assignment:
    """Turn counts into partitions: everybody keeps as many of its own as it may, the rest is dealt by seat.

    Those who release come first in the answer, as in `quotas.deal`.
    """
    pools = [sorted(kind.free) for kind in draft.kinds]
    places = {kind.number: place for place, kind in enumerate(draft.kinds)}
    changed = sorted((one for one in draft.touched.values() if one.units != one.claimed), key=_giving_first)
    shares: dict[MemberId, frozenset[TopicIdPartition]] = {}
    for one in changed:
        share = index.valid(one.seat[2], target)
        released = list(_pick_released_by_index(index, places, one, share))
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


def _pick_released_by_index(
    index: LoadIndex, places: dict[int, int], one: Touched, share: frozenset[TopicIdPartition]
) -> Iterator[tuple[int, TopicIdPartition]]:
    excess = {place: count - one.units.get(place, 0) for place, count in one.claimed.items()}
    for partition in sorted(share, reverse=True):
        place = places[index.kind_of(partition).number]
        if excess[place] > 0:
            excess[place] -= 1
            yield place, partition


# ------------------------------------------------------------------------------------------ uniform
# The assignor itself: where it begins anew, and where it revises.


class Uniform(IncrementalAssignor):
    """Kafka's `uniform`, with its balance and fewer moves (K9.3, K9.4)."""

    name: str = "uniform"
    is_by_count: bool = True

    def assign(self, spec: AssignmentSpec) -> Assignment:
        """Balance each component on its own: nothing moves between members that share no topic, even indirectly."""
        target: dict[MemberId, frozenset[TopicIdPartition]] = {}
        for component in link_components(form_subscriber_sets(spec)):
            target.update(assign_component(spec, component))
        return target

    def index(self, source: IndexSource) -> TargetIndex:
        """Loads and free partitions, by what members want."""
        return UniformIndex(source)


class UniformIndex(LoadIndex, TargetIndex):
    """A load index that knows what to do about imbalance."""

    __slots__ = ()

    def revise(self, target: Assignment) -> Assignment | None:
        """Look only at regions that changed, and there only at members that must give or may gain."""
        return revise(self, target)


def assign_component(spec: AssignmentSpec, component: Component) -> Assignment:
    """Compute the target of one component; a caller that knows which components changed need not ask for the others."""
    if not component[0].topics:
        return {member_id: NOTHING for subscribers in component for member_id in subscribers.members}
    claims = settle_claims(spec, component)
    if len(component) == 1:
        return share_evenly(claims, {member_id: seat(spec.members[member_id]) for member_id in component[0].members})
    return share_along_chains(component, claims)


def share_along_chains(component: Component, claims: Claims) -> Assignment:
    """Give the most balanced loads that chains of moves along common topics can reach, by the fewest moves."""
    flow = Flow(component, claims)
    _hand_out(flow, claims)
    settle(flow)
    return _deal_names(flow, claims)


def _hand_out(flow: Flow, claims: Claims) -> None:
    """Give unclaimed units to the least loaded subscribers, topics with fewest subscribers first (K9.4's order)."""
    free: dict[TopicId, int] = {}
    for partition in claims.unclaimed:
        free[partition.topic_id] = free.get(partition.topic_id, 0) + 1
    queues = [[(flow.loads[member], member) for member in members] for members in flow.set_members]
    for queue in queues:
        heapify(queue)
    choices = {
        topic: sum(len(queues[subscribers]) for subscribers in flow.topic_sets[topic])
        for topic in range(len(flow.topics))
    }
    for topic in sorted(choices, key=lambda number: (choices[number], number)):
        _hand_out_topic(flow, topic, free.get(flow.topics[topic], 0), queues)


def _hand_out_topic(flow: Flow, topic: int, count: int, queues: list[list[tuple[int, int]]]) -> None:
    heads = [(*queues[subscribers][0], subscribers) for subscribers in flow.topic_sets[topic]]
    heapify(heads)
    for _ in range(count):
        load, member, subscribers = heads[0]
        flow.give(topic, member)
        flow.loads[member] = load + 1
        heapreplace(queues[subscribers], (load + 1, member))
        heapreplace(heads, (*queues[subscribers][0], subscribers))


def _deal_names(flow: Flow, claims: Claims) -> Assignment:
    """Turn counts into partitions: everybody keeps as many of its own as it may, the rest is dealt by seat."""
    pools: dict[TopicId, list[TopicIdPartition]] = {topic: [] for topic in flow.topics}
    for partition in claims.unclaimed:
        pools[partition.topic_id].append(partition)
    shares: dict[MemberId, frozenset[TopicIdPartition]] = dict(claims.held)
    changed = [member for member, counts in enumerate(flow.units) if counts != flow.claimed[member]]
    for member in changed:
        released = _pick_released(flow, member, claims.held[flow.members[member]])
        shares[flow.members[member]] = claims.held[flow.members[member]].difference(released)
        for partition in released:
            pools[partition.topic_id].append(partition)
    for pool in pools.values():
        pool.sort(reverse=True)
    for member in changed:
        gained = _draw_gained(flow, member, pools)
        shares[flow.members[member]] = shares[flow.members[member]].union(gained)
    return shares


def _pick_released(flow: Flow, member: int, held: frozenset[TopicIdPartition]) -> list[TopicIdPartition]:
    counts, units = flow.claimed[member], flow.units[member]
    excess = {flow.topics[topic]: counts[topic] - units.get(topic, 0) for topic in counts}
    released: list[TopicIdPartition] = []
    for partition in sorted(held, reverse=True):
        if excess[partition[0]] > 0:
            excess[partition[0]] -= 1
            released.append(TopicIdPartition(*partition))
    return released


def _draw_gained(flow: Flow, member: int, pools: Mapping[TopicId, list[TopicIdPartition]]) -> list[TopicIdPartition]:
    gained: list[TopicIdPartition] = []
    for topic, count in sorted(flow.units[member].items()):
        pool = pools[flow.topics[topic]]
        gained.extend(pool.pop() for _ in range(count - flow.claimed[member].get(topic, 0)))
    return gained
