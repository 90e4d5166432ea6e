"""Chains of moves applied to a mixed component until none makes it more balanced, or as balanced with fewer moves.

It knows loads and costs only, and must not know partitions, names or why a unit is claimed.
"""

from collections.abc import Sequence

from bridge.engine.assignors.flow import Flow
from bridge.engine.assignors.retrace import Retracing
from bridge.engine.assignors.search import Reach, search


def settle(flow: Flow) -> None:
    """Apply cheapest chains until none helps: no chain narrows a gap of two, no equal balance moves less.

    This is successive shortest paths on a min-cost flow with convex load costs (an optimal semi-matching, weighted by
    moves). It is exact because it starts with every claim kept, where a cycle that leaves loads alone can't save moves,
    and applying cheapest chains keeps it that way.
    """
    while _may_improve(flow):
        reach = search(flow)
        arrivals = [_arrival_cost(flow, reach, member) for member in range(len(flow.members))]
        best = min(arrivals)
        if best >= 0:
            return
        retracing = Retracing(flow, reach)
        for receiver in [member for member, cost in enumerate(arrivals) if cost == best]:
            apply_chain(flow, retracing.trace(receiver))


def _may_improve(flow: Flow) -> bool:
    return max(flow.loads) - min(flow.loads) > 1 or any(flow.owed)


def _arrival_cost(flow: Flow, reach: Reach, member: int) -> int:
    """Load and moves of the cheapest chain that ends here; links only choose between equals."""
    return (reach.costs[member] + reach.load_price * (flow.loads[member] + 1)) // reach.move_price


def apply_chain(flow: Flow, chain: Sequence[int]) -> None:
    """Move one unit along each link of a chain (gaining member first, see `Retracing`); only its ends change load."""
    if not chain:
        return
    gaining = chain[0]
    topic = 0
    for node in chain[1:]:
        if node < len(flow.members):
            flow.take(topic, node)
            flow.give(topic, gaining)
            gaining = node
        else:
            # A cohort stands before its topic, so that the last number seen is the topic's.
            topic = node - len(flow.members)
    flow.loads[chain[0]] += 1
    flow.loads[chain[-1]] -= 1
