"""The two things that can be asked of a move's value."""

from bridge.migration.orders import MemberProgress, MemberStage, MoveOrder, MoveProgress, MoveStage
from bridge.migration.route import Road
from translators.dialects.ids import GroupId, MemberId


def test_three_stages_are_the_last() -> None:
    """Of all others something comes after them."""
    assert {stage for stage in MoveStage if stage.has_ended} == {MoveStage.DONE, MoveStage.STOPPED, MoveStage.REFUSED}


def test_members_are_counted_by_stage() -> None:
    """As pages and plans ask for it."""
    stages = [MemberStage.MOVED, MemberStage.WAITING, MemberStage.MOVED]
    members = tuple(MemberProgress(MemberId(f"m{n}"), "app", "/10.0.0.1", stage) for n, stage in enumerate(stages))
    order = MoveOrder(GroupId("g"), Road.UPSTREAM)
    progress = MoveProgress(order, Road.PASS, MoveStage.MOVING, started_ms=0, members=members)
    assert [progress.count(stage) for stage in (MemberStage.MOVED, MemberStage.WAITING, MemberStage.GONE)] == [2, 1, 0]
