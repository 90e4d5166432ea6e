"""`serve`: options into a configuration, and the real process that it starts."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import pytest

from bridge.app.composition import AppError
from bridge.cli.main import run
from bridge.cli.serve import WrongConfiguration, announce, read_config, with_code
from bridge.config.configuration import GroupRule
from bridge.config.faults import ConfigError, Fault, FaultCode
from bridge.demo.services import free_place
from bridge.migration.route import Road
from tests.support.ports import free_port

WAIT_S = 90


def closed_port() -> str:
    """An address where nobody listens."""
    return f"127.0.0.1:{free_port()}"


@contextmanager
def serving(*options: str) -> Iterator["subprocess.Popen[str]"]:
    """`epochbridge serve` as a process, killed if the block leaves it running."""
    process = subprocess.Popen(
        [sys.executable, "-m", "bridge", "serve", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=WAIT_S)


def test_quick_form_becomes_settings_and_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Options count more than --set, and those more than the environment."""
    monkeypatch.setenv("EPOCHBRIDGE_LISTEN", "127.0.0.1:1")
    monkeypatch.setenv("EPOCHBRIDGE_LIMITS_IDLE_MS", "77")
    config = read_config(
        None,
        {
            "bootstrap": "a:1,b:2",
            "listen": "127.0.0.1:3",
            "admin": "off",
            "events": "log",
            "recover": True,
            "globs": ("orders-*", "x"),
            "assignments": ("listen=127.0.0.1:2", "drain.timeout.ms=5"),
        },
    )
    settings = config.settings
    assert (settings.bootstrap, settings.listen, settings.admin_listen) == (("a:1", "b:2"), "127.0.0.1:3", "off")
    assert (settings.drain_timeout_ms, settings.limits_idle_ms, settings.journal_recover) == (5, 77, True)
    assert settings.events_path == "log"
    assert config.rules == (GroupRule("orders-*", Road.EMBEDDED), GroupRule("x", Road.EMBEDDED))


def test_quick_rules_come_before_those_of_the_file(tmp_path: Path) -> None:
    """The first rule that matches counts."""
    path = tmp_path / "bridge.yaml"
    path.write_text("bootstrap: h:1\ngroups:\n  - {match: a, road: pass}\n")
    config = read_config(path, {"globs": ("a",)})
    assert [rule.road for rule in config.rules] == [Road.EMBEDDED, Road.PASS]


def test_no_broker_is_called_wrongly() -> None:
    """EB-CLI-002 names both forms."""
    with pytest.raises(click.UsageError, match=r"EB-CLI-002: .*--config FILE.*--bootstrap HOST:PORT"):
        read_config(None, {})


def test_wrong_setting_is_called_wrongly(capsys: pytest.CaptureFixture[str]) -> None:
    """Status 2 and every fault."""
    assert run(["serve", "--bootstrap", "h:1", "--set", "no.such=1", "--set", "nothing"]) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("Error: EB-CLI-005: the configuration can't be used:\n  command line: ")
    assert ("no.such" in shown, "no `=` in it" in shown) == (True, True)


def test_fault_is_told_where_its_key_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By who gave it last: who judges addresses sees values alone, and said that they were of the configuration."""
    file = tmp_path / "b.yaml"
    file.write_text("bootstrap: nope\nlisten: none\nadmin.listen: nothing\n", encoding="utf-8")
    monkeypatch.setenv("EPOCHBRIDGE_LISTEN", "nowhere")
    assert run(["serve", "--config", str(file), "--admin", "nobody"]) == 2
    told = [line.strip().partition(" is no address")[0] for line in capsys.readouterr().err.splitlines()[1:]]
    assert sorted(told) == sorted(
        [
            f"{file}:1: bootstrap: 'nope'",
            "environment: EPOCHBRIDGE_LISTEN: listen: 'nowhere'",
            "command line: admin.listen: 'nobody'",
        ]
    )


def test_configuration_error_lists_every_fault() -> None:
    """One line each."""
    fault = Fault(code=FaultCode.MISSING, source="s", key="k", seen="x", allowed="y")
    wrong = WrongConfiguration(ConfigError([fault, fault]))
    assert (wrong.exit_code, wrong.format_message().count(f"\n  {fault}")) == (2, 2)


def test_app_error_has_its_code_once() -> None:
    """Whether or not its text has one."""
    assert with_code(AppError("EB-NET-020: taken")) == "EB-NET-020: taken"
    assert with_code(AppError("taken")) == "EB-APP-001: taken"


def test_ready_line_is_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    """Those who started the bridge wait for it."""
    announce("epochbridge ready: clients 127.0.0.1:9192")
    assert capsys.readouterr().out == "epochbridge ready: clients 127.0.0.1:9192\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_served_bridge_says_what_it_waits_for_and_ends_quietly(number: signal.Signals) -> None:
    """Status 0, one line on standard output while no broker answers, JSON on standard error."""
    place = free_place()
    with serving("--bootstrap", closed_port(), "--listen", place.listen, "--admin", place.admin) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(f"epochbridge waits: clients {place.listen}, admin ")
        os.kill(process.pid, number)
        rest, log = process.communicate(timeout=WAIT_S)
    assert (process.returncode, rest, "Traceback" in log) == (0, "", False)
    assert {"level", "logger", "event", "timestamp"} <= set.intersection(
        *(set(json.loads(x)) for x in log.splitlines())
    )


def test_served_bridge_is_asked_by_groups_and_describe(capsys: pytest.CaptureFixture[str]) -> None:
    """Through its real admin API: no group yet, and a sentence for one that is not there."""
    place = free_place()
    with serving("--bootstrap", closed_port(), "--listen", place.listen, "--admin", place.admin) as process:
        assert process.stdout is not None
        assert f", admin {place.admin}; the cluster can't be worked with: " in process.stdout.readline()
        assert run(["groups", "--admin", place.admin]) == 0
        assert run(["groups", "--json", "--admin", place.admin]) == 0
        assert run(["describe", "orders", "--admin", f"http://{place.admin}"]) == 1
        os.kill(process.pid, signal.SIGTERM)
        process.communicate(timeout=WAIT_S)
    shown = capsys.readouterr()
    assert shown.out == (
        "The bridge coordinates no group yet: a group appears with its first member; `epochbridge census` shows those "
        'on road pass.\n{"groups":[]}\n'
    )
    assert shown.err.startswith("Error: EB-ADMIN-004: the bridge coordinates no group 'orders'; ")


def test_unread_answer_does_not_keep_a_served_bridge_from_ending() -> None:
    """SIGTERM ends it although somebody asked for figures and walked away."""
    place = free_place()
    host, _, port = place.admin.rpartition(":")
    with serving("--bootstrap", closed_port(), "--listen", place.listen, "--admin", place.admin) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with socket.create_connection((host, int(port))) as idle, socket.create_connection((host, int(port))) as asking:
            asking.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
            idle.sendall(b"GET /groups")
            os.kill(process.pid, signal.SIGTERM)
            process.communicate(timeout=WAIT_S)
    assert process.returncode == 0


def test_taken_port_is_a_failure_with_a_sentence() -> None:
    """Status 1, a code, no traceback."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with serving("--bootstrap", closed_port(), "--listen", address, "--admin", "off") as process:
            shown, log = process.communicate(timeout=WAIT_S)
    assert (process.returncode, shown, "Traceback" in log) == (1, "", False)
    assert log.splitlines()[-1].startswith("Error: EB-")
    assert address in log.splitlines()[-1]
