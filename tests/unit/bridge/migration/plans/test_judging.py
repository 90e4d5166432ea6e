"""Whether a stage may go on."""

from dataclasses import replace

import pytest

from bridge.migration.orders import MoveOrder, MoveProgress, MoveStage
from bridge.migration.patterns import Pattern
from bridge.migration.plans.canaries import Waited
from bridge.migration.plans.conditions import Conditions, Figures, Judge, Measure, Undecided
from bridge.migration.plans.judging import (
    find_fault,
    judge_said,
    judged,
    missing_arm,
    nearest,
    waits_for_judge,
    with_canaries,
)
from bridge.migration.plans.values import Control, GroupsSeen, Part, PartStep, Plan, Progress, Ruling, SeenGroup
from bridge.migration.route import Road
from translators.dialects.ids import GroupId, MemberId

PLAN = Plan(name="p", destination=Road.EMBEDDED, groups=(Pattern("*"),))
ZERO = Figures(at_ms=0)
BUSY = Figures(at_ms=60_000, rebalances=4)


def moved(name: str, step: PartStep = PartStep.MOVED) -> Part:
    """A group that has moved."""
    return Part(group_id=GroupId(name), step=step, percent=100, began=ZERO, reason="the broker went away")


def looked(**figures: Figures) -> GroupsSeen:
    """The groups of these names with these figures."""
    return GroupsSeen(
        {GroupId(name): SeenGroup(figure) for name, figure in figures.items()}, {GroupId("other"): BUSY}, 1
    )


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


JUDGED = Plan(name="p", destination=Road.UPSTREAM, groups=(Pattern("*"),), conditions=Conditions(judge=Judge()))


def share_moved(*members: str) -> tuple[Part, SeenGroup]:
    """A group of which these members have moved (all, if nobody is named), at 5,000."""
    order = MoveOrder(GroupId("a"), Road.UPSTREAM, tuple(map(MemberId, members)))
    part = Part(group_id=GroupId("a"), step=PartStep.MOVED, percent=50, order=order, ordered_ms=4_000)
    part = replace(part, others=tuple(MemberId(name) for name in ("m0", "m1", "m2") if members and name not in members))
    return part, SeenGroup(ZERO, move=MoveProgress(order, Road.PASS, MoveStage.DONE, 4_000, 5_000))


def waited(name: str, at_ms: int, *waits_ms: int) -> Waited:
    """A rebalance of members m0, m1 and so on."""
    return Waited(GroupId(name), at_ms, tuple((MemberId(f"m{place}"), wait) for place, wait in enumerate(waits_ms)))


def seen_by_judge(
    part: Part, seen: SeenGroup, *waits: Waited
) -> tuple[list[tuple[float, ...]], list[tuple[float, ...]]]:
    """What of these rebalances is in the arm of who was not moved, and of who was, alone or in pairs."""
    progress = Progress(JUDGED, (part, Part(group_id=GroupId("b"))))
    look = GroupsSeen({part.group_id: seen, GroupId("b"): SeenGroup(ZERO)}, {}, 1, waits)
    trial = with_canaries(progress, look, 9).trial
    if trial is None:
        return [], []
    pairs = trial.scored.recent
    control = [*(pair.control for pair in pairs), *(unit.control for unit in trial.alone.controls)]
    return control, [*(pair.treatment for pair in pairs), *(unit.treatment for unit in trial.alone.treatments)]


def test_members_that_were_moved_are_compared_within_their_group() -> None:
    """With those of it that were not."""
    part, seen = share_moved("m1")
    control, treatment = seen_by_judge(part, seen, waited("a", 6_000, 10, 20, 10))
    assert (control, treatment) == ([(0.01, 0.01)], [(0.02,)])


def test_members_that_joined_after_the_move_are_of_neither_arm() -> None:
    """In a rolling restart they are all of the others, and joining takes long: any move would pass."""
    part, seen = share_moved("m1")
    control, treatment = seen_by_judge(part, seen, waited("a", 6_000, 10, 20, 10, 9_000, 9_000))
    assert (control, treatment) == ([(0.01, 0.01)], [(0.02,)])
    strangers = Waited(GroupId("a"), 7_000, ((MemberId("new"), 9_000),))
    assert seen_by_judge(part, seen, strangers) == ([], [])


@pytest.mark.parametrize("members", [("m0", "m1"), ()])
def test_group_whose_further_share_was_refused_is_of_neither_arm(members: tuple[str, ...]) -> None:
    """Its last order names members that have not moved, until it is given again."""
    part, seen = share_moved(*members)
    refused = replace(part, percent_ordered=100, refusals=1)
    assert seen_by_judge(refused, seen, waited("a", 6_000, 10, 20, 10)) == ([], [])
    assert seen_by_judge(replace(refused, percent=100), seen, waited("a", 6_000, 10, 20, 10)) != ([], [])


