"""`watch` against a real admin API, with a screen that only remembers."""

from collections.abc import Iterator

import pytest
from click.testing import CliRunner, Result

from bridge.admin.client import NoAnswer
from bridge.admin.watch_command import Frame, watch, watch_frames
from tests.support.admin_served import admin_api
from tests.support.admin_views import RememberingScreen

FRAME = Frame(("a",), ("M",), ())


def run(screen: RememberingScreen, *arguments: str) -> Result:
    """One call of the command."""
    return CliRunner().invoke(watch, list(arguments), obj=screen)


def test_group_watched_member_by_member() -> None:
    """Two answers, then it ends."""
    screen = RememberingScreen()
    with admin_api() as address:
        ran = run(screen, "orders-billing", "--admin", address, "--frames", "2", "--interval", "0.1")
    assert (ran.exit_code, [row[0] for row in screen.rows]) == (0, ["m-1", "m-2"])


def test_all_groups_watched_without_a_name() -> None:
    """One row for each group."""
    screen = RememberingScreen()
    with admin_api() as address:
        assert run(screen, "--admin", address, "--frames", "1").exit_code == 0
    assert screen.rows[0][0] == "orders-billing"


def test_no_bridge_at_first_is_a_failure() -> None:
    """Nothing to watch."""
    with admin_api() as address:
        pass
    ran = run(RememberingScreen(), "--admin", address)
    assert (ran.exit_code, "EB-ADMIN-011" in ran.output) == (1, True)


def test_bridge_that_goes_away_leaves_its_last_frame() -> None:
    """It may come back: the watch goes on."""

    def answers() -> Iterator[Frame | None]:
        yield from (FRAME, None, FRAME)

    coming = answers()

    def look() -> Frame:
        frame = next(coming)
        if frame is None:
            raise NoAnswer("gone")
        return frame

    pauses: list[int] = []
    frames = list(watch_frames(look, lambda: pauses.append(1), 3))
    assert frames == [FRAME, Frame(("gone", "a"), ("M",), ()), FRAME]
    assert len(pauses) == 2


def test_interval_must_be_sensible() -> None:
    """A bridge is not asked without pause."""
    assert run(RememberingScreen(), "--interval", "0").exit_code == 2


@pytest.mark.parametrize("count", [1, 3])
def test_frames_end_after_count(count: int) -> None:
    """As many as asked for."""
    assert len(list(watch_frames(lambda: FRAME, lambda: None, count))) == count
