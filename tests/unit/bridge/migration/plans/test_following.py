"""What becomes of a plan's groups, one look at a time."""

from dataclasses import replace

import pytest

from bridge.migration.orders import MoveOrder, MoveProgress, MoveStage, Obstacle
from bridge.migration.patterns import Pattern
from bridge.migration.plans.conditions import Figures
from bridge.migration.plans.following import REASON_CHARS_MAX, follow, note, with_controls
from bridge.migration.plans.values import (
    CONTROLS_MAX,
    REFUSALS_MAX,
    VERDICTS_MAX,
    GroupsSeen,
    Part,
    PartStep,
    Plan,
    PlanVerdict,
    Progress,
    Ruling,
    SeenGroup,
)
from bridge.migration.route import Road
from translators.dialects.ids import GroupId, MemberId

PLAN = Plan(name="p", destination=Road.EMBEDDED, groups=(Pattern("*"),))
NOW = Figures(at_ms=7)


def test_only_so_many_verdicts_are_kept() -> None:
    """The last ones."""
    told = [PlanVerdict(number, 0, Ruling.TOLD, "") for number in range(VERDICTS_MAX + 3)]
    assert note(Progress(PLAN, ()), *told).verdicts == tuple(told[3:])


def test_stage_is_compared_with_groups_that_are_not_moved() -> None:
    """Those of the plan come first, then others; so many, and those that are there; and they stay the same."""
    waiting, gone = Part(group_id=GroupId("waits")), Part(group_id=GroupId("gone"))
    others = {GroupId(f"o-{number:02}"): NOW for number in range(CONTROLS_MAX)}
    looked = GroupsSeen({GroupId("waits"): SeenGroup(NOW)}, others, room=1)
    progress = with_controls(Progress(PLAN, (waiting, gone)), looked)
    assert [control.group_id for control in progress.controls] == ["waits", *list(others)[:-1]]
    assert with_controls(progress, GroupsSeen({}, {}, room=1)) == progress


def test_group_that_could_not_be_moved_says_why() -> None:
    """That nothing was changed told nobody what to do; a reason has an end, for it is kept in the journal."""
    order = MoveOrder(GroupId("g"), Road.EMBEDDED)
    obstacles = (Obstacle("EB-MOVE-132", "one member is elsewhere", "lead it here"), Obstacle("EB-X", "x" * 9_999, ""))
    move = MoveProgress(order, Road.PASS, MoveStage.REFUSED, 5, verdict="not begun", obstacles=obstacles)
    part = Part(group_id=GroupId("g"), step=PartStep.MOVING, order=order, ordered_ms=4)
    (found,) = follow(
        Progress(PLAN, (part,)), 0, GroupsSeen({GroupId("g"): SeenGroup(NOW, move=move)}, {}, room=1), 9
    ).parts
    assert found.reason.startswith("not begun; EB-MOVE-132: one member is elsewhere; EB-X: xxx")
    assert len(found.reason) == REASON_CHARS_MAX


@pytest.mark.parametrize(
    ("percent", "members", "codes", "step"),
    [
        (25, ("a",), ("EB-MOVE-103",), PartStep.MOVED),
        (25, ("a",), ("EB-MOVE-103", "EB-MOVE-219"), PartStep.REFUSED),
        (25, ("a",), (), PartStep.REFUSED),
        (25, (), ("EB-MOVE-103",), PartStep.REFUSED),
        (0, ("a",), ("EB-MOVE-103",), PartStep.REFUSED),
    ],
    ids=["there or gone", "others stay", "no reason", "whole group", "first stage"],
)
def test_stage_whose_members_are_there_already_is_made(
    percent: int, members: tuple[str, ...], codes: tuple[str, ...], step: PartStep
) -> None:
    """A share of few members is often that of the stage before: such a group was refused, and left out for good."""
    order = MoveOrder(GroupId("g"), Road.UPSTREAM, tuple(map(MemberId, members)))
    obstacles = tuple(Obstacle(code, "", "") for code in codes)
    move = MoveProgress(order, Road.PASS, MoveStage.REFUSED, 5, obstacles=obstacles)
    part = Part(
        group_id=GroupId("g"),
        step=PartStep.MOVING,
        order=order,
        ordered_ms=4,
        percent=percent,
        percent_ordered=30,
        refusals=REFUSALS_MAX - 1,
    )
    (found,) = follow(
        Progress(PLAN, (part,)), 0, GroupsSeen({GroupId("g"): SeenGroup(NOW, move=move)}, {}, room=1), 9
    ).parts
    assert found.step is step
    assert found.percent == (30 if step is PartStep.MOVED else percent)


def test_way_back_whose_members_are_back_or_gone_is_made() -> None:
    """They were said not to be brought back."""
    order = MoveOrder(GroupId("g"), Road.PASS, (MemberId("a"),))
    nobody = Obstacle("EB-MOVE-103", "", "")
    move = MoveProgress(order, Road.PASS, MoveStage.REFUSED, 5, obstacles=(nobody,))
    part = Part(group_id=GroupId("g"), step=PartStep.RETURNING, order=order, ordered_ms=4, percent=30)
    (found,) = follow(
        Progress(PLAN, (part,)), 0, GroupsSeen({GroupId("g"): SeenGroup(NOW, move=move)}, {}, room=1), 9
    ).parts
    assert (found.step, found.percent) == (PartStep.RETURNED, 0)


@pytest.mark.parametrize(("is_resumed", "step"), [(True, PartStep.WAITING), (False, PartStep.LEFT)])
def test_way_that_was_cut_off_in_its_middle_is_ordered_again(*, is_resumed: bool, step: PartStep) -> None:
    """A bridge that was killed on the way from upstream to embedded ends on pass: it was taken for an operator's word,
    and the group was left there, also when all were to be brought back.
    """
    order = MoveOrder(GroupId("g"), Road.EMBEDDED)
    part = Part(group_id=GroupId("g"), step=PartStep.MOVING, order=order, ordered_ms=4)
    going_on = MoveProgress(
        replace(order, destination=Road.PASS), Road.UPSTREAM, MoveStage.MOVING, 5, is_resumed=is_resumed
    )
    found = [
        follow(Progress(PLAN, (part,)), 0, GroupsSeen({GroupId("g"): SeenGroup(NOW, move=move)}, {}, room=1), 9).parts[
            0
        ]
        for move in (going_on, replace(going_on, stage=MoveStage.DONE))
    ]
    assert [one.step for one in found] == [PartStep.MOVING if is_resumed else step, step]
    assert [(one.origin, one.refusals) for one in found] == (
        [(Road.UPSTREAM, 0), (Road.UPSTREAM, 1)] if is_resumed else [(None, 0)] * 2
    )
