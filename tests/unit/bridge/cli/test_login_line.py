"""The command that makes lines of users: what it prints is read, and what it is given is not shown."""

import re
from pathlib import Path

import pytest

from bridge.cli.main import run
from bridge.session.kept_users import parse_users
from bridge.wire.sasl import Mechanism
from bridge.wire.scram import is_password


def test_lines_of_a_password_in_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without the end of its line."""
    path = tmp_path / "password"
    path.write_text("wonder\n", encoding="utf-8")
    assert run(["login-line", "alice", "--password-path", str(path)]) == 0
    shown = capsys.readouterr().out
    keys = parse_users(shown).keys_of("alice", Mechanism.PLAIN)
    assert keys is not None
    assert is_password(keys, "wonder")
    assert "wonder" not in shown


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "EB-CLI-015.*No such file"), (b"\xff", "EB-CLI-015.*no UTF-8"), (b"\n", "EB-CLI-015")],
)
def test_what_is_no_password_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None, said: str
) -> None:
    """With the next step."""
    path = tmp_path / "password"
    if content is not None:
        path.write_bytes(content)
    assert run(["login-line", "alice", "--password-path", str(path)]) == 1
    assert re.search(said, capsys.readouterr().err)


@pytest.mark.parametrize("name", ["", "a\nb", "a\u2028b", "a\0"])
def test_name_that_would_break_its_line_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """Its lines would make the whole file unreadable."""
    path = tmp_path / "password"
    path.write_text("wonder\n", encoding="utf-8")
    assert run(["login-line", name, "--password-path", str(path)]) == 1
    said = capsys.readouterr()
    assert (said.out, "EB-CLI-016" in said.err) == ("", True)
