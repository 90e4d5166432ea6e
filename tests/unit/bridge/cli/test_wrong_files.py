"""Files that are another kind of file, keys in the wrong place, and variables of the environment in all wrong ways.

Each is told with its place and with what to do, and never with a secret.
"""

from collections.abc import Mapping
from pathlib import Path

import pytest

from bridge.cli.main import run

BROKERS = b"bootstrap: k:9092\n"
RULE = b"groups:\n- match: a\n  road: embedded\n"
FILES = (
    # Bytes and signs.
    (BROKERS.decode().encode("utf-16"), "it is UTF-16, not UTF-8", "save it as UTF-8"),
    (BROKERS + b"advertised.host: \xe9\n", "it is no UTF-8", "save it as UTF-8"),
    (b"\xef\xbb\xbf" + BROKERS + b"listen: x\n", "FILE:2", "the port is missing"),
    (b"bootstrap: k:9092\r\nlisten: a:1\r\nlisten: a:2\r\n", "FILE:3", "the other one is in line 2"),
    (b"bootstrap: k:9092\x00\n", "special characters", "a sign is in it that can't be seen"),
    (BROKERS + b"listen:\xc2\xa0a:1\n", "FILE:3", "a blank or colon of another script"),
    (BROKERS + "listen: \u201ca:1\u201d\n".encode(), "FILE:2", "quotes are part of it"),
    (b"bootstrap:\n\t- k:9092\n", "FILE:2", "a tab is in it"),
    (b"bootstrap: k:9092\t# the brokers\n", "FILE:1", "a tab is in it"),
    # Files of other kinds.
    (b"bootstrap=k:9092\nlisten=a:1\n", "no mapping here", "parted by a colon and a blank: write `bootstrap: \u2026`"),
    (b"[bridge]\nbootstrap = k:9092\n", "FILE:2", "parted by a colon and a blank"),
    (b"bootstrap:k:9092\n", "no mapping here", "a blank is missing behind a colon: write `bootstrap: \u2026`"),
    (BROKERS + b"groups:\n  - match:a\n    road:embedded\n", "FILE:3", "a blank is missing behind a colon"),
    (b"bootstrap: {{ .Values.bootstrap }}\n", "a nested value", "put quotes around what is no plain word"),
    (b"bootstrap: {{ .Values.b }}:9092\n", "FILE:1", "a template that was not filled in"),
    (b"bootstrap: <BROKERS>:9092\n", "'<BROKERS>:9092'", "a place that was to be filled in"),
    (BROKERS + b"<<<<<<< HEAD\nlisten: a:1\n=======\n>>>>>>> main\n", "FILE:", "line 2 is a mark of a merge"),
    (BROKERS + b"listen: *:9192\n", "FILE:2", "to YAML a value that begins with * is no word"),
    (b"bootstrap: @k:9092\n", "FILE:1", "put quotes around the value"),
    (b"bootstrap: k:9092\n---\nlisten: a:1\n", "another document", "take the line `---` out"),
    (b"x: &d [a]\nbootstrap: *d\n", "an alias of this", "write the list or mapping out"),
    # Keys one level too deep, or in the form of another kind of value.
    (
        b"epochbridge:\n  bootstrap: k:9092\n",
        "epochbridge: a nested value",
        "write `bootstrap: \u2026` one level further",
    ),
    (b"bootstrap:\n  servers: k:9092\n", "bootstrap: a nested value", "here that is `bootstrap`"),
    (
        BROKERS + b"listen.ports: {1: 9193, 2: 9194}\n",
        "listen.ports: a nested value",
        "write `listen.ports: [1=\u2026, 2=\u2026]`",
    ),
    (
        BROKERS + RULE + b"  settings:\n    group.consumer.session.timeout.ms: 5\n",
        "settings: a",
        "take `settings:` out",
    ),
    (BROKERS + b"EPOCHBRIDGE_LISTEN_TLS: true\n", "no such key", "in a file write `listen.tls`"),
    (b"bootstrap: '[k:9092, j:9092]'\n", "'j:9092]'", "a bracket of a list is in it"),
    (BROKERS + b"listen.ports: '[1=9193, 2=9194]'\n", "'[1=9193'", "pairs with commas between them and nothing around"),
    (BROKERS + b"listen: |\n  a:1\n", "'a:1\\n'", "a line break is in it"),
    (BROKERS + b"groups:\n- match: 5\n  road: pass\n", "match is 5", "put quotes around a group id of that kind"),
    (BROKERS + b"groups:\n- match: no\n  road: pass\n", "match is False", "put quotes around a group id"),
    # Hosts that nobody can look up, numbers and paths.
    (b"bootstrap: k..x:9092\n", "'k..x:9092'", "dots part words of 1 to 63"),
    (b"bootstrap: " + b"a" * 64 + b":9092\n", "is no address", "dots part words of 1 to 63"),
    (BROKERS + b"advertised.host: k..x\n", "'k..x' is none", "nobody can look it up"),
    (BROKERS + b"limits.idle.ms: ${IDLE}\n", "'${IDLE}'", "set EPOCHBRIDGE_LIMITS_IDLE_MS"),
    (BROKERS + b"limits.idle.ms: 99999h\n", "'99999h'", "359996400000 is not within what is allowed"),
    (BROKERS + b"otel.endpoint: 'http://c:port'\n", "'http://c:port'", "its host is missing, or its port is none"),
    (BROKERS + b"otel.endpoint: 'http://a..b:1'\n", "'http://a..b:1'", "its host is missing, or its port is none"),
    (BROKERS + RULE + b"journal.path: ~/j.db\n", "'~/j.db'", "only a shell knows what ~ and $ stand for"),
    (BROKERS + RULE + b"journal.path: file:///var/j.db\n", "'file:/var/j.db'", "it is a path, not a URL"),
    (BROKERS + b"admin.token.path: $HOME/token\n", "can't be read", "only a shell knows what ~ and $ stand for"),
    (BROKERS + b"admin.token.path: s3cret\n", "is no file of this folder", "name the file that holds the secret"),
)
VARIABLES = (
    ("LISTEN", "", "environment: EPOCHBRIDGE_LISTEN", "take the key or variable out"),
    ("LIMITS_IDLE_MS", "", "limits.idle.ms: ''", "take the key or variable out"),
    ("LISTEN_TLS", "", "listen.tls: ''", "take the key or variable out"),
    ("LISTEN", '"127.0.0.1:9192"', "environment: EPOCHBRIDGE_LISTEN", "quotes are part of it"),
    ("LIMITS_IDLE_MS", '"5000"', "limits.idle.ms", "quotes are part of it: write digits alone"),
    ("BOOTSTRAP", "k1:9092 k2:9092", "environment: EPOCHBRIDGE_BOOTSTRAP", "put commas between them"),
    ("BOOTSTRAP", '["k1:9092"]', "environment: EPOCHBRIDGE_BOOTSTRAP", "quotes are part of it"),
    ("LISTEN_PORTS", "[1=9193]", "environment: EPOCHBRIDGE_LISTEN_PORTS", "nothing around"),
    ("LISTEN_TLS_CERTIFICATE_PATH", "/no", "environment: EPOCHBRIDGE_LISTEN_TLS_CERT", "listen.tls: true beside it"),
    ("BOOTSTRAP_SERVERS", "k:9092", "EPOCHBRIDGE_BOOTSTRAP_SERVERS", "set EPOCHBRIDGE_BOOTSTRAP,"),
    ("GROUPS", "orders-*", "EPOCHBRIDGE_GROUPS", "write them in the file"),
    ("EMBEDDED", "orders-*", "EPOCHBRIDGE_EMBEDDED", "or give --embedded"),
    ("CONFIG_FILE", "/b.yaml", "EPOCHBRIDGE_CONFIG_FILE", "name the file by --config FILE"),
    ("UPSTREAM_SASL_PASSWORD", "s3cret", "EPOCHBRIDGE_UPSTREAM_SASL_PASSWORD", "upstream.sasl.password.variable"),
    ("ADMIN_TOKEN", "s3cret", "EPOCHBRIDGE_ADMIN_TOKEN", "to a file that holds the token"),
    ("ADMIN_TOKEN_PATH", "s3cret", "is no file of this folder", "name the file that holds the secret"),
    ("_LISTEN", "a:1", "EPOCHBRIDGE__LISTEN", "set EPOCHBRIDGE_LISTEN,"),
)


