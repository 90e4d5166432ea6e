"""Balance for members that want different, overlapping topics: keep claims, hand out the rest, settle, deal names."""

from collections.abc import Mapping
from heapq import heapify, heapreplace

from bridge.engine.assignors.chains import settle
from bridge.engine.assignors.claims import Claims
from bridge.engine.assignors.cohorts import Component
from bridge.engine.assignors.flow import Flow
from bridge.engine.assignors.interface import Assignment
from translators.dialects.ids import MemberId, TopicId, TopicIdPartition


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
    queues = [[(flow.loads[member], member) for member in members] for members in flow.cohort_members]
    for queue in queues:
        heapify(queue)
    choices = {
        topic: sum(len(queues[cohort]) for cohort in flow.topic_cohorts[topic]) for topic in range(len(flow.topics))
    }
    for topic in sorted(choices, key=lambda number: (choices[number], number)):
        _hand_out_topic(flow, topic, free.get(flow.topics[topic], 0), queues)


def _hand_out_topic(flow: Flow, topic: int, count: int, queues: list[list[tuple[int, int]]]) -> None:
    heads = [(*queues[cohort][0], cohort) for cohort in flow.topic_cohorts[topic]]
    heapify(heads)
    for _ in range(count):
        load, member, cohort = heads[0]
        flow.give(topic, member)
        flow.loads[member] = load + 1
        heapreplace(queues[cohort], (load + 1, member))
        heapreplace(heads, (*queues[cohort][0], cohort))


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
