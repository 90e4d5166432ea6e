"""How far a move is, from its order to its verdict."""

from bridge.coordinators.moving.progress import Progress
from bridge.coordinators.moving.survey import survey
from bridge.migration.orders import MemberStage, MoveOrder, MoveStage, Obstacle
from bridge.migration.roster import Roster
from bridge.migration.route import Road
from tests.support.moving_world import described
from tests.support.owned_group import GROUP
from translators.dialects.ids import MemberId

ORDER = MoveOrder(GROUP, Road.UPSTREAM)
OBSTACLE = Obstacle("EB-MOVE-103", "nobody is there", "wait")


def test_progress_of_a_move_that_is_made() -> None:
    """Members that are not of the move are not noted."""
    progress = Progress(ORDER, Road.PASS, iter((10, 20)).__next__)
    assert (progress.now.stage, progress.now.started_ms) == (MoveStage.PREPARING, 10)
    progress.begin(survey(described({"a": frozenset()}), Roster()).members)
    assert (progress.now.stage, progress.now.count(MemberStage.WAITING)) == (MoveStage.MOVING, 1)
    progress.note(MemberId("a"), MemberStage.MOVED, "noticed nothing")
    progress.note(MemberId("b"), MemberStage.GONE)
    progress.end(MoveStage.DONE, "all moved")
    now = progress.now
    assert (now.stage, now.verdict, now.ended_ms) == (MoveStage.DONE, "all moved", 20)
    assert [(one.member_id, one.stage, one.detail) for one in now.members] == [
        ("a", MemberStage.MOVED, "noticed nothing")
    ]


def test_progress_of_a_move_that_is_refused() -> None:
    """The obstacles say why."""
    progress = Progress(ORDER, Road.PASS, iter((10, 20)).__next__)
    progress.refuse((OBSTACLE,), "not begun")
    now = progress.now
    assert (now.stage, now.obstacles, now.verdict, now.ended_ms) == (MoveStage.REFUSED, (OBSTACLE,), "not begun", 20)
