"""Many seeds, and what is reported of those that break a law."""

from bridge.simulation.campaign import run_seeds, tell
from tests.support.scripted_subject import ScriptedSubject
from tests.support.simulated_bridge import OwnerSubject


def test_batch_without_failures_has_an_ending_per_seed() -> None:
    """Nothing else is said."""
    endings, failures = run_seeds(range(3), OwnerSubject)
    assert ([ending.seed for ending in endings], failures) == ([0, 1, 2], [])
    assert endings[0] == tell(0, OwnerSubject)


def test_failure_is_reported_with_seed_law_shrunk_story_and_last_events() -> None:
    """Everything that is needed to look into it."""
    _, (failure,) = run_seeds([0], ScriptedSubject)
    report = failure.report().splitlines()
    assert report[0].startswith("seed 0: EB-SIM-001: every request is answered")
    assert report[1].startswith("shrunk to 1 acts under Conditions(")
    assert report[2].split()[2] == "start"
    assert report[3] == "last events:"
