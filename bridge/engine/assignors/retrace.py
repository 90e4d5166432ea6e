"""Chains read backwards out of one search: from members that gain, over cheapest steps only, to members that give.

It knows what a search found, and must not know when to search again.
"""

from bridge.engine.assignors.flow import Flow
from bridge.engine.assignors.search import Reach


class Retracing:
    """Finds chains of one search that have no member in common, so that all of them may be applied (a blocking flow).

    A chain is a list of node numbers, the gaining member first, the giving member last; between two members stand the
    topic that moves and, unless a claimed unit comes back, the gaining member's cohort.
    """

    __slots__ = ("_flow", "_options", "_reach", "_visited")

    def __init__(self, flow: Flow, reach: Reach) -> None:
        """Start with every cheapest step untried."""
        self._flow = flow
        self._reach = reach
        self._options: dict[int, list[int]] = {}
        self._visited: set[int] = set()

    def trace(self, receiver: int) -> list[int]:
        """Return a cheapest chain to `receiver`, or nothing when all of them touch members of chains found before."""
        if receiver in self._visited:
            return []
        self._visited.add(receiver)
        chain, standing = [receiver], {receiver}
        while chain:
            if self._gives(chain[-1]):
                return chain
            node = self._next_option(chain[-1], standing)
            if node is None:
                standing.discard(chain.pop())
                continue
            chain.append(node)
            standing.add(node)
            if node < len(self._flow.members):
                self._visited.add(node)
        return []

    def _gives(self, node: int) -> bool:
        if node >= len(self._flow.members):
            return False
        return self._reach.costs[node] == -self._reach.load_price * self._flow.loads[node]

    def _next_option(self, node: int, standing: set[int]) -> int | None:
        if node not in self._options:
            self._options[node] = self._cheapest_before(node)
        options = self._options[node]
        while options and (options[-1] in standing or self._is_spent(options[-1])):
            options.pop()
        return options[-1] if options else None

    def _is_spent(self, node: int) -> bool:
        return node in self._visited or (node in self._options and not self._options[node])

    def _cheapest_before(self, node: int) -> list[int]:
        flow, costs, price = self._flow, self._reach.costs, self._reach.move_price
        first_topic, first_cohort = len(flow.members), len(flow.members) + len(flow.topics)
        if node >= first_cohort:
            topics = flow.cohort_topics[node - first_cohort]
            return [first_topic + topic for topic in topics if costs[first_topic + topic] == costs[node]]
        if node >= first_topic:
            topic = node - first_topic
            holders = [m for m in flow.holders[topic] if costs[m] + flow.take_cost(topic, m) * price + 1 == costs[node]]
            return sorted(holders, key=self._gives)
        regained = [
            first_topic + topic
            for topic in flow.claimed[node]
            if node in flow.owed[topic] and costs[first_topic + topic] - price == costs[node]
        ]
        cohort = first_cohort + flow.cohort_of[node]
        return [*regained, cohort] if costs[cohort] == costs[node] else regained
