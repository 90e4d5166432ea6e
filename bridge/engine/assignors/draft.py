"""A mixed region as it would be after the moves decided so far: touched members in full, the others as indexed."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bridge.engine.assignors.ladder import Ladder, Seat
from bridge.engine.assignors.load_index import Crowd, Kind, Region, Standing
from translators.dialects.ids import MemberId


@dataclass(slots=True)
class Touched:
    """A member that gained, gave or passed on: what it has of each kind now, and what of that was its own before."""

    seat: Seat
    crowd: int
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
    """Kinds and crowds are numbered within the region, in the index's order."""

    region: Region
    standings: Mapping[MemberId, Standing]
    free: dict[int, int] = field(init=False)
    touched: dict[MemberId, Touched] = field(default_factory=dict)
    kinds: tuple[Kind, ...] = field(init=False)
    ladders: list[Ladder] = field(init=False)
    holders: list[dict[int, Ladder]] = field(init=False)
    kind_crowds: list[tuple[int, ...]] = field(init=False)
    beyond_all_loads: int = field(init=False)
    _kind_numbers: dict[int, int] = field(init=False)
    _crowd_numbers: dict[int, int] = field(init=False)

    def __post_init__(self) -> None:
        """Number what the region has."""
        crowds, self.kinds = self.region.crowds, self.region.kinds
        self._kind_numbers = {kind.number: place for place, kind in enumerate(self.kinds)}
        self._crowd_numbers = {crowd.number: place for place, crowd in enumerate(crowds)}
        self.free = {place: len(kind.free) for place, kind in enumerate(self.kinds)}
        self.ladders = [crowd.ladder for crowd in crowds]
        self.holders = [
            {self._kind_numbers[kind.number]: _holders(crowd, kind) for kind in crowd.kinds} for crowd in crowds
        ]
        places = self._crowd_numbers
        self.kind_crowds = [
            tuple(places[crowd.number] for crowd in kind.crowds if crowd.ladder.size) for kind in self.kinds
        ]
        loads = [load for ladder in self.ladders for load in ladder.rungs]
        self.beyond_all_loads = 2 + max(loads, default=0) + sum(self.free.values())

    def poorest(self, crowd: int) -> tuple[int, MemberId] | None:
        """The load and the name of an untouched member of a crowd with the least load."""
        rungs = self.ladders[crowd].rungs
        return self._find(rungs, sorted(rungs))

    def richest_holder(self, crowd: int, kind: int) -> tuple[int, MemberId] | None:
        """The load and the name of an untouched member of a crowd with most load of those that have the kind."""
        rungs = self.holders[crowd][kind].rungs
        return self._find(rungs, sorted((load for load in rungs if load), reverse=True))

    def _find(self, rungs: Mapping[int, list[Seat]], order: list[int]) -> tuple[int, MemberId] | None:
        """Of equals the last in seat order, so that static members are disturbed last."""
        for load in order:
            for seat in reversed(rungs[load]):
                if seat[2] not in self.touched:
                    return load, seat[2]
        return None

    def touch(self, member_id: MemberId) -> Touched:
        """A member as the draft has it, to be changed."""
        known = self.touched.get(member_id)
        if known is None:
            standing = self.standings[member_id]
            claimed = {self._kind_numbers[number]: count for number, count in _units(standing).items()}
            crowd = self._crowd_numbers[standing.crowd.number]
            known = Touched(standing.seat, crowd, standing.load, dict(sorted(claimed.items())), claimed)
            self.touched[member_id] = known
        return known


def _holders(crowd: Crowd, kind: Kind) -> Ladder:
    return crowd.ladder if crowd.is_plain else crowd.holders[kind.number]


def _units(standing: Standing) -> Mapping[int, int]:
    if not standing.crowd.is_plain:
        return standing.units
    return {standing.crowd.kinds[0].number: standing.load} if standing.load else {}
