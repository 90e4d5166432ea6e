"""The time axis."""

from dataclasses import replace
from itertools import pairwise

from bridge.telemetry.rebalances.assembling import assemble
from bridge.telemetry.rebalances.rebalance import Stretch
from bridge.telemetry.schema.terms import Phase
from bridge.telemetry.trace.drawing import MARGIN_US, TICKS_MAX, Axis, axis_of, ticks_of
from tests.support.event_stories import cooperative_handover


def test_axis_shows_rebalance_and_its_first_fetches() -> None:
    """The last thing to see is the Fetch after the end."""
    (rebalance,) = assemble(cooperative_handover().events)
    assert axis_of(rebalance) == Axis(0, 3_109_000)


def test_axis_cuts_what_lasts_for_hours() -> None:
    """A member that never fetches would make everything else a hair."""
    (rebalance,) = assemble(cooperative_handover().events)
    endless = Stretch(phase=Phase.FETCHING, begin_us=-9_000_000_000, end_us=9_000_000_000)
    members = tuple(replace(member, stretches=(endless,)) for member in rebalance.members)
    axis = axis_of(replace(rebalance, members=members))
    assert axis.end_us == 2 * rebalance.duration_us + MARGIN_US
    assert -MARGIN_US < axis.begin_us < 0
    assert axis.cut(endless) == (0.0, 1.0)


def test_ticks_are_round_and_few() -> None:
    """One, two and five times powers of ten."""
    for end_us in (700, 3_109_000, 61_000_000, 7_200_000_000):
        ticks = ticks_of(Axis(-end_us // 5, end_us))
        assert 2 <= len(ticks) <= TICKS_MAX + 1
        (step,) = {after - before for before, after in pairwise(ticks)}
        assert str(step).rstrip("0") in {"1", "2", "5"}


def test_stretch_beyond_axis_is_not_drawn() -> None:
    """Nothing of it is on the axis."""
    assert Axis(0, 100).cut(Stretch(phase=Phase.JOINING, begin_us=200, end_us=300)) is None
    assert not Axis(0, 100).shows(200)
