"""A fixed batch of stories with the real owner of groups: no law breaks, and a seed has one outcome."""

from bridge.simulation.campaign import run_seeds, tell
from tests.support.simulated_bridge import OwnerSubject

BATCH = range(60)
ONCE_BROKEN = (138, 157, 180, 337, 340, 562, 602, 778, 986, 1386)
"""Seeds that found a bug of the bridge, or of this world, when they were first told."""


def test_batch_of_stories_breaks_no_law() -> None:
    """Reliability 3.2: every law at every step, and rest after every phase."""
    endings, failures = run_seeds(BATCH, OwnerSubject)
    assert "\n\n".join(failure.report() for failure in failures) == ""
    assert sum(ending.takes for ending in endings) > 1_000
    assert sum(ending.commits for ending in endings) > 10_000


def test_stories_that_once_broke_a_law_break_none() -> None:
    """What was found stays fixed."""
    _, failures = run_seeds(ONCE_BROKEN, OwnerSubject)
    assert "\n\n".join(failure.report() for failure in failures) == ""


def test_seed_has_one_outcome() -> None:
    """Reliability 3.6: the same trace, event for event."""
    assert tell(4, OwnerSubject) == tell(4, OwnerSubject)
