"""Many seeds, and what is reported of those that break a law."""

from tests.support.scripted_subject import ScriptedSubject
from tests.support.shrinking import shrink
from tests.support.simulated_bridge import OwnerSubject
from tests.support.simulation.campaign import BATCH, FRESH_SEEDS, choose_seeds, run_seed, run_seeds
from tests.support.simulation.schedule import Act, Action, Conditions, Phase, Schedule


def test_seeds_are_drawn_afresh_unless_one_is_named() -> None:
    """What is printed of a run tells it again."""
    drawn = choose_seeds(None, None, lambda limit: limit - 1)
    assert (drawn.start, len(drawn)) == (FRESH_SEEDS - 1, BATCH)
    assert choose_seeds(drawn.start, len(drawn), lambda _: 0) == drawn
    assert choose_seeds(4711, None, lambda _: 0) == range(4711, 4712)
    assert len(choose_seeds(None, 5, lambda _: 0)) == 5


def test_batch_without_failures_has_an_ending_per_seed() -> None:
    """Nothing else is said."""
    outcomes, failures = run_seeds(range(3), OwnerSubject)
    assert ([outcome.seed for outcome in outcomes], failures) == ([0, 1, 2], [])
    assert outcomes[0] == run_seed(0, OwnerSubject)


def test_failure_is_reported_with_seed_law_shrunk_story_and_last_events() -> None:
    """Everything that is needed to look into it."""
    _, (failure,) = run_seeds([0], ScriptedSubject)
    report = failure.report().splitlines()
    assert report[0].startswith("seed 0: every request is answered")
    assert report[1].startswith("shrunk to 1 acts under Conditions(")
    assert report[2].split()[2] == "start"
    assert report[3] == "last events:"


def story(*phases: tuple[Action, ...]) -> Schedule:
    """A story of these actions."""
    acts = (tuple(Act(at_ms=0, action=action) for action in phase) for phase in phases)
    return Schedule(1, Conditions(partitions=1), tuple(Phase(is_calm=False, acts=phase) for phase in acts))


def has(schedule: Schedule, *actions: Action) -> bool:
    """Whether all these are done somewhere."""
    return set(actions) <= {act.action for phase in schedule.phases for act in phase.acts}


def test_everything_that_does_not_matter_is_left_out() -> None:
    """What remains is needed."""
    long = story((Action.START, Action.CUT), (Action.LAG,), (Action.PAUSE, Action.KILL, Action.GROW))
    shrunk = shrink(long, lambda candidate: has(candidate, Action.START, Action.KILL), 300)
    assert shrunk == story((Action.START,), (Action.KILL,))


def test_shrinking_ends_after_so_many_tries() -> None:
    """A slow failure is reported as far as it got."""
    long = story((Action.START, Action.CUT), (Action.LAG,))
    tried: list[Schedule] = []

    def note(candidate: Schedule) -> bool:
        tried.append(candidate)
        return False

    assert shrink(long, note, tries_max=2) == long
    assert len(tried) == 2
