"""`move` and `moves` against a real admin API."""

import json
from collections.abc import Iterator

import pytest
from click.testing import CliRunner, Result

from bridge.admin import move_command
from bridge.admin.client import NoAnswer
from bridge.admin.move_command import BEGIN_LOOKS_MAX, UNANSWERED_MAX, Wait, move, moves, wait_frames
from bridge.migration.orders import MoveOrder
from bridge.migration.route import Road
from tests.support.admin_served import admin_api
from tests.support.admin_views import RememberingScreen
from tests.support.obedient_moves import STUCK, ObedientMoves, begun, done, moving, refused, stopped
from translators.dialects.ids import GroupId, MemberId

PAYMENTS = GroupId("payments")
TO = ("--to", "upstream")


def run(*arguments: str, screen: RememberingScreen | None = None) -> Result:
    """One call of `move`."""
    return CliRunner().invoke(move, list(arguments), obj=screen or RememberingScreen())


def test_move_begins_and_the_command_returns() -> None:
    """As soon as it has begun; what is ordered is what was written, and the members are as they are."""
    servant, screen = ObedientMoves(turns=(lambda move: move, moving)), RememberingScreen()
    with admin_api(moves=servant) as address:
        ran = run("payments", *TO, "--member", "m-1", "--allow-rebalance", "--admin", address, screen=screen)
    assert ran.exit_code == 0
    assert servant.orders == [MoveOrder(PAYMENTS, Road.UPSTREAM, (MemberId("m-1"),), allow_rebalance=True)]
    assert screen.lines[:2] == ["group payments: pass -> upstream, moving: asking the broker", "members: 2 waiting"]
    assert "`epochbridge moves`" in screen.lines[2]
    assert screen.rows == [[f"m-{n}", f"client of m-{n}", "/10.0.0.1", "waiting"] for n in (1, 2)]


def test_dry_run_shows_obstacles_and_remedies() -> None:
    """Status 1: it can't be made. The same order without obstacles: status 0, and nothing has begun either time."""
    servant, screen = ObedientMoves(), RememberingScreen()
    with admin_api(moves=servant) as address:
        cannot = run(STUCK, *TO, "--dry-run", "--wait", "--admin", address, screen=screen)
        can = run("payments", *TO, "--dry-run", "--admin", address)
    assert (cannot.exit_code, can.exit_code, servant.orders) == (1, 0, [])
    assert screen.lines[1:3] == [
        "EB-MOVE-001 (member m-2): user data can't be rewritten",
        "  remedy: play it again later",
    ]


def test_waiting_ends_with_the_move(monkeypatch: pytest.MonkeyPatch) -> None:
    """Status 0 when it is done, 1 when it has stopped; programs get the last answer alone."""
    monkeypatch.setattr(move_command, "LOOK_S", 0.01)
    screen = RememberingScreen()
    with admin_api(moves=ObedientMoves(turns=(lambda move: move, done))) as address:
        assert run("payments", *TO, "--wait", "--admin", address, screen=screen).exit_code == 0
    assert screen.lines == ["group payments: pass -> upstream, done: nobody noticed", "members: 2 moved"]
    with admin_api(moves=ObedientMoves(turns=(stopped,))) as address:
        ran = run("payments", *TO, "--wait", "--json", "--admin", address)
    assert (ran.exit_code, json.loads(ran.output)["stage"]) == (1, "stopped")


def test_refused_order_is_a_failure() -> None:
    """Status 1, waiting or not."""
    with admin_api(moves=ObedientMoves()) as address:
        assert [run(STUCK, *TO, *more, "--admin", address).exit_code for more in ([], ["--wait"])] == [1, 1]


def test_order_that_is_refused_after_a_look_is_a_failure_for_who_does_not_wait() -> None:
    """The bridge asks brokers first: all that a script heard of a group without members was status 0, `preparing`."""
    with admin_api(moves=ObedientMoves(turns=(lambda move: move, refused))) as address:
        assert run("payments", *TO, "--admin", address).exit_code == 1


