"""Token files: what is taken, and what is told without showing it."""

import logging
from dataclasses import replace
from pathlib import Path

import pytest

from bridge.admin.tokens import TokenPair
from bridge.app.admin_tokens import read_admin_tokens, renew_admin_tokens
from bridge.config.faults import ConfigError
from bridge.config.keys import Settings

TOKEN = "0123456789abcdef"


def written(path: Path, text: str | bytes) -> str:
    """The path of a file that holds this."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def test_tokens_are_what_the_files_hold_without_line_ends(tmp_path: Path) -> None:
    """Of both roles; none where no file is named."""
    order, read = written(tmp_path / "o", f"{TOKEN}\n"), written(tmp_path / "r", f"{TOKEN}r")
    tokens = read_admin_tokens(replace(Settings(), admin_token_path=order, admin_token_read_path=read))
    assert tokens.pair == TokenPair(TOKEN.encode(), f"{TOKEN}r".encode())
    assert not read_admin_tokens(Settings()).has_any()


@pytest.mark.parametrize(
    "text", ["", "short", f"{TOKEN} {TOKEN}", f"{TOKEN}\n{TOKEN}", f"{TOKEN}é", f"{TOKEN}".encode() + b"\xff"]
)
def test_what_is_no_token_is_told_and_not_shown(tmp_path: Path, text: str | bytes) -> None:
    """The sentence names the file and how to make a good one."""
    path = written(tmp_path / "o", text)
    with pytest.raises(ConfigError, match=r"admin\.token\.path") as refused:
        read_admin_tokens(replace(Settings(), admin_token_path=path))
    assert path in str(refused.value)
    assert TOKEN not in str(refused.value)
    assert "short" not in str(refused.value).replace("too short", "")


def test_one_token_is_not_for_both_roles(tmp_path: Path) -> None:
    """Readers could give orders."""
    path = written(tmp_path / "o", TOKEN)
    with pytest.raises(ConfigError, match=r"holds the token of admin\.token\.path"):
        read_admin_tokens(replace(Settings(), admin_token_path=path, admin_token_read_path=path))


def test_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    """With the reason."""
    with pytest.raises(ConfigError, match="can't be read: No such file"):
        read_admin_tokens(replace(Settings(), admin_token_read_path=str(tmp_path / "none")))


def test_tokens_are_read_again_in_place(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Those who hold them see what the files hold by now; what can't be used changes nothing, and is an error."""
    path = written(tmp_path / "o", TOKEN)
    settings = replace(Settings(), admin_token_path=path)
    tokens = read_admin_tokens(settings)
    assert not renew_admin_tokens(settings, tokens)
    written(tmp_path / "o", TOKEN[::-1])
    assert "count from now on" in renew_admin_tokens(settings, tokens)
    assert tokens.pair.order == TOKEN[::-1].encode()
    written(tmp_path / "o", "short")
    assert caplog.records == []
    assert "the tokens of before count on" in renew_admin_tokens(settings, tokens)
    (line,) = caplog.records
    assert line.levelno == logging.ERROR
    assert line.getMessage().startswith("EB-APP-008: ")
    assert "too short for a token" in line.getMessage()
    assert tokens.pair.order == TOKEN[::-1].encode()
