"""Chains of moves applied to a mixed component until none makes it more balanced, or as balanced with fewer moves:
on counts of partitions, since those of one topic are interchangeable.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from bridge.engine.assignors.subscriber_sets import Claims, Component
from translators.dialects.ids import MemberId, TopicId


class Flow:
    """Partitions of one topic are interchangeable, so a target is a count per topic and member until names are dealt.

    Members, topics and sets are numbered, so that searches order equal choices the same way every time.
    """

    __slots__ = (
        "claimed",
        "holders",
        "loads",
        "members",
        "owed",
        "set_members",
        "set_of",
        "set_topics",
        "topic_sets",
        "topics",
        "units",
    )

    def __init__(self, component: Component, claims: Claims) -> None:
        """Start with every claim kept and nothing else handed out."""
        self.members: list[MemberId] = [
            member_id for subscriber_set in component for member_id in subscriber_set.members
        ]
        self.topics: list[TopicId] = sorted({topic for subscriber_set in component for topic in subscriber_set.topics})
        self.set_of = [number for number, subscriber_set in enumerate(component) for _ in subscriber_set.members]
        self.set_members: list[list[int]] = [[] for _ in component]
        for member, set_number in enumerate(self.set_of):
            self.set_members[set_number].append(member)
        number_of = {topic: number for number, topic in enumerate(self.topics)}
        self.set_topics = [[number_of[topic] for topic in subscriber_set.topics] for subscriber_set in component]
        self.topic_sets: list[list[int]] = [[] for _ in self.topics]
        for set_number, topics in enumerate(self.set_topics):
            for topic in topics:
                self.topic_sets[topic].append(set_number)
        self.claimed = [self._count_claims(claims, member_id, number_of) for member_id in self.members]
        self.units = [dict(counts) for counts in self.claimed]
        self.loads = [sum(counts.values()) for counts in self.claimed]
        self.holders: list[dict[int, None]] = [{} for _ in self.topics]
        for member, counts in enumerate(self.units):
            for topic in counts:
                self.holders[topic][member] = None
        self.owed: list[dict[int, None]] = [{} for _ in self.topics]

    @staticmethod
    def _count_claims(claims: Claims, member_id: MemberId, number_of: dict[TopicId, int]) -> dict[int, int]:
        counts: dict[int, int] = {}
        for claim in claims.held[member_id]:
            topic = number_of[claim[0]]
            counts[topic] = counts.get(topic, 0) + 1
        return dict(sorted(counts.items()))

    def take_cost(self, topic: int, member: int) -> int:
        """Moves added by taking one unit: none while the member holds more than it claimed."""
        return int(self.units[member][topic] <= self.claimed[member].get(topic, 0))

    def take(self, topic: int, member: int) -> None:
        """Take one unit of `topic`; the load is the caller's, since members inside a chain keep theirs."""
        left = self.units[member][topic] - 1
        if left:
            self.units[member][topic] = left
        else:
            del self.units[member][topic]
            del self.holders[topic][member]
        if left < self.claimed[member].get(topic, 0):
            self.owed[topic][member] = None

    def give(self, topic: int, member: int) -> None:
        """Give one unit of `topic`; the load is the caller's."""
        count = self.units[member].get(topic, 0) + 1
        self.units[member][topic] = count
        self.holders[topic][member] = None
        if count >= self.claimed[member].get(topic, 0):
            self.owed[topic].pop(member, None)


_UNREACHED = 1 << 62


@dataclass(frozen=True, slots=True)
class Reach:
    """The cost of the cheapest chain from a member that gives to each node: members, then topics, then sets.

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
    first_set = first_topic + len(flow.topics)
    move_price = len(flow.members) + 1
    # More than all moves together, so that no saving of moves buys imbalance.
    load_price = (2 * (sum(flow.loads) + len(flow.members)) + 1) * move_price
    costs = [_UNREACHED] * (first_set + len(flow.set_topics))
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
    first_topic, first_set = len(flow.members), len(flow.members) + len(flow.topics)
    if node < first_topic:
        for topic in flow.units[node]:
            yield flow.take_cost(topic, node) * move_price + 1, first_topic + topic
    elif node < first_set:
        for subscriber_set in flow.topic_sets[node - first_topic]:
            yield 0, first_set + subscriber_set
        for member in flow.owed[node - first_topic]:
            yield -move_price, member
    else:
        for member in flow.set_members[node - first_set]:
            yield 0, member


class Retracing:
    """Finds chains of one search that have no member in common, so that all of them may be applied (a blocking flow).

    A chain is a list of node numbers, the gaining member first, the giving member last; between two members stand the
    topic that moves and, unless a claimed unit comes back, the gaining member's set.
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
        first_topic, first_set = len(flow.members), len(flow.members) + len(flow.topics)
        if node >= first_set:
            topics = flow.set_topics[node - first_set]
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
        subscriber_set = first_set + flow.set_of[node]
        return [*regained, subscriber_set] if costs[subscriber_set] == costs[node] else regained


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
            # A set stands before its topic, so that the last number seen is the topic's.
            topic = node - len(flow.members)
    flow.loads[chain[0]] += 1
    flow.loads[chain[-1]] -= 1
