"""Whether a stage may go on."""

from bridge.migration.patterns import Pattern
from bridge.migration.plans.conditions import Figures, Measure
from bridge.migration.plans.judging import find_fault, judged, nearest
from bridge.migration.plans.values import Control, Looked, Part, PartStep, Plan, Progress, Ruling, Seen
from bridge.migration.route import Road
from translators.dialects.ids import GroupId

PLAN = Plan(name="p", destination=Road.EMBEDDED, groups=(Pattern("*"),))
ZERO = Figures(at_ms=0)
BUSY = Figures(at_ms=60_000, rebalances=4)


def moved(name: str, step: PartStep = PartStep.MOVED) -> Part:
    """A group that has moved."""
    return Part(group_id=GroupId(name), step=step, percent=100, began=ZERO, reason="the broker went away")


def looked(**figures: Figures) -> Looked:
    """The groups of these names with these figures."""
    return Looked({GroupId(name): Seen(figure) for name, figure in figures.items()}, {GroupId("other"): BUSY}, 1)


def test_move_that_ended_on_the_way_is_a_fault() -> None:
    """Whatever its figures are."""
    progress = Progress(PLAN, (moved("a", PartStep.STOPPED),))
    fault = find_fault(progress, 3, looked(a=ZERO), 9)
    assert fault is not None
    assert (fault.ruling, fault.stage, fault.group_id) == (Ruling.STOPPED, 3, "a")
    assert fault.sentence == "the move of a ended on the way: the broker went away"


def test_moved_groups_that_are_there_are_judged() -> None:
    """Against others, if there are any to compare with."""
    progress = Progress(PLAN, (moved("a"), moved("gone"), Part(group_id=GroupId("b"))))
    assert [group_id for group_id, _ in judged(progress, looked(a=BUSY, b=BUSY))] == ["a"]
    assert find_fault(progress, 0, looked(a=BUSY), 9) is not None
    compared = Progress(PLAN, progress.parts, controls=(Control(GroupId("other"), ZERO),))
    assert find_fault(compared, 0, looked(a=BUSY), 9) is None


def test_nearest_to_a_condition_is_told() -> None:
    """With all of its readings; nobody, where nobody was moved."""
    progress = Progress(PLAN, (moved("a"), moved("b")))
    group_id, readings = nearest(judged(progress, looked(a=ZERO, b=Figures(at_ms=1, rebalances=1))))
    assert (group_id, readings[0].measure, readings[0].value) == ("b", Measure.REBALANCES, 1)
    assert nearest([]) == ("", ())
