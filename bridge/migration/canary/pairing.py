"""Which rebalances of two arms are compared with each other: those of one rebalance, else those close in time.

What happens at another hour happens to another fleet: load, releases and the brokers differ. So an arm of yesterday is
never compared with one of today; whoever can't have both arms at once switches the treatment on and off, and each time
pairs with its neighbour.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MATCHED_MIN = 0.5
"""Arms are apart in time where less than this part of the smaller one finds a partner."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """One rebalance, or one group in one hour: when it began, and how long each member of either arm waited.

    Times are in seconds; members that did not wait count as zero. Their order must say nothing about their times.
    """

    at_us: int
    control: tuple[float, ...] = ()
    treatment: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Both sides of one comparison, in seconds; neither is empty."""

    control: tuple[float, ...]
    treatment: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """The pairs in the order in which they were complete, and how many units of each arm there were for them."""

    pairs: tuple[Pair, ...]
    control_units: int
    treatment_units: int

    @property
    def is_apart(self) -> bool:
        """Whether the arms are of different times, so that what differs may be the time."""
        return len(self.pairs) < MATCHED_MIN * min(self.control_units, self.treatment_units)


@dataclass(frozen=True, slots=True)
class Alone:
    """Units of either arm that wait for a partner, oldest first."""

    controls: tuple[Unit, ...] = ()
    treatments: tuple[Unit, ...] = ()


def pair_up(units: Iterable[Unit], within_us: int) -> Pairing:
    """Pair units that have both arms with themselves, and the others with the next of the other arm not further away
    than `within_us`, each once. When a unit began decides alone, never what is in it.
    """
    counted = tuple(units)
    pairs, _ = pair_next(Alone(), counted, within_us)
    return Pairing(
        pairs=pairs,
        control_units=sum(bool(unit.control) for unit in counted),
        treatment_units=sum(bool(unit.treatment) for unit in counted),
    )


def pair_next(alone: Alone, units: Iterable[Unit], within_us: int) -> tuple[tuple[Pair, ...], Alone]:
    """The pairs that further units make, with one another and with those that wait, and who waits then."""
    found: list[tuple[int, Pair]] = []
    controls, treatments = list(alone.controls), list(alone.treatments)
    for unit in units:
        if unit.control and unit.treatment:
            found.append((unit.at_us, Pair(control=unit.control, treatment=unit.treatment)))
        elif unit.control:
            controls.append(unit)
        elif unit.treatment:
            treatments.append(unit)
    neighbours, alone = _neighbours(sorted(controls, key=_began_us), sorted(treatments, key=_began_us), within_us)
    found = sorted((*found, *neighbours), key=lambda entry: entry[0])
    return tuple(pair for _, pair in found), alone


def _neighbours(
    controls: Sequence[Unit], treatments: Sequence[Unit], within_us: int
) -> tuple[list[tuple[int, Pair]], Alone]:
    found: list[tuple[int, Pair]] = []
    left = right = 0
    while left < len(controls) and right < len(treatments):
        control, treatment = controls[left], treatments[right]
        if abs(control.at_us - treatment.at_us) <= within_us:
            pair = Pair(control=control.control, treatment=treatment.treatment)
            found.append((max(control.at_us, treatment.at_us), pair))
            left, right = left + 1, right + 1
        elif control.at_us < treatment.at_us:
            left += 1
        else:
            right += 1
    return found, Alone(tuple(controls[left:]), tuple(treatments[right:]))


def _began_us(unit: Unit) -> int:
    return unit.at_us
