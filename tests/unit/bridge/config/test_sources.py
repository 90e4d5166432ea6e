"""What an operator says besides the file."""

from pathlib import Path

import pytest

from bridge.config.configuration import GroupRule
from bridge.config.sources import quick_rules, read_environment, state_folder
from bridge.migration.route import Road


def test_environment_is_read_at_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not at import."""
    monkeypatch.setenv("EPOCHBRIDGE_LISTEN", "127.0.0.1:9999")
    assert read_environment()["EPOCHBRIDGE_LISTEN"] == "127.0.0.1:9999"


def test_state_is_kept_where_the_environment_says() -> None:
    """systemd's folder, else XDG's, else the one that XDG names; a relative path is ignored, as XDG demands."""
    assert state_folder({"STATE_DIRECTORY": "/var/lib/a:/var/lib/b", "XDG_STATE_HOME": "/x"}) == Path("/var/lib/a")
    assert state_folder({"XDG_STATE_HOME": "/x"}) == Path("/x/epochbridge")
    usual = Path.home() / ".local" / "state" / "epochbridge"
    assert (state_folder({}), state_folder({"XDG_STATE_HOME": "x"})) == (usual, usual)


def test_globs_become_rules_in_order() -> None:
    """The first rule that matches counts, so order is kept."""
    assert quick_rules(["a-*"], ["*"]) == (GroupRule("a-*", Road.EMBEDDED), GroupRule("*", Road.UPSTREAM))
