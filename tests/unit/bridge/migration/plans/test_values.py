"""What is asked of the values of plans, and that their table is whole."""

import pytest

from bridge.migration.plans.values import TRANSITIONS, Part, PartStep, PlanEvent, PlanState
from translators.dialects.ids import GroupId


def test_every_phase_has_an_answer_to_everything() -> None:
    """A word of an operator may come at any time."""
    pairs = {(phase, event) for phase in PlanState.__args__ for event in PlanEvent.__args__}
    assert pairs == set(TRANSITIONS)


@pytest.mark.parametrize("percent", [0, 50])
@pytest.mark.parametrize("step", list(PartStep))
def test_groups_that_may_have_to_be_brought_back(step: PartStep, percent: int) -> None:
    """Also one whose next share was refused, or that waits for it."""
    part = Part(group_id=GroupId("g"), step=step, percent=percent)
    always = {PartStep.MOVING, PartStep.MOVED, PartStep.STOPPED, PartStep.RETURNING}
    sometimes = {PartStep.WAITING, PartStep.REFUSED} if percent else set()
    assert part.has_moved is (step in always | sometimes)
    assert part.is_under_way is (step in {PartStep.MOVING, PartStep.RETURNING})
    assert step.is_last is (step in {PartStep.LEFT, PartStep.RETURNED})
