"""The cheapest chain of moves in a mixed region as drafted so far, over kinds of topics and sets of subscribers."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from bridge.engine.assignors.interface import LoadOrder, Seat
from bridge.engine.assignors.load_index import IndexedSubscribers, Kind, Region, Standing
from translators.dialects.ids import MemberId


@dataclass(slots=True)
class Touched:
    """A member that gained, gave or passed on: what it has of each kind now, and what of that was its own before."""

    seat: Seat
    subscriber_set: int
    load: int
    units: dict[int, int]
    claimed: Mapping[int, int]

    def take_cost(self, kind: int) -> int:
        """Moves added by taking one unit: none while the member has more than it claimed."""
        return int(self.units[kind] <= self.claimed.get(kind, 0))

    def is_owed(self, kind: int) -> bool:
        """Whether giving it a unit would take a move back."""
        return self.units.get(kind, 0) < self.claimed.get(kind, 0)

    def change(self, kind: int, by: int) -> None:
        """Count units of a kind."""
        left = self.units.pop(kind, 0) + by
        if left:
            self.units[kind] = left


@dataclass(slots=True)
class Draft:
    """Kinds and sets of subscribers are numbered within the region, in the index's order."""

    region: Region
    standings: Mapping[MemberId, Standing]
    free: dict[int, int] = field(init=False)
    touched: dict[MemberId, Touched] = field(default_factory=dict)
    kinds: tuple[Kind, ...] = field(init=False)
    load_orders: list[LoadOrder] = field(init=False)
    holders: list[dict[int, LoadOrder]] = field(init=False)
    kind_sets: list[tuple[int, ...]] = field(init=False)
    beyond_all_loads: int = field(init=False)
    _kind_numbers: dict[int, int] = field(init=False)
    _set_numbers: dict[int, int] = field(init=False)

    def __post_init__(self) -> None:
        """Number what the region has."""
        subscriber_sets, self.kinds = self.region.subscriber_sets, self.region.kinds
        self._kind_numbers = {kind.number: place for place, kind in enumerate(self.kinds)}
        self._set_numbers = {subscriber_set.number: place for place, subscriber_set in enumerate(subscriber_sets)}
        self.free = {place: len(kind.free) for place, kind in enumerate(self.kinds)}
        self.load_orders = [subscriber_set.load_order for subscriber_set in subscriber_sets]
        self.holders = [
            {self._kind_numbers[kind.number]: _holders(subscriber_set, kind) for kind in subscriber_set.kinds}
            for subscriber_set in subscriber_sets
        ]
        places = self._set_numbers
        self.kind_sets = [
            tuple(
                places[subscriber_set.number]
                for subscriber_set in kind.subscriber_sets
                if subscriber_set.load_order.size
            )
            for kind in self.kinds
        ]
        loads = [load for load_order in self.load_orders for load in load_order.levels]
        self.beyond_all_loads = 2 + max(loads, default=0) + sum(self.free.values())

    def poorest(self, subscriber_set: int) -> tuple[int, MemberId] | None:
        """The load and the name of an untouched member of a set with the least load."""
        levels = self.load_orders[subscriber_set].levels
        return self._find(levels, sorted(levels))

    def richest_holder(self, subscriber_set: int, kind: int) -> tuple[int, MemberId] | None:
        """The load and the name of an untouched member of a set with most load of those that have the kind."""
        levels = self.holders[subscriber_set][kind].levels
        return self._find(levels, sorted((load for load in levels if load), reverse=True))

    def _find(self, levels: Mapping[int, list[Seat]], order: list[int]) -> tuple[int, MemberId] | None:
        """Of equals the last in seat order, so that static members are disturbed last."""
        for load in order:
            for seat in reversed(levels[load]):
                if seat[2] not in self.touched:
                    return load, seat[2]
        return None

    def touch(self, member_id: MemberId) -> Touched:
        """A member as the draft has it, to be changed."""
        known = self.touched.get(member_id)
        if known is None:
            standing = self.standings[member_id]
            claimed = {self._kind_numbers[number]: count for number, count in _units(standing).items()}
            subscriber_set = self._set_numbers[standing.subscribers.number]
            known = Touched(standing.seat, subscriber_set, standing.load, dict(sorted(claimed.items())), claimed)
            self.touched[member_id] = known
        return known


def _holders(subscriber_set: IndexedSubscribers, kind: Kind) -> LoadOrder:
    return subscriber_set.load_order if subscriber_set.is_plain else subscriber_set.holders[kind.number]


def _units(standing: Standing) -> Mapping[int, int]:
    if not standing.subscribers.is_plain:
        return standing.units
    return {standing.subscribers.kinds[0].number: standing.load} if standing.load else {}


_UNREACHED = 1 << 62


@dataclass(frozen=True, slots=True)
class Chain:
    """One unit moves along: `kinds[i]` goes from `members[i]` to `members[i + 1]`; the first is None for a free one."""

    members: tuple[MemberId | None, ...]
    kinds: tuple[int, ...]


class ChainSearch:
    """One search: labels of kinds, then sets, then members that the draft has touched.

    A member that the draft has not touched takes and gives like any other of its set, kind and load, so one stands
    for all. A label is the cost of the cheapest way for a unit to get there, loads in units of `_load_price`, else
    moves: minus the load of the member that gives. Free units come first, as if a member with too many gave them.
    """

    def __init__(self, draft: Draft) -> None:
        """Find the cheapest ways; a label-correcting Dijkstra, since giving a claimed unit back costs minus one."""
        self._draft = draft
        self._touched = list(draft.touched.values())
        self._first_set = len(draft.kind_sets)
        self._first_touched = self._first_set + len(draft.load_orders)
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
        for subscriber_set in range(len(self._draft.load_orders)):
            poorest = self._draft.poorest(subscriber_set)
            if poorest is None:
                continue
            cost = self._costs[self._first_set + subscriber_set] + (poorest[0] + 1) * self._load_price
            if cost < best:
                best, receiver, last = cost, poorest[1], self._first_set + subscriber_set
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
        for subscriber_set, kinds in enumerate(draft.holders):
            for kind in kinds:
                richest = draft.richest_holder(subscriber_set, kind)
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
        if node < self._first_set:
            return self._steps_of_kind(node)
        if node < self._first_touched:
            return self._steps_of_set(node - self._first_set)
        touched = self._touched[node - self._first_touched]
        return ((touched.take_cost(kind), kind) for kind in touched.units)

    def _steps_of_kind(self, kind: int) -> Iterator[tuple[int, int]]:
        """To all that want it, and with a move saved to those who had it."""
        for subscriber_set in self._draft.kind_sets[kind]:
            yield 0, self._first_set + subscriber_set
        for number, touched in enumerate(self._touched):
            if touched.is_owed(kind):
                yield -1, self._first_touched + number

    def _steps_of_set(self, subscriber_set: int) -> Iterator[tuple[int, int]]:
        """To each touched member, and through any other one to what it could pass on."""
        for number, touched in enumerate(self._touched):
            if touched.subscriber_set == subscriber_set:
                yield 0, self._first_touched + number
        for kind in self._draft.holders[subscriber_set]:
            if self._draft.richest_holder(subscriber_set, kind) is not None:
                yield 1, kind

    def _trace(self, receiver: MemberId, last: int) -> Chain:
        """Read the chain backwards, from who gains to who gives or to a free unit."""
        members: list[MemberId | None] = [receiver]
        kinds: list[int] = []
        node: int | None = last
        while node is not None:
            before = self._before[node]
            if node < self._first_set:
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
        holder = self._draft.richest_holder(before - self._first_set, kind)
        return None if holder is None else holder[1]
