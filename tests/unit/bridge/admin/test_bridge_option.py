"""Every command that asks a running bridge takes its address and its token the same way."""

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from bridge.admin.bridge_option import ADMIN_DEFAULT, TOKEN, NoToken, bring_token
from bridge.cli.main import cli


@pytest.fixture(autouse=True)
def no_token() -> Iterator[None]:
    """What one test brought is not there for the next."""
    reset = TOKEN.set("")
    yield
    TOKEN.reset(reset)


def test_token_of_a_file_is_shown_from_then_on(tmp_path: Path) -> None:
    """Without the end of its line; without a file nothing is shown."""
    path = tmp_path / "token"
    path.write_text("a-token\n", encoding="ascii")
    bring_token(str(path))
    assert TOKEN.get() == "a-token"
    bring_token("")
    assert TOKEN.get() == ""


@pytest.mark.parametrize("content", [b"my secret", "geh\N{LATIN SMALL LETTER E WITH ACUTE}im".encode(), b"a\nsecret"])
def test_what_is_no_token_is_told_and_not_shown(tmp_path: Path, content: bytes) -> None:
    """It may be a key, where the wrong file was named."""
    path = tmp_path / "token"
    path.write_bytes(content)
    with pytest.raises(NoToken, match="EB-ADMIN-019") as refused:
        bring_token(str(path))
    assert "secret" not in str(refused.value)
    with pytest.raises(NoToken, match=r"EB-ADMIN-019.*No such file"):
        bring_token(str(tmp_path / "none"))


def commands_below(command: click.Command) -> Iterator[click.Command]:
    """The command with its subcommands, at any depth."""
    yield command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            if (below := command.get_command(context, name)) is not None:
                yield from commands_below(below)


def test_commands_ask_the_same_bridge_with_the_same_token() -> None:
    """Address and token have one name, variable and default, whichever room the command is of.

    `serve` is told by `--admin` where to listen: it asks nobody.
    """
    asking = [
        {option.name: option for option in command.params}
        for command in commands_below(cli)
        if command.name != "serve" and any(option.name == "admin" for option in command.params)
    ]
    assert len(asking) > 10
    for options in asking:
        admin, token = options["admin"], options["admin_token_path"]
        assert (admin.opts, admin.envvar, admin.default) == (["--admin"], "EPOCHBRIDGE_ADMIN", ADMIN_DEFAULT)
        assert (token.opts, token.envvar) == (["--admin-token-path"], "EPOCHBRIDGE_ADMIN_TOKEN_FILE")