def judge(tmp_path: Path, capsys: pytest.CaptureFixture[str], written: bytes, status: int = 2) -> str:
    """What `check-config` says of a file; each of its faults is one line with a code and a next step."""
    file = tmp_path / "b.yaml"
    file.write_bytes(written)
    assert run(["check-config", str(file)]) == status
    shown = capsys.readouterr()
    told = (shown.err + shown.out).replace(str(file), "FILE")
    assert "Node(" not in told, "an object of the reader's"
    assert "s3cret" not in told
    if status:
        (first, *faults, last) = told.splitlines()
        assert first.startswith("Error: EB-CLI-005: FILE: ")
        assert last.startswith("Mend what is named")
        assert faults
        assert all(line.endswith("]") and " [EB-CONFIG-" in line for line in faults), told
    return told


@pytest.mark.parametrize(("written", "seen", "step"), FILES)
def test_what_was_written_as_for_something_else_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], written: bytes, seen: str, step: str
) -> None:
    """With the line, and with what is likely."""
    told = judge(tmp_path, capsys, written)
    assert seen in told
    assert step in told


@pytest.mark.parametrize("case", VARIABLES, ids=lambda case: case[0] + case[1])
def test_variables_in_all_wrong_ways_are_told_as_variables(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    case: tuple[str, str, str, str],
) -> None:
    """Not by the line of a file, in which the key stands, too, and is right."""
    name, value, seen, step = case
    monkeypatch.setenv(f"EPOCHBRIDGE_{name}", value)
    told = judge(tmp_path, capsys, BROKERS)
    assert seen in told
    assert step in told
    assert "FILE:1" not in told


VALUES: Mapping[str, str] = {"LISTEN": " 127.0.0.1:9292 ", "LIMITS_IDLE_MS": " 5000 ", "LISTEN_TLS": " false"}


@pytest.mark.parametrize("name", VALUES)
def test_blanks_around_a_variables_value_mean_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Files of variables bring them along."""
    monkeypatch.setenv(f"EPOCHBRIDGE_{name}", VALUES[name])
    assert judge(tmp_path, capsys, BROKERS, 0).startswith("FILE: ok")
