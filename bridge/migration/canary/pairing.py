"""Which rebalances of two arms are compared with each other: those of one rebalance, else those close in time.

What happens at another hour happens to another fleet: load, releases and the brokers differ. So an arm of yesterday is
never compared with one of today; whoever can't have both arms at once switches the treatment on and off, and each time
pairs with its neighbour.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
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
    """Pair units that have both arms with themselves, and the others with one near them of the other arm, not further
    away than `within_us`, each once. When a unit began decides alone, never what is in it.
    """
    counted = tuple(units)
    within = [(unit.at_us, Pair(control=unit.control, treatment=unit.treatment)) for unit in counted if _is_both(unit)]
    controls = sorted((unit for unit in counted if unit.control and not unit.treatment), key=_began_us)
    treatments = sorted((unit for unit in counted if unit.treatment and not unit.control), key=_began_us)
    found = sorted((*within, *_neighbours(controls, treatments, within_us)), key=lambda entry: entry[0])
    return Pairing(
        pairs=tuple(pair for _, pair in found),
        control_units=sum(bool(unit.control) for unit in counted),
        treatment_units=sum(bool(unit.treatment) for unit in counted),
    )


def _neighbours(controls: Sequence[Unit], treatments: Sequence[Unit], within_us: int) -> Iterator[tuple[int, Pair]]:
    """As many pairs as there can be, in the order of both arms; of the units between them those that are nearest.

    The oldest with the oldest gives the most, but compares the rarer arm with what the other one was `within_us` ago,
    and a load that grows is taken for harm. So each pair then moves to who is nearer, from the last to the first and
    back: no pair is lost by it, and none gets longer.
    """
    places = list(_oldest_first(controls, treatments, within_us))
    times = [unit.at_us for unit in controls], [unit.at_us for unit in treatments]
    for order in (range(len(places) - 1, -1, -1), range(len(places))):
        for at in order:
            before = places[at - 1] if at else (-1, -1)
            after = places[at + 1] if at + 1 < len(places) else (len(controls), len(treatments))
            left, right = places[at]
            left = _nearest(times[0], times[1][right], range(before[0] + 1, after[0]))
            right = _nearest(times[1], times[0][left], range(before[1] + 1, after[1]))
            places[at] = left, right
    for left, right in places:
        control, treatment = controls[left], treatments[right]
        pair = Pair(control=control.control, treatment=treatment.treatment)
        yield max(control.at_us, treatment.at_us), pair


def _oldest_first(controls: Sequence[Unit], treatments: Sequence[Unit], within_us: int) -> Iterator[tuple[int, int]]:
    left = right = 0
    while left < len(controls) and right < len(treatments):
        apart_us = controls[left].at_us - treatments[right].at_us
        if abs(apart_us) <= within_us:
            yield left, right
            left, right = left + 1, right + 1
        elif apart_us < 0:
            left += 1
        else:
            right += 1


def _nearest(times: Sequence[int], at_us: int, among: range) -> int:
    """The place of the time that is nearest to one, among some places."""
    later = bisect_left(times, at_us, among.start, among.stop)
    near = range(max(among.start, later - 1), min(later + 1, among.stop))
    return min(near, key=lambda place: abs(times[place] - at_us))


def pair_next(alone: Alone, units: Iterable[Unit], within_us: int) -> tuple[tuple[Pair, ...], Alone]:
    """The pairs that further units make, with one another and with those that wait, and who waits then, of arms that
    are there at the same time.

    Each takes whoever began nearest, or else waits itself. Were it the oldest that waits, the rarer arm would always be
    compared with what the other one was `within_us` ago, and a load that grows be taken for harm.
    """
    found: list[Pair] = []
    controls, treatments = list(alone.controls), list(alone.treatments)
    for unit in sorted(units, key=_began_us):
        if _is_both(unit):
            found.append(Pair(control=unit.control, treatment=unit.treatment))
        elif unit.control or unit.treatment:
            own, others = (controls, treatments) if unit.control else (treatments, controls)
            partner = _take_nearest(others, unit.at_us, within_us)
            if partner is None:
                insort(own, unit, key=_began_us)
            else:
                control, treatment = unit.control or partner.control, unit.treatment or partner.treatment
                found.append(Pair(control=control, treatment=treatment))
    return tuple(found), Alone(tuple(controls), tuple(treatments))


def _take_nearest(waiting: list[Unit], at_us: int, within_us: int) -> Unit | None:
    """Take out who began nearest to a time, None if nobody is near enough; who is too old for it waits no longer."""
    del waiting[: bisect_left(waiting, at_us - within_us, key=_began_us)]
    later = bisect_left(waiting, at_us, key=_began_us)
    near = range(max(0, later - 1), min(later + 1, len(waiting)))
    place = min(near, key=lambda one: abs(waiting[one].at_us - at_us), default=None)
    if place is None or abs(waiting[place].at_us - at_us) > within_us:
        return None
    return waiting.pop(place)


def _is_both(unit: Unit) -> bool:
    return bool(unit.control and unit.treatment)


def _began_us(unit: Unit) -> int:
    return unit.at_us
