"""The search for the cheapest chains of moves in a mixed component.

It knows what a unit costs to take and to give, and must not know which of the chains are applied.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from bridge.engine.assignors.flow import Flow

_UNREACHED = 1 << 62


@dataclass(frozen=True, slots=True)
class Reach:
    """The cost of the cheapest chain from a member that gives to each node: members, then topics, then cohorts.

    Costs are lexicographic in one integer: load in units of `load_price`, moves in units of `move_price`, then links,
    so that of equally good chains the short ones are found, which leave room for others. A member that gives costs
    minus its load, so a member's own label is a chain of no moves.
    """

    costs: list[int]
    load_price: int
    move_price: int


def search(flow: Flow) -> Reach:
    """Find the cheapest chain from any member that could spare a unit to every node.

    A label-correcting Dijkstra: the only negative steps give a claimed unit back, and no cycle of steps is negative.
    """
    first_topic = len(flow.members)
    first_cohort = first_topic + len(flow.topics)
    move_price = len(flow.members) + 1
    # More than all moves together, so that no saving of moves buys imbalance.
    load_price = (2 * (sum(flow.loads) + len(flow.members)) + 1) * move_price
    costs = [_UNREACHED] * (first_cohort + len(flow.cohort_topics))
    # At equal balance only a saved move could pay, and without debts there is none to save.
    spare = min(flow.loads) + (1 if any(flow.owed) else 2)
    queue = [(-load_price * load, member) for member, load in enumerate(flow.loads) if load >= spare]
    for cost, member in queue:
        costs[member] = cost
    heapify(queue)
    while queue:
        cost, node = heappop(queue)
        if cost > costs[node]:
            continue
        for step, reached in _steps(flow, node, move_price):
            if cost + step < costs[reached]:
                costs[reached] = cost + step
                heappush(queue, (cost + step, reached))
    return Reach(costs, load_price, move_price)


def _steps(flow: Flow, node: int, move_price: int) -> Iterator[tuple[int, int]]:
    first_topic, first_cohort = len(flow.members), len(flow.members) + len(flow.topics)
    if node < first_topic:
        for topic in flow.units[node]:
            yield flow.take_cost(topic, node) * move_price + 1, first_topic + topic
    elif node < first_cohort:
        for cohort in flow.topic_cohorts[node - first_topic]:
            yield 0, first_cohort + cohort
        for member in flow.owed[node - first_topic]:
            yield -move_price, member
    else:
        for member in flow.cohort_members[node - first_cohort]:
            yield 0, member
