"""Whom the judge compares with whom."""

import numpy as np

from bridge.migration.canary.pairing import Alone, Pairing, Unit, pair_next, pair_up

HOUR_US = 3_600_000_000


def control(at_us: int, *waits: float) -> Unit:
    """A rebalance of the control only."""
    return Unit(at_us=at_us, control=waits or (1.0,))


def treatment(at_us: int, *waits: float) -> Unit:
    """A rebalance of the treatment only."""
    return Unit(at_us=at_us, treatment=waits or (2.0,))


def values(pairing: Pairing) -> list[tuple[list[float], list[float]]]:
    """Both sides of each pair."""
    return [(list(map(float, pair.control)), list(map(float, pair.treatment))) for pair in pairing.pairs]


def test_unit_with_both_arms_is_a_pair_of_its_own() -> None:
    """A canary within a group shares each rebalance with its control: nothing could be matched better."""
    both = Unit(at_us=5, control=(1.0, 2.0), treatment=(3.0,))
    assert values(pair_up([both, control(6)], HOUR_US)) == [([1.0, 2.0], [3.0])]


def test_neighbours_in_time_are_paired_each_once() -> None:
    """In the order in which both were there, whatever the order of the input."""
    units = [treatment(40, 4.0), control(10, 1.0), control(30, 3.0), treatment(20, 2.0)]
    assert values(pair_up(units, 15)) == [([1.0], [2.0]), ([3.0], [4.0])]


def test_rarer_arm_is_compared_with_its_own_time() -> None:
    """Not with the oldest that waits: what is slower by then may be the hour."""
    often = [control(at, float(at)) for at in range(0, 100, 5)]
    rare = [treatment(at, float(at)) for at in (41, 62, 83)]
    pairs, alone = pair_next(Alone(), [*often, *rare], 50)
    assert [(pair.control, pair.treatment) for pair in pairs] == [
        ((40.0,), (41.0,)),
        ((60.0,), (62.0,)),
        ((80.0,), (83.0,)),
    ]
    assert (alone.controls[0].at_us, alone.treatments) == (35, ())


def test_rarer_arm_of_a_table_is_compared_with_its_own_time() -> None:
    """As that of a plan is, at the cost of no pair: who comes in between moves on for who is nearer."""
    often = [control(at, float(at)) for at in range(0, 100, 5)]
    rare = [treatment(at, float(at)) for at in (41, 62, 64, 83)]
    assert values(pair_up([*often, *rare], 50)) == [
        ([40.0], [41.0]),
        ([60.0], [62.0]),
        ([65.0], [64.0]),
        ([85.0], [83.0]),
    ]
    assert values(pair_up([*rare, *often], 0)) == []


def test_load_that_grows_is_no_harm_to_a_tenth_of_a_fleet() -> None:
    """A tenth moved, by lot, while waits double: of each pair one arm is as often the older one as the other is."""
    draw = np.random.default_rng(7)
    times = np.cumsum(draw.exponential(HOUR_US / 120, 2_400)).astype(int)
    units = [(treatment if draw.random() < 0.1 else control)(int(at), float(at)) for at in times]
    pairs = pair_up(units, HOUR_US).pairs
    apart_us = [pair.treatment[0] - pair.control[0] for pair in pairs]
    assert len(pairs) == sum(bool(unit.treatment) for unit in units)
    assert abs(float(np.mean(apart_us))) < HOUR_US / 120
    assert 0.4 < np.mean([one > 0 for one in apart_us]) < 0.6


def test_units_too_far_apart_stay_alone() -> None:
    """The one that is too old is passed over, not held against whatever comes."""
    pairing = pair_up([control(0), control(100), treatment(104)], 5)
    assert len(pairing.pairs) == 1
    assert (pairing.control_units, pairing.treatment_units, pairing.is_apart) == (2, 1, False)


def test_arms_of_different_days_are_apart() -> None:
    """What differs then may be the day."""
    days = [control(minute * 60_000_000) for minute in range(50)]
    days += [treatment(24 * HOUR_US + minute * 60_000_000) for minute in range(50)]
    assert pair_up(days, HOUR_US).is_apart


def test_treatment_switched_on_and_off_is_not_apart() -> None:
    """Each turn pairs with its neighbour."""
    turns = [
        (control if turn % 2 == 0 else treatment)(turn * HOUR_US // 2 + minute * 60_000_000)
        for turn in range(10)
        for minute in range(0, 30, 5)
    ]
    assert not pair_up(turns, HOUR_US).is_apart
    assert len(pair_up(turns, HOUR_US // 2).pairs) == len(turns) // 2


def test_partner_depends_on_when_it_began_alone() -> None:
    """Other values make the same pairs: who chose partners by their values would choose the verdict."""
    random = np.random.default_rng(3)
    times = np.sort(random.integers(0, 1_000, 60))
    sides = random.random(60) < 0.5

    def paired(values_seed: int) -> int:
        waits = np.random.default_rng(values_seed).random(60)
        units = [
            (treatment if side else control)(int(at), float(wait))
            for at, side, wait in zip(times, sides, waits, strict=True)
        ]
        return len(pair_up(units, 20).pairs)

    assert paired(1) == paired(2)


def test_no_units_make_no_pairs() -> None:
    """Nothing is nothing, and not apart."""
    assert pair_up([], HOUR_US).pairs == ()


def test_units_may_come_one_by_one() -> None:
    """Who is alone waits for a neighbour, or goes when it is too old for whoever comes."""
    pairs, alone = pair_next(Alone(), [control(10), control(20)], 15)
    assert (pairs, alone) == ((), Alone((control(10), control(20))))
    pairs, alone = pair_next(alone, [treatment(30)], 15)
    assert ([(pair.control, pair.treatment) for pair in pairs], alone) == ([((1.0,), (2.0,))], Alone())
    pairs, alone = pair_next(Alone((control(10),)), [treatment(100)], 15)
    assert (pairs, alone) == ((), Alone((), (treatment(100),)))