def test_order_that_is_long_looked_at_returns_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind a restart members are waited for: it is said that it goes on."""
    monkeypatch.setattr(move_command, "BEGIN_LOOK_S", 0)
    servant, screen = ObedientMoves(turns=(lambda move: move,)), RememberingScreen()
    with admin_api(moves=servant) as address:
        assert run("payments", *TO, "--admin", address, screen=screen).exit_code == 0
    assert (servant.looks, screen.lines[-1].startswith("it goes on")) == (BEGIN_LOOKS_MAX, True)


def test_group_without_a_name_is_refused() -> None:
    """And one with a name that no broker takes, before it is asked for."""
    with admin_api(moves=ObedientMoves()) as address:
        refusals = [run(name, *TO, "--admin", address) for name in ("", "n" * 70_000)]
    assert [one.exit_code for one in refusals] == [1, 1]
    assert ["EB-ADMIN-009" in refusals[0].output, "EB-ADMIN-026" in refusals[1].output] == [True, True]


def test_move_is_ended() -> None:
    """Status 0 if one went on, 1 with the API's sentence if none did."""
    servant = ObedientMoves(moves={PAYMENTS: begun(MoveOrder(PAYMENTS, Road.PASS))})
    with admin_api(moves=servant) as address:
        ended = run("payments", "--stop", "--admin", address)
        again = run("payments", "--stop", "--admin", address)
    assert (ended.exit_code, again.exit_code, "EB-MOVE-301" in again.output) == (0, 1, True)


@pytest.mark.parametrize("arguments", [["g"], ["g", *TO, "--stop"], ["g", "--to", "kafka"], [*TO]])
def test_order_has_to_be_plain(arguments: list[str]) -> None:
    """Status 2."""
    assert run(*arguments).exit_code == 2


def test_moves_are_listed() -> None:
    """One row for each, or a sentence where there is none."""
    screen = RememberingScreen()
    servant = ObedientMoves(moves={PAYMENTS: done(begun(MoveOrder(PAYMENTS, Road.UPSTREAM)))})
    with admin_api(moves=servant) as address:
        assert CliRunner().invoke(moves, ["--admin", address], obj=screen).exit_code == 0
        told = CliRunner().invoke(moves, ["--admin", address, "--json"], obj=screen)
    assert screen.columns == ["GROUP", "FROM", "TO", "STAGE", "MOVED", "BEGAN", "VERDICT"]
    assert screen.rows == [
        ["payments", "pass", "upstream", "done", "2/2", "2023-11-14 22:13:20Z", "nobody noticed"],
    ]
    assert json.loads(told.output)["moves"][0]["group_id"] == "payments"
    with admin_api(moves=ObedientMoves()) as address:
        assert "No group has been moved" in CliRunner().invoke(moves, ["--admin", address], obj=screen).output


class AwayWait(Wait):
    """A wait for a bridge that does not answer so many times."""

    def __init__(self, times: int) -> None:
        super().__init__("", "payments", {"stage": "moving"}, b"")
        self._answers: Iterator[bool] = iter([False] * times + [True])

    def look(self) -> None:
        """As `Wait` does."""
        if not next(self._answers):
            raise NoAnswer("EB-ADMIN-011: no bridge answers")
        self.answer = {"stage": "done"}


def test_bridge_may_start_again_while_somebody_waits() -> None:
    """The last frame stays under the reason; away for too long is a failure."""
    frames = list(wait_frames(AwayWait(UNANSWERED_MAX - 1), lambda: None))
    assert (len(frames), frames[1][0][0]) == (UNANSWERED_MAX + 1, "EB-ADMIN-011: no bridge answers")
    with pytest.raises(NoAnswer):
        list(wait_frames(AwayWait(UNANSWERED_MAX), lambda: None))
