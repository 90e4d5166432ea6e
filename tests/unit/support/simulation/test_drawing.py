"""Stories are drawn from seeds."""

from tests.support.simulation.drawing import PLACES_MAX, draw_schedule
from tests.support.simulation.profiles import PROFILES
from tests.support.simulation.schedule import Action

STORIES = [draw_schedule(seed) for seed in range(300)]
ACTS = [act for story in STORIES for phase in story.phases for act in phase.acts]


def test_seed_draws_one_story() -> None:
    """Reliability 3.6: nothing but the seed decides."""
    assert [draw_schedule(seed) for seed in range(20)] == STORIES[:20]
    assert len(set(STORIES)) == len(STORIES)


def test_every_deed_and_every_temperament_is_drawn() -> None:
    """Nothing on the fault menu is forgotten."""
    assert {act.action for act in ACTS} == set(Action)
    assert {act.name for act in ACTS} >= PROFILES.keys()


def test_calm_phases_are_one_change_and_places_exist() -> None:
    """What "disturbed" means is defined for one change without faults."""
    assert {len(phase.acts) for story in STORIES for phase in story.phases if phase.is_calm} == {1}
    calm = {act.action for story in STORIES for phase in story.phases if phase.is_calm for act in phase.acts}
    assert calm == {Action.START, Action.LEAVE, Action.KILL, Action.GROW}
    assert {act.place for act in ACTS} <= set(range(PLACES_MAX))


def test_storms_come_in_order_of_time() -> None:
    """So that a report reads as it happened."""
    storms = [phase for story in STORIES for phase in story.phases[1:] if not phase.is_calm]
    assert all([act.at_ms for act in storm.acts] == sorted(act.at_ms for act in storm.acts) for storm in storms)
