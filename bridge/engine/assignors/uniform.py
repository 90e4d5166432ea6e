"""The `uniform` assignor: the best balance subscriptions allow, and of all ways to it one that moves least.

Where members want different, overlapping topics it keeps claims, hands out the rest, settles, and deals names.
"""

from collections.abc import Mapping
from heapq import heapify, heapreplace

from bridge.engine.assignors.chains import Flow, settle
from bridge.engine.assignors.incremental import IncrementalAssignor, IndexSource, TargetIndex
from bridge.engine.assignors.interface import Assignment, AssignmentSpec
from bridge.engine.assignors.load_index import LoadIndex
from bridge.engine.assignors.quotas import share_evenly
from bridge.engine.assignors.revision import revise
from bridge.engine.assignors.subscriber_sets import (
    NOTHING,
    Claims,
    Component,
    form_subscriber_sets,
    link_components,
    seat,
    settle_claims,
)
from translators.dialects.ids import MemberId, TopicId, TopicIdPartition


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