@pytest.mark.parametrize(
    ("members", "missing"),
    [
        (("m0", "m1"), ""),
        ((), ""),
        (("m0", "new"), "no member that was moved is left"),
        (("m1", "new"), "no member is left that was there and was not moved"),
    ],
)
def test_arm_without_members_is_told(members: tuple[str, ...], missing: str) -> None:
    """But for a group that is empty or not heard, which may come back, and where other groups are there instead."""
    part, seen = share_moved("m1")
    look = GroupsSeen({part.group_id: replace(seen, members=tuple(map(MemberId, members)))}, {}, 1)
    assert missing_arm(Progress(JUDGED, (part,)), look) == missing
    assert missing_arm(Progress(JUDGED, (part,)), GroupsSeen({}, {}, 1)) == ""
    assert missing_arm(Progress(PLAN, (part,)), look) == ""
    assert missing_arm(replace(judged_after(40, 20), plan=JUDGED), look) == ""
    is_still = missing_arm(Progress(JUDGED, (part, Part(group_id=GroupId("b")))), look)
    assert is_still == (missing if "was moved" in missing and "not moved" not in missing else "")
    whole, _ = share_moved()
    assert missing_arm(Progress(JUDGED, (whole,)), look) == ""


def test_group_that_was_moved_is_compared_with_one_whose_turn_has_not_come() -> None:
    """Near in time."""
    part, seen = share_moved()
    control, treatment = seen_by_judge(part, seen, waited("a", 6_000, 10, 10), waited("b", 7_000, 30))
    assert (control, treatment) == ([(0.03,)], [(0.01, 0.01)])


def test_rebalances_of_neither_arm_are_left_out() -> None:
    """While a group moves, before its move was over, of a group that is none of the plan's, or that nobody is in."""
    part, seen = share_moved()
    strange = [waited("a", 4_999, 10), waited("x", 6_000, 10), waited("b", 6_000)]
    assert seen_by_judge(part, seen, *strange) == ([], [])
    on_the_way = Part(group_id=GroupId("a"), step=PartStep.MOVING, order=part.order)
    assert seen_by_judge(on_the_way, seen, waited("a", 6_000, 10)) == ([], [])
    restarted = SeenGroup(ZERO)
    assert seen_by_judge(part, restarted, waited("a", 3_999, 10), waited("a", 4_000, 10)) == ([], [(0.01,)])


def judged_after(count: int, moved_ms: int) -> Progress:
    """A plan whose judge has seen so many rebalances of a group half of which was moved."""
    part, seen = share_moved("m1")
    waits = tuple(waited("a", 6_000 + number, 10, moved_ms) for number in range(count))
    progress = Progress(JUDGED, (part,))
    return with_canaries(progress, GroupsSeen({part.group_id: seen}, {}, 1, waits), 9)


def test_moved_members_that_wait_longer_are_a_fault() -> None:
    """As soon as the judge is certain; the verdict tells the effect with its bounds."""
    part, seen = share_moved("m1")
    look = GroupsSeen({part.group_id: seen}, {}, 1)
    assert find_fault(judged_after(29, 20), 0, look, 9) is None
    fault = find_fault(judged_after(30, 20), 0, look, 9)
    assert fault is not None
    assert fault.ruling is Ruling.BROKEN
    assert fault.sentence.startswith("members that were moved wait longer than others: fail after 30 of 30 pairs; ")
    assert "+0.010 s longer on average" in fault.sentence


def test_plan_without_a_judge_sees_no_waits() -> None:
    """And says nothing of them."""
    part, seen = share_moved("m1")
    progress = Progress(PLAN, (part,))
    assert with_canaries(progress, GroupsSeen({part.group_id: seen}, {}, 1, (waited("a", 6_000, 1, 2),)), 9) is progress
    assert judge_said(progress) == ""
    assert judge_said(Progress(JUDGED, ())).startswith("not enough yet (0 pairs")


def test_stage_waits_for_a_judge_that_may_become_certain() -> None:
    """If the plan says so, and somebody is left to compare with."""
    patient = replace(JUDGED, conditions=Conditions(judge=Judge(undecided=Undecided.WAIT)))
    part, _ = share_moved("m1")
    assert waits_for_judge(Progress(patient, (part,)))
    assert not waits_for_judge(Progress(JUDGED, (part,)))
    assert not waits_for_judge(replace(judged_after(40, 20), plan=patient))
    whole, _ = share_moved()
    assert waits_for_judge(Progress(patient, (whole, Part(group_id=GroupId("b")))))
    assert not waits_for_judge(Progress(patient, (whole,)))
