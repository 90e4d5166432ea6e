"""Asking a bridge where its events are."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError

import click
import pytest
from click.testing import CliRunner

from bridge.admin.bridge_option import TOKEN
from bridge.telemetry.report.command import report
from bridge.telemetry.trace.command import trace
from bridge.telemetry.trace.selection import NothingToShow, find_folder
from tests.support.http_answers import Answers, serving


@contextmanager
def answering(body: bytes, authorization: str | None = None) -> Iterator[str]:
    """Something at a port of loopback that gives this answer to whoever asks for `/events` with that; its address."""

    class Answer(Answers):
        def do_GET(self) -> None:
            is_allowed = authorization in (None, self.headers["authorization"])
            self.send_response(404 if self.path != "/events" else 200 if is_allowed else 401)
            self.end_headers()
            self.wfile.write(body)

    with serving(Answer) as address:
        yield address


def test_bridge_names_its_folder() -> None:
    """As the admin API tells."""
    with answering(json.dumps({"path": "/var/events"}).encode()) as admin:
        assert find_folder(admin) == Path("/var/events")


def test_bridge_without_event_log_is_told() -> None:
    """The next step is to start it with one."""
    with answering(b'{"path":""}') as admin, pytest.raises(NothingToShow, match=r"EB-TRACE-006.*--events DIR"):
        find_folder(admin)


def test_no_bridge_is_told() -> None:
    """Nobody there, no JSON, or no address."""
    with answering(b"hello") as admin, pytest.raises(NothingToShow, match="EB-TRACE-005"):
        find_folder(admin)
    with pytest.raises(NothingToShow, match=r"EB-TRACE-005[^<]*refused"):
        find_folder(admin)
    with pytest.raises(NothingToShow, match="EB-TRACE-005"):
        find_folder("file:///etc/passwd")


def test_bridge_that_wants_a_token_is_asked_with_it() -> None:
    """And told of without."""
    with answering(b'{"path":"/var/events"}', "Bearer a-token") as admin:
        TOKEN.set("")  # commands of other tests, run in this thread, leave theirs
        with pytest.raises(NothingToShow, match=r"EB-TRACE-005.*401.*--admin-token-path") as told:
            find_folder(admin)
        answer = told.value.__context__
        assert isinstance(answer, HTTPError)
        assert answer.fp.closed, "its connection is kept until Python collects it"
        reset = TOKEN.set("a-token")
        try:
            assert find_folder(admin) == Path("/var/events")
        finally:
            TOKEN.reset(reset)


@pytest.mark.parametrize("command", [trace, report])
def test_commands_read_the_token_of_a_file(command: click.Command, tmp_path: Path) -> None:
    """By option or variable, as all commands that ask a bridge; what is no token is told and not shown."""
    path = tmp_path / "token"
    path.write_text("a-token\n", encoding="ascii")
    with answering(b'{"path":"/nowhere"}', "Bearer a-token") as admin:
        words = ["orders", "--admin", admin]
        ran = CliRunner().invoke(command, [*words, "--admin-token-path", str(path)])
        assert "EB-TRACE-001" in ran.output
        ran = CliRunner(env={"EPOCHBRIDGE_ADMIN_TOKEN_FILE": str(path)}).invoke(command, words)
        assert "EB-TRACE-001" in ran.output
        path.write_text("my secret", encoding="ascii")
        ran = CliRunner().invoke(command, [*words, "--admin-token-path", str(path)])
    assert (ran.exit_code, "EB-ADMIN-019" in ran.output, "secret" in ran.output) == (1, True, False)
