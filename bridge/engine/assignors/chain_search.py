"""The cheapest chain of moves in a mixed region, found over kinds and crowds instead of members."""

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from bridge.engine.assignors.draft import Draft
from translators.dialects.ids import MemberId

_UNREACHED = 1 << 62


@dataclass(frozen=True, slots=True)
class Chain:
    """One unit moves along: `kinds[i]` goes from `members[i]` to `members[i + 1]`; the first is None for a free one."""

    members: tuple[MemberId | None, ...]
    kinds: tuple[int, ...]


class ChainSearch:
    """One search: labels of kinds, then crowds, then members that the draft has touched.

    A member that the draft has not touched takes and gives like any other of its crowd, kind and load, so one stands
    for all. A label is the cost of the cheapest way for a unit to get there, loads in units of `_load_price`, else
    moves: minus the load of the member that gives. Free units come first, as if a member with too many gave them.
    """

    def __init__(self, draft: Draft) -> None:
        """Find the cheapest ways; a label-correcting Dijkstra, since giving a claimed unit back costs minus one."""
        self._draft = draft
        self._touched = list(draft.touched.values())
        self._first_crowd = len(draft.kind_crowds)
        self._first_touched = self._first_crowd + len(draft.ladders)
        nodes = self._first_touched + len(self._touched)
        # More than any chain's moves, so that no saving of moves buys imbalance.
        self._load_price = 4 * nodes + 4
        self._costs = [_UNREACHED] * nodes
        self._before: list[int | None] = [None] * nodes
        self._givers: dict[int, MemberId | None] = {}
        self._queue: list[tuple[int, int]] = []
        self._start()
        self._spread()

    def find_chain(self) -> Chain | None:
        """The chain that narrows the widest gap with fewest moves, or saves moves at equal balance; None if none."""
        best, receiver, last = 0, None, 0
        for crowd in range(len(self._draft.ladders)):
            poorest = self._draft.poorest(crowd)
            if poorest is None:
                continue
            cost = self._costs[self._first_crowd + crowd] + (poorest[0] + 1) * self._load_price
            if cost < best:
                best, receiver, last = cost, poorest[1], self._first_crowd + crowd
        for number, touched in enumerate(self._touched):
            cost = self._costs[self._first_touched + number] + (touched.load + 1) * self._load_price
            if cost < best:
                best, receiver, last = cost, touched.seat[2], self._first_touched + number
        return None if receiver is None else self._trace(receiver, last)

    def _start(self) -> None:
        draft = self._draft
        for kind, count in draft.free.items():
            if count:
                self._givers[kind] = None
                self._costs[kind] = -draft.beyond_all_loads * self._load_price
        for crowd, kinds in enumerate(draft.holders):
            for kind in kinds:
                richest = draft.richest_holder(crowd, kind)
                if richest is not None and 1 - richest[0] * self._load_price < self._costs[kind]:
                    self._givers[kind] = richest[1]
                    self._costs[kind] = 1 - richest[0] * self._load_price
        for number, touched in enumerate(self._touched):
            self._costs[self._first_touched + number] = -touched.load * self._load_price
        self._queue = [(cost, node) for node, cost in enumerate(self._costs) if cost < _UNREACHED]
        heapify(self._queue)

    def _spread(self) -> None:
        queue, costs = self._queue, self._costs
        while queue:
            cost, node = heappop(queue)
            if cost > costs[node]:
                continue
            for step, reached in self._steps(node):
                if cost + step < costs[reached]:
                    costs[reached] = cost + step
                    self._before[reached] = node
                    heappush(queue, (cost + step, reached))

    def _steps(self, node: int) -> Iterator[tuple[int, int]]:
        if node < self._first_crowd:
            return self._steps_of_kind(node)
        if node < self._first_touched:
            return self._steps_of_crowd(node - self._first_crowd)
        touched = self._touched[node - self._first_touched]
        return ((touched.take_cost(kind), kind) for kind in touched.units)

    def _steps_of_kind(self, kind: int) -> Iterator[tuple[int, int]]:
        """To all that want it, and with a move saved to those who had it."""
        for crowd in self._draft.kind_crowds[kind]:
            yield 0, self._first_crowd + crowd
        for number, touched in enumerate(self._touched):
            if touched.is_owed(kind):
                yield -1, self._first_touched + number

    def _steps_of_crowd(self, crowd: int) -> Iterator[tuple[int, int]]:
        """To each touched member, and through any other one to what it could pass on."""
        for number, touched in enumerate(self._touched):
            if touched.crowd == crowd:
                yield 0, self._first_touched + number
        for kind in self._draft.holders[crowd]:
            if self._draft.richest_holder(crowd, kind) is not None:
                yield 1, kind

    def _trace(self, receiver: MemberId, last: int) -> Chain:
        """Read the chain backwards, from who gains to who gives or to a free unit."""
        members: list[MemberId | None] = [receiver]
        kinds: list[int] = []
        node: int | None = last
        while node is not None:
            before = self._before[node]
            if node < self._first_crowd:
                kinds.append(node)
                members.append(self._giver(node, before))
            node = before
        return Chain(tuple(reversed(members)), tuple(reversed(kinds)))

    def _giver(self, kind: int, before: int | None) -> MemberId | None:
        """Who gives a unit of the kind, having come there from the node before; None for a free unit."""
        if before is None:
            return self._givers[kind]
        if before >= self._first_touched:
            return self._touched[before - self._first_touched].seat[2]
        holder = self._draft.richest_holder(before - self._first_crowd, kind)
        return None if holder is None else holder[1]
