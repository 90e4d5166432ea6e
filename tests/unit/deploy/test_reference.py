"""Generated pages say what this tree is, whatever of it is installed."""

from importlib.metadata import EntryPoint

import pytest

from bridge.cli import main as command_line
from bridge.cli.main import ENTRY_POINTS, cli
from deploy.reference import command_pages, declared_commands


def test_commands_of_a_stale_environment_are_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """It had no `status` yet, and the page made in it had none either."""

    def stale(*, group: str) -> list[EntryPoint]:
        return [EntryPoint("gone", "bridge.gone:gone", group)]

    monkeypatch.setattr(command_line, "entry_points", stale)
    pages = command_pages()
    for name in declared_commands():
        assert f"## `epochbridge {name}`" in pages
    assert "\n  status " in pages, "the list of commands has it, too"
    assert "gone" not in pages
    assert cli.registered is None


def test_commands_are_those_of_the_project() -> None:
    """What is declared is what is found where the tree is installed as it is."""
    assert {point.group for point in declared_commands().values()} == {ENTRY_POINTS}
    assert {"status", "move", "census"} <= declared_commands().keys()
