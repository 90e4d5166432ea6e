"""`check-config` over real files, once as a process."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bridge.cli.main import run
from bridge.session.kept_users import user_line
from bridge.wire.sasl import Mechanism
from bridge.wire.scram import make_keys
from tests.support.certificates import Authority

GOOD = """\
bootstrap: 127.0.0.1:9092
limits.idle.ms: 5000
groups:
  - match: "orders-*"
    road: embedded
"""
BAD = """\
bootstrap: ["127.0.0.1:9092", nope]
listen: 127.0.0.1:x
group.consumer.assignors: [uniform, wild]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where a test writes its configuration."""
    return tmp_path / "bridge.yaml"


def test_good_file_is_ok_and_summarised(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What differs from the defaults, and the rules."""
    file.write_text(GOOD)
    assert run(["check-config", str(file)]) == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines() == [
        f"{file}: ok",
        "  bootstrap: 127.0.0.1:9092",
        "  limits.idle.ms: 5000",
        "  groups orders-*: road embedded",
    ]
    assert shown.err == ""


def test_file_without_rules_says_what_that_means(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All groups pass."""
    file.write_text("bootstrap: h:1\n")
    assert run(["check-config", str(file)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "  no group rules: every group takes road pass"


def test_findings_about_rules_are_told_with_their_lines(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file can be used all the same; who wants none of them asks for status 1."""
    file.write_text(GOOD + '  - group: orders-1\n    road: pass\n  - regex: ".*"\n    road: embedded\n')
    assert [run(["check-config", str(file), *more]) for more in ([], ["--strict"])] == [0, 1]
    lines = capsys.readouterr().out.splitlines()
    assert lines[3:6] == [
        "  groups orders-*: road embedded",
        "  group orders-1: road pass",
        "  groups by regex .*: road embedded",
    ]
    assert [line.split(": ")[:2] for line in lines[6:8]] == [
        [f"  {file}:6", "finding EB-RULE-002"],
        [f"  {file}:8", "finding EB-RULE-001"],
    ]
    file.write_text(GOOD)
    assert run(["check-config", str(file), "--strict"]) == 0


def test_expression_that_can_not_be_read_is_a_fault(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the line of its rule."""
    file.write_text(GOOD + '  - regex: "a("\n    road: pass\n')
    assert run(["check-config", str(file)]) == 2
    assert f"  {file}:6: regex: 'a(': missing )" in capsys.readouterr().err


def test_faults_that_rooms_find_have_their_lines(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """File, line, key, value seen, what is allowed, code; status 2."""
    file.write_text(BAD)
    assert run(["check-config", str(file)]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines()[:-1] == [
        f"Error: EB-CLI-005: {file}: 3 faults",
        (
            f"  {file}:2: listen: '127.0.0.1:x' is no address; allowed: HOST:PORT; "
            "what follows the last colon is no port: write a number there [EB-CONFIG-004]"
        ),
        (
            f"  {file}:1: bootstrap: 'nope' is no address; allowed: HOST:PORT; "
            "the port is missing: write it after a colon, as in 'nope:9092' [EB-CONFIG-004]"
        ),
        (
            f"  {file}:3: group.consumer.assignors: no assignor is named 'wild'; allowed: range, uniform; "
            "write what is allowed, or take the key out to use its default [EB-CONFIG-004]"
        ),
    ]


def test_missing_broker_is_a_fault(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An empty file can't serve."""
    file.write_text("")
    assert run(["check-config", str(file)]) == 2
    assert "bootstrap: nothing is given" in capsys.readouterr().err


def test_environment_is_put_over_the_file(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As serve does, and the fault says where the value is from."""
    file.write_text(GOOD)
    monkeypatch.setenv("EPOCHBRIDGE_LIMITS_IDLE_MS", "soon")
    assert run(["check-config", str(file)]) == 2
    assert "  environment: limits.idle.ms: 'soon' is of another kind; " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "LOG_LEVEL=verbose",
            "'verbose' is none of the choices; allowed: `debug` or `info` or `warning` or `error`;",
        ),
        ("LOG_LEVEL=INFO", "perhaps it is misspelt: write `info` [EB-CONFIG-005]"),
        ("LOG_FORMAT=text", "'text' is none of the choices; allowed: `json` or `console`; write one of these, or"),
    ],
)
def test_what_the_environment_says_of_the_log_is_looked_at(
    said: str, told: str, file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`serve` refused what was called ok here."""
    variable, _, value = said.partition("=")
    monkeypatch.setenv(f"EPOCHBRIDGE_{variable}", value)
    for text, count in ((GOOD, "1 fault"), (GOOD + "no.such.key: 1\n", "2 faults")):
        file.write_text(text)
        assert run(["check-config", str(file)]) == 2
        lines = capsys.readouterr().err.splitlines()
        assert lines[0].endswith(count)
        assert f"environment: EPOCHBRIDGE_{variable}:" in lines[-2]
        assert told in lines[-2]
    monkeypatch.setenv(f"EPOCHBRIDGE_{variable}", "")
    file.write_text(GOOD)
    assert run(["check-config", str(file)]) == 0


def test_own_certificate_that_is_over_is_a_finding(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Clients were the first to say so, each in its own words."""
    path = Authority(file.parent).pair("127.0.0.1", is_expired=True)
    file.write_text(f"{GOOD}listen.tls: true\nlisten.tls.certificate.path: {path}\n")
    assert [run(["check-config", str(file), *strict]) for strict in ([], ["--strict"])] == [0, 1]
    seen = f"{file}:7: finding listen.tls.certificate.path: EB-NET-074: {path} was valid until 2020-02-01 00:00 UTC: "
    assert seen in capsys.readouterr().out


def test_own_certificate_that_names_other_hosts_is_a_finding(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Than the one that clients bootstrap to, or than any that the pattern stands for."""
    authority, text = Authority(file.parent), f"{GOOD}listen.tls: true\n"
    path = authority.pair("kafka.example", "*.brokers.example")
    named = f"{text}listen.tls.certificate.path: {path}\nadvertised.host: kafka.example\n"
    for written, said in (
        (named, ""),
        (named.replace("advertised.host: kafka.example", "advertised.host: other.example"), "than 'other.example',"),
        (f"{text}listen.tls.certificate.path: {path}\n", "than '127.0.0.1', which clients are told"),
        (f"{named}listen.sni.pattern: b{{id}}.brokers.example\n", ""),
        (f"{named}listen.sni.pattern: b{{id}}.kafka.example\n", "than 'b{id}.kafka.example' stands for"),
    ):
        file.write_text(written)
        assert run(["check-config", str(file)]) == 0
        told = capsys.readouterr().out
        start = f"{file}:7: finding listen.tls.certificate.path: EB-CONFIG-018: {path} names other hosts {said}"
        assert (start in told) is bool(said)
        assert ("EB-CONFIG-018" in told) is bool(said)


@pytest.mark.parametrize(("text", "status"), [(GOOD, 0), (BAD, 2)])
def test_configuration_may_come_through_a_pipe(tmp_path: Path, text: str, status: int) -> None:
    """As of a shell's `<(helm template …)`: it was read again for the lines of its keys, and waited for for ever."""
    os.mkfifo(path := tmp_path / "pipe")
    with ThreadPoolExecutor(1) as pool:
        pool.submit(path.write_text, text)
        assert run(["check-config", str(path)]) == status


def test_process_says_all_faults_and_ends_with_2(file: Path) -> None:
    """The real command."""
    file.write_text("bootstrap: h:1\nno.such.key: 1\nlimits.idle.ms: soon\n")
    ran = subprocess.run(
        [sys.executable, "-m", "bridge", "check-config", str(file)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    lines = ran.stderr.splitlines()
    assert (ran.returncode, ran.stdout, lines[0]) == (2, "", f"Error: EB-CLI-005: {file}: 2 faults")
    assert [line.split()[:2] for line in lines[1:3]] == [
        [f"{file}:2:", "no.such.key:"],
        [f"{file}:3:", "limits.idle.ms:"],
    ]


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ("admin.listen: 0.0.0.0:9190\n", "2: finding admin.listen: EB-CONFIG-012"),
        ("admin.listen: '[::]:9190'\n", "2: finding admin.listen: EB-CONFIG-012"),
        ("admin.token.path: {word}\nadmin.listen: bridge.example:9190\n", "3: finding admin.listen: EB-CONFIG-013"),
        (
            "listen.sasl.mechanisms: [SCRAM-SHA-256, PLAIN]\nlisten.sasl.clients.path: {users}\n",
            "2: finding listen.sasl.mechanisms: EB-CONFIG-011",
        ),
        (
            "upstream.sasl.mechanism: PLAIN\nupstream.sasl.username: me\nupstream.sasl.password.path: {word}\n",
            "2: finding upstream.sasl.mechanism: EB-CONFIG-014",
        ),
        ("admin.listen: 127.0.0.1:9190\n", ""),
        ("admin.listen: 'off'\n", ""),
        ("listen.sasl.mechanisms: SCRAM-SHA-256\nlisten.sasl.clients.path: {users}\n", ""),
    ],
)
def test_what_is_shown_to_more_people_than_need_be_is_a_finding(
    more: str, found: str, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With its line and the next step; the file can be used all the same."""
    word, users = tmp_path / "word", tmp_path / "users"
    word.write_text("a-word-that-is-long-enough-for-a-token-0123456789", encoding="utf-8")
    word.chmod(0o600)
    keys = make_keys(Mechanism.SCRAM_SHA_256, "wonder", bytes(16), 4_096)
    users.write_text(user_line("alice", keys), encoding="utf-8")
    file.write_text("bootstrap: h:1\n" + more.format(word=word, users=users))
    assert [run(["check-config", str(file), *words]) for words in ([], ["--strict"])] == [0, int(bool(found))]
    told = [line for line in capsys.readouterr().out.splitlines() if "finding" in line]
    assert [line.startswith(f"  {file}:{found}") for line in told] == [True, True] if found else not told


def test_finding_about_a_default_or_a_variable_has_no_line(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """There is none in the file."""
    file.write_text("bootstrap: h:1\n")
    monkeypatch.setenv("EPOCHBRIDGE_ADMIN_LISTEN", "0.0.0.0:9190")
    assert run(["check-config", str(file)]) == 0
    assert f"  {file}: finding admin.listen: EB-CONFIG-012" in capsys.readouterr().out


def test_keys_that_nothing_reads_are_findings_with_their_lines(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Who gives the file of a journal and keeps none lost all groups with a restart, and nobody had said a word."""
    file.write_text(
        GOOD + "journal: memory\njournal.path: /var/lib/j.db\nevents.bootstrap: e:9092\n"
        "admin.listen: off\nadmin.token.path: " + str(file.with_name("token")) + "\n"
    )
    file.with_name("token").write_text("a" * 16)
    assert [run(["check-config", str(file), *more]) for more in ([], ["--strict"])] == [0, 1]
    findings = [line for line in capsys.readouterr().out.splitlines() if "finding" in line]
    assert [line.split(": ")[:3] for line in findings[:3]] == [
        [f"  {file}:10", "finding admin.token.path", "EB-CONFIG-017"],
        [f"  {file}:7", "finding journal.path", "EB-CONFIG-017"],
        [f"  {file}:8", "finding events.bootstrap", "EB-CONFIG-017"],
    ]
