"""A reader who gets a hundred wrong configurations: each is told with its place, what was seen, and what to do next."""

import random
from collections.abc import Mapping
from pathlib import Path

import pytest

from bridge.cli.main import run
from bridge.config.keys import KEYS

BROKERS = "bootstrap: k:9092\n"
KAFKAS_RANGE = "org.apache.kafka.coordinator.group.assignor.RangeAssignor"
RULE = "groups:\n  - match: a\n    road: embedded\n"
LISTED = (
    # Schemes, ports, hosts.
    ("bootstrap: kafka://k:9092", "'kafka://k:9092'", "begins with a scheme, as a URL does: write 'k:9092'"),
    ("bootstrap: PLAINTEXT://k:9092/", "'PLAINTEXT://k:9092/'", "write 'k:9092'"),
    ("bootstrap: k", "'k'", "the port is missing: write it after a colon, as in 'k:9092'"),
    ("bootstrap: 9092", "'9092'", "only a port is given"),
    ("bootstrap: k:0", "'k:0'", "9092 as a rule"),
    ("bootstrap: k:99999", "'k:99999'", "ports are from 1 to 65535"),
    ("bootstrap: k:kafka", "'k:kafka'", "what follows the last colon is no port"),
    ("bootstrap: 'k:9092;j:9092'", "'k:9092;j:9092'", "put commas between them"),
    ("bootstrap: '::1:9092'", "'::1:9092'", "write '[::1]:9092'"),
    ("bootstrap: ada:pw@k:9092", "'…@k:9092'", "a login is in it"),
    ("bootstrap: []", "nothing is given", "add the key"),
    ("bootstrap: 127.0.0.1:9192", "'127.0.0.1:9192' is the address of `listen`", "give the brokers' own"),
    (f"{BROKERS}listen: k:9092", "'k:9092' is the address of `listen`", "the bridge would ask itself"),
    ("bootstrap: localhost:9\nlisten: 0.0.0.0:9\nadvertised.host: k", "'localhost:9' is the address", "ask itself"),
    (f"{BROKERS}listen: :9192", "':9192'", "the host is missing"),
    (f"{BROKERS}listen: http://x:1", "'http://x:1'", "write 'x:1'"),
    (f"{BROKERS}listen: [a:1, b:2]", "'a:1', 'b:2'", "write that value alone"),
    (f"{BROKERS}listen:", "None", "nothing is written after the colon"),
    (f"{BROKERS}listen: 0.0.0.0:9192", "'0.0.0.0:9192'", "advertised.host"),
    (f"{BROKERS}listen: '[::]:9192'", "'[::]:9192'", "each to itself: give the name"),
    (f"{BROKERS}advertised.host: k:9192", "'k:9192'", "a port is in it, and each broker has one of its own: write 'k'"),
    (f"{BROKERS}advertised.host: kafka://k", "'kafka://k'", "write the host alone"),
    (f"{BROKERS}advertised.host: 0.0.0.0", "'0.0.0.0'", "give a name or one address"),
    (f"{BROKERS}advertised.host: '[::1]'", "'[::1]'", "without brackets"),
    (f"{BROKERS}advertised.host: '*.kafka.example'", "'*.kafka.example'", "a star stands for many hosts"),
    (f"{BROKERS}listen.sni.pattern: {{id}}.kafka.example", "expected <block end>", "begins with { is no word"),
    (f"{BROKERS}advertised.host: 10.0.0.256", "'10.0.0.256'", "each number is from 0 to 255"),
    (f"{BROKERS}advertised.host: a b", "'a b'", "write one host"),
    (f"{BROKERS}listen.ports: 1:9193", "'1:9193'", "NODE=PORT"),
    (f"{BROKERS}listen.ports: [1=9193, 2=9193]", "2=9193 is the port of broker 1", "give one of both another port"),
    (f"{BROKERS}listen.ports: [1=9192]", "1=9192 is the port of `listen`", "give one of both another port"),
    (f"{BROKERS}listen.ports: [1=9193, 1=9194]", "broker 1 has two ports", "name 1 once"),
    (f"{BROKERS}admin.listen: 127.0.0.1:9192", "'127.0.0.1:9192'", "give admin.listen another one, or `off`"),
    (f"{BROKERS}admin.listen: nope", "'nope'", "as in 'nope:9092'"),
    (f"{BROKERS}admin.listen: true", "'True'", "put quotes around a word"),
    (f"{BROKERS}otel.endpoint: c:4318", "'c:4318'", "write it in front, as in `http://127.0.0.1:4318`"),
    (f"{BROKERS}otel.endpoint: grpc://c:1", "'grpc://c:1'", "the scheme is missing or another one"),
    (f"{BROKERS}otel.endpoint: 'http://[c'", "'http://[c'", "http://"),
    (f"{BROKERS}events.topic: my events", "'my events'", "letters, digits, dots, hyphens and underscores"),
    (f"{BROKERS}events.topic: ..", "'..'", "as in my-events"),
    (f"{BROKERS}events.topic: __consumer_offsets", "'__consumer_offsets' is the brokers' own", "name another"),
    # Signs of other scripts, signs that nobody sees, brackets.
    ("bootstrap: k:\u0669\u0660\u0669\u0662", "is no address", "digits of another script: write it with 0 to 9"),
    ("bootstrap: \u202ek:9092", "is no address", "a sign is in it that can't be seen"),
    ('bootstrap: "k\\n:9092"', "'k\\n:9092'", "a sign is in it that can't be seen"),
    ("bootstrap: fe80::1", "'fe80::1'", "the port is missing: write it behind brackets, as in '[fe80::1]:9092'"),
    ("bootstrap: '[::1]'", "'[::1]'", "as in '[::1]:9092'"),
    ("bootstrap: '[::1'", "'[::1'", "behind brackets, as in '[::1]:9092'"),
    ("bootstrap: '[]:9092'", "'[]:9092'", "what stands in brackets is an IPv6 address"),
    ("bootstrap: '[zz]:9092'", "'[zz]:9092'", "what stands in brackets is an IPv6 address"),
    ("bootstrap: {host: k, port: 9092}", "a nested value", "write `bootstrap: HOST:PORT`"),
    ("bootstrap: 12:34:56", "'12:34:56' is no address", "an IPv6 host stands in brackets"),
    (f"{BROKERS}listen: '::1'", "'::1'", "as in '[::1]:9092'"),
    (f"{BROKERS}listen: localhost:9292\nadmin.listen: 127.0.0.1:9292", "'127.0.0.1:9292' is the port", "another one"),
    (f"{BROKERS}listen.ports: ['\uff11=9193']", "names no port", "NODE=PORT"),
    (f"{BROKERS}listen.ports: [99999999999=9193]", "names no port", "NODE=PORT"),
    # Files and folders.
    (f"{BROKERS}admin.token.path: /dev/zero", "/dev/zero has more than 65536 bytes", "check the path"),
    (f"{BROKERS}admin.token.path: /tmp", "/tmp can't be read: Is a directory", "check the path"),
    (
        f"{BROKERS}upstream.tls: true\nupstream.tls.trust.path: /dev/zero",
        "/dev/zero has more than 16777216 bytes",
        "trust.path",
    ),
    (f"{BROKERS}listen.tls: true\nlisten.tls.certificate.path: /tmp", "/tmp can't be read", "a file that can be read"),
    (f"{BROKERS}{RULE}journal.path: /nowhere/j.db", "'/nowhere/j.db'", "mkdir -p /nowhere"),
    (f"{BROKERS}{RULE}journal.path: /dev/null", "/dev/null is a pipe, a socket or a device", "name a file"),
    (f"{BROKERS}{RULE}journal.path: /etc/passwd", "/etc/passwd is no SQLite file", "name a file of its own"),
    (f"{BROKERS}{RULE}journal.path: /tmp", "/tmp is a folder", "name a file in it, as in /tmp/journal.db"),
    (f"{BROKERS}events.path: /etc/passwd", "/etc/passwd is a file", "name a folder"),
    (f"{BROKERS}upstream.tls: true\nupstream.tls.trust.path: /no.pem", "/no.pem", "mend that file, or name another"),
    # Units and kinds.
    (f"{BROKERS}limits.idle.ms: 45s", "'45s'", "the key counts milliseconds: write 45000"),
    (f"{BROKERS}limits.idle.ms: 10min", "'10min'", "write 600000"),
    (f"{BROKERS}limits.idle.ms: 1.5 h", "'1.5 h'", "write 5400000"),
    (f"{BROKERS}limits.idle.ms: 5 bananas", "'5 bananas'", "write the number alone"),
    (f"{BROKERS}limits.idle.ms: 45.5", "'45.5'", "it has a fraction"),
    (f"{BROKERS}limits.idle.ms: '45,000'", "'45,000'", "it has separators: write 45000"),
    (f"{BROKERS}limits.idle.ms: soon", "'soon'", "write digits alone"),
    (f"{BROKERS}limits.idle.ms: 99999999999", "'99999999999'", "a whole number from 1 to 2147483647"),
    (f"{BROKERS}journal.bytes.max: 1GB", "'1GB'", "the key counts bytes: write 1000000000"),
    (f"{BROKERS}journal.bytes.max: 1GiB", "'1GiB'", "write 1073741824"),
    (f"{BROKERS}upstream.tls: maybe", "'maybe'", "true or false"),
    (f"{BROKERS}journal: postgres", "'postgres' is none of the choices", "`sqlite` or `memory`"),
    (f"{BROKERS}journal: Sqlit", "'Sqlit'", "write `sqlite`"),
    (f"{BROKERS}upstream.sasl.mechanism: plain", "'plain'", "write `PLAIN`"),
    (f"{BROKERS}upstream.sasl.mechanism: SCRAM-SHA256", "'SCRAM-SHA256'", "write `SCRAM-SHA-256`"),
    (f"{BROKERS}upstream.sasl.mechanism: GSSAPI", "'GSSAPI'", "give it SCRAM-SHA-512; clients that do pass through"),
    (f"{BROKERS}upstream.sasl.mechanism: SCRAM", "'SCRAM'", "say which of the two"),
    (f"{BROKERS}listen.tls.version.min: TLSv1.1", "'TLSv1.1'", "nothing that old is spoken: write `TLSv1.2`"),
    (f"{BROKERS}listen.proxy-protocol: v2", "'v2'", "version 2 alone is read: write `required`"),
    (f"{BROKERS}upstream.sasl.mechanism: PLAIN", "nothing is given", "upstream.sasl.username"),
    (f"{BROKERS}upstream.sasl.username: ada", "'ada' is given, and nothing reads it", "upstream.sasl.mechanism"),
    (f"{BROKERS}journal.bytes.max: 1", "'1' is out of bounds", "from 65536"),
    (f"{BROKERS}limits.idle.ms: 1:30", "'1:30'", "write digits alone"),
    (f"{BROKERS}limits.idle.ms: 0x10", "'0x10'", "write digits alone"),
    (f"{BROKERS}limits.idle.ms: '\uff15'", "is of another kind", "write digits alone"),
    (f"{BROKERS}limits.idle.ms: 1{'0' * 5_000}", "a number that is too long", "put quotes around"),
    (f"{BROKERS}limits.idle.ms: 2001-01-01", "a date", "put quotes around"),
    (f"{BROKERS}limits.idle.ms: !foo 5", "a tag", "put quotes around"),
    (f"{BROKERS}limits.idle.ms: {{a: 1}}", "a nested value", "keys are written whole"),
    # What excludes each other: the key that somebody wrote is named.
    (
        f"{BROKERS}group.consumer.session.timeout.ms: 10000",
        "group.consumer.session.timeout.ms: 10000, but `group.consumer.min.session.timeout.ms` is 45000 by default",
        "write at least 45000, or set `group.consumer.min.session.timeout.ms`, too",
    ),
    (
        f"{BROKERS}group.consumer.min.heartbeat.interval.ms: 10000",
        "group.consumer.min.heartbeat.interval.ms: 10000, but",
        "write at most 5000",
    ),
    (f"{BROKERS}group.consumer.assignors: []", "no assignor", "at least one name"),
    (f"{BROKERS}group.consumer.assignors: unifor", "'unifor'", "range, uniform"),
    (f"{BROKERS}group.consumer.assignors: [uniform, uniform]", "'uniform' twice", "write 'uniform' once"),
    (
        f"{BROKERS}{RULE}    group.consumer.assignors: [range, {KAFKAS_RANGE}]",
        "'range' twice",
        "the first of the list is the default",
    ),
    # Rules.
    (f"{BROKERS}groups:\n  - road: embedded", "no `match`, `group` or `regex` is given", "as in `match: orders-*`"),
    (f"{BROKERS}groups:\n  - match: ''\n    road: pass", "match is ''", "as in `match: orders-*`"),
    (f"{BROKERS}groups:\n  - match: a\n    raod: pass", "raod: no such key of a rule", "write `road`"),
    (f"{BROKERS}groups:\n  - match: a\n    road: embedde", "'embedde'", "write `embedded`"),
    (f"{BROKERS}groups:\n  - match: a", "no road is given", "say where these groups go"),
    (f"{BROKERS}groups:\n  match: a\n  road: pass", "`groups` is no list", "write a rule as"),
    (f"{BROKERS}groups: orders", "`groups` is no list", "write a rule as"),
    (f"{BROKERS}groups:\n  - orders", "no mapping here", "look at that line"),
    (f"{BROKERS}groups:\n  - regex: 'a('\n    road: pass", "'a('", "a bracket may be open"),
    (f"{BROKERS}groups:\n  - regex: 'a(?=b)'\n    road: pass", "'a(?=b)'", "of a kind that RE2 has not"),
    (f"{BROKERS}groups:\n  - match: a\n    group: b\n    road: pass", "`match` and `group`", "one of `match`"),
    (f"{BROKERS}{RULE}    session.timeout.ms: 5", "session.timeout.ms", "group.consumer.session.timeout.ms"),
    (f"{BROKERS}{RULE}    limits.idle.ms: 5", "not a setting of single groups", "keys marked per group"),
    (f"{BROKERS}rules:\n  - match: a", "a nested value", "under `groups`: write them there"),
    (f"{BROKERS}rules: a", "no such key", "under `groups`"),
    (f"{BROKERS}groups:\n  - match: a\n    road: pass\n    road: embedded", "`road` is written twice", "each key once"),
    (f"{BROKERS}groups:\n  - match: [a]\n    road: pass", "match", "allowed"),
    # Nesting and YAML.
    ("a: &a [x]\nbootstrap: *a", "an alias of this list or mapping", "write the list or mapping out"),
    ("bootstrap: *nope", "undefined alias 'nope'", "put quotes around the value"),
    ("bootstrap: k:9092\n---\nbootstrap: j:9092", "another document", "take the line `---` out"),
    ("? [a]\n: b", "a list or mapping for a key", "a word for a key"),
    (f"{BROKERS}upstream:\n  tls: true", "a nested value", "write `upstream.tls: …` in a line of its own"),
    (f"{BROKERS}listen: [[a]]", "a nested value", "write one value"),
    ("foo", "no mapping here", "one `key: value` a line"),
    ("- a", "no mapping here", "one `key: value` a line"),
    ("bootstrap: a: b", "mapping values are not allowed", "look at that line"),
    ("\tbootstrap: x", "found character", "a tab is in it"),
    (f"{BROKERS}listen: 'a:1", "unexpected end of stream", "look at that line"),
    (f"{BROKERS}listen: a:1\nlisten: a:2", "`listen` is written twice", "each key once"),
    # Names of others, and names that are nearly right.
    (f"{BROKERS}ssl.truststore.location: /x", "ssl.truststore.location", "here that is `upstream.tls.trust.path`"),
    (f"{BROKERS}ssl.keystore.location: /x", "ssl.keystore.location", "`upstream.tls.certificate.path`"),
    (f"{BROKERS}ssl.key.password: x", "ssl.key.password", "`upstream.tls.password.path`"),
    (f"{BROKERS}ssl_cafile: x", "ssl_cafile", "`upstream.tls.trust.path`"),
    (f"{BROKERS}security.protocol: SASL_SSL", "security.protocol", "`upstream.tls` and `upstream.sasl.mechanism`"),
    (f"{BROKERS}sasl.jaas.config: x", "sasl.jaas.config", "`upstream.sasl.username`"),
    (f"{BROKERS}sasl.oauthbearer.token.endpoint.url: x", "sasl.oauthbearer", "`upstream.sasl.token.endpoint`"),
    (f"{BROKERS}sasl.oauthbearer.scope: x", "sasl.oauthbearer.scope", "`upstream.sasl.token.scope`"),
    (f"{BROKERS}sasl.login.callback.handler.class: x", "sasl.login.callback", "`upstream.sasl.token.path`"),
    (f"{BROKERS}upstream.sasl.mechanism: OAUTHBEARER", "neither it nor", "upstream.sasl.token.path"),
    (
        f"{BROKERS}upstream.sasl.mechanism: OAUTHBEARER\nupstream.sasl.token.path: /nowhere",
        "/nowhere can't be read",
        "a file that holds one token",
    ),
    (
        f"{BROKERS}upstream.sasl.mechanism: OAUTHBEARER\nupstream.sasl.token.endpoint: http://id/t",
        "would send the secret as it is",
        "https://HOST/PATH",
    ),
    (
        f"{BROKERS}upstream.sasl.mechanism: OAUTHBEARER\nupstream.sasl.token.endpoint: https://id.example:99999/t",
        "'https://id.example:99999/t' is no URL",
        "https://HOST/PATH",
    ),
    (f"{BROKERS}upstream.sasl.token.scope: x", "'x' is given, and nothing reads it", "upstream.sasl.mechanism"),
    (
        f"{BROKERS}upstream.sasl.mechanism: PLAIN\nupstream.sasl.username: u\nupstream.sasl.password.variable: NO_SUCH",
        "no variable 'NO_SUCH' is set",
        "the name of a variable",
    ),
    (
        f"{BROKERS}listen.tls: true\nlisten.tls.clients.path: /nowhere",
        "/nowhere is given, and nothing reads it",
        "listen.tls.client.auth: required beside it",
    ),
    (f"{BROKERS}tls.cert: x", "tls.cert", "`upstream.tls`"),
    (f"{BROKERS}truststore: x", "truststore", "`upstream.tls.trust.path`"),
    (f"{BROKERS}listeners: PLAINTEXT://:9092", "listeners", "`listen`"),
    (f"{BROKERS}advertised.listeners: x", "advertised.listeners", "`advertised.host`"),
    ("bootstrap.servers: x:9092", "bootstrap.servers", "`bootstrap`"),
    (f"{BROKERS}embedded.trust-clients: true", "EB-CONFIG-010", "the broker's ACLs hold"),
    (f"{BROKERS}authorization_cache_ms: 1", "authorization_cache_ms", "write `authorization.cache.ms`"),
    (f"{BROKERS}zzz: 1", "zzz", "no key is spelt like it"),
    (f"{BROKERS}listen.address: h:1", "listen.address", "write `listen: HOST:PORT`"),
    (f"{BROKERS}admin.port: 9190", "admin.port", "an address is written whole: write `admin.listen: HOST:PORT`"),
)
FOUND = (
    ("orders-.*", "EB-RULE-005", "write `regex` in place of `match`"),
    ("^orders$", "EB-RULE-005", "looks like a regular expression"),
    ("(a|b)", "EB-RULE-005", "looks like a regular expression"),
    ("orders-[", "EB-RULE-006", "a `[` that nothing closes"),
)
VARIABLES = (
    ({"EPOCHBRIDGE_EMBEDDED_TRUST_CLIENTS": "true"}, "EB-CONFIG-010", "the broker's ACLs hold"),
    ({"EPOCHBRIDGE_ADMN": "x:1"}, "EPOCHBRIDGE_ADMN", "set EPOCHBRIDGE_ADMIN,"),
    ({"EPOCHBRIDGE_LISTN": "x:1"}, "EPOCHBRIDGE_LISTN", "set EPOCHBRIDGE_LISTEN,"),
    ({"EPOCHBRIDGE_JOURNAL_PAHT": "x"}, "EPOCHBRIDGE_JOURNAL_PAHT", "set EPOCHBRIDGE_JOURNAL_PATH,"),
    ({"epochbridge_listen": "x:1"}, "epochbridge_listen", "set EPOCHBRIDGE_LISTEN,"),
    ({"EPOCHBRIDGE_LISTEN_PORT": "9192"}, "EPOCHBRIDGE_LISTEN_PORT", "set EPOCHBRIDGE_LISTEN_PORTS,"),
    ({"EPOCHBRIDGE_XYZZY": "s3cret"}, "EPOCHBRIDGE_XYZZY", "nothing reads it"),
    ({"EPOCHBRIDGE_LISTEN": "x"}, "'x' is no address", "the port is missing"),
    ({"EPOCHBRIDGE_LIMITS_IDLE_MS": "45s"}, "'45s'", "write 45000"),
)
OF_KUBERNETES = {
    "EPOCHBRIDGE_SERVICE_HOST": "10.0.0.1",
    "EPOCHBRIDGE_SERVICE_PORT": "9192",
    "EPOCHBRIDGE_SERVICE_PORT_KAFKA": "9192",
    "EPOCHBRIDGE_PORT": "tcp://10.0.0.1:9192",
    "EPOCHBRIDGE_PORT_9192_TCP": "tcp://10.0.0.1:9192",
    "EPOCHBRIDGE_PORT_9192_TCP_PROTO": "tcp",
    "EPOCHBRIDGE_PORT_9192_TCP_PORT": "9192",
    "EPOCHBRIDGE_ADMIN_SERVICE_HOST": "10.0.0.2",
    "EPOCHBRIDGE_ADMIN_PORT_9190_TCP_ADDR": "10.0.0.2",
}


def misspelt(count: int) -> list[tuple[str, str]]:
    """Keys with two neighbouring letters changed over, each with the key that is meant."""
    draw = random.Random(21)
    drawn: list[tuple[str, str]] = []
    for name in draw.sample(sorted(KEYS), count):
        places = [at for at in range(1, len(name) - 1) if name[at].isalpha() and name[at] != name[at + 1]]
        at = draw.choice(places)
        drawn.append((name[:at] + name[at + 1] + name[at] + name[at + 2 :], name))
    return drawn


def judge(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, status: int = 2) -> str:
    """What `check-config` says of a file, the name of which is not in it."""
    file = tmp_path / "b.yaml"
    file.write_text(text)
    assert run(["check-config", str(file)]) == status
    shown = capsys.readouterr()
    told = shown.err if status else shown.out
    assert "Traceback" not in told
    assert "EB-CLI-099" not in told
    return told.replace(str(file), "FILE")


@pytest.mark.parametrize(("text", "seen", "step"), LISTED)
def test_listed_faults_are_told_with_what_was_seen_and_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, seen: str, step: str
) -> None:
    """Each with a code, what is allowed, and a step."""
    told = judge(tmp_path, capsys, text)
    assert seen in told
    assert step in told
    faults = [line for line in told.splitlines() if line.startswith("  ")]
    assert faults
    assert all("; allowed: " in line and "; " in line.partition("; allowed: ")[2] for line in faults)
    assert all(line.endswith("]") and "[EB-CONFIG-" in line for line in faults)


@pytest.mark.parametrize(("wrong", "meant"), misspelt(30))
def test_drawn_typos_name_the_key_that_is_meant(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], wrong: str, meant: str
) -> None:
    """The nearest of all, or what a name of Kafka's is called here."""
    told = judge(tmp_path, capsys, f"{BROKERS}{wrong}: 1\n")
    assert f"{wrong}: no such key" in told
    assert f"write `{meant}`" in told


@pytest.mark.parametrize(("pattern", "code", "step"), FOUND)
def test_globs_that_take_other_names_than_meant_are_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], pattern: str, code: str, step: str
) -> None:
    """Such a file can be used all the same."""
    told = judge(tmp_path, capsys, f"{BROKERS}groups:\n  - match: '{pattern}'\n    road: embedded\n", 0)
    assert f"FILE:3: finding {code}" in told
    assert step in told


@pytest.mark.parametrize("case", VARIABLES, ids=lambda case: case[1])
def test_variables_that_nothing_reads_are_told(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    case: tuple[Mapping[str, str], str, str],
) -> None:
    """Without their values, which may be secrets."""
    variables, seen, step = case
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    told = judge(tmp_path, capsys, BROKERS)
    assert seen in told
    assert step in told
    assert "s3cret" not in told


def test_variables_that_kubernetes_sets_are_nobodys_typos(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """For a Service called epochbridge, or epochbridge-admin; and the project's own tests have some."""
    for name, value in {**OF_KUBERNETES, "EPOCHBRIDGE_TEST_KAFKA": "x", "EPOCHBRIDGE_ADMIN": "x:1"}.items():
        monkeypatch.setenv(name, value)
    assert judge(tmp_path, capsys, BROKERS, 0).startswith("FILE: ok")


def test_there_are_a_hundred() -> None:
    """As many as a second reader was promised, no two alike."""
    cases = (
        {text for text, _, _ in LISTED} | {pattern for pattern, _, _ in FOUND} | {repr(one) for one, _, _ in VARIABLES}
    )
    assert len(cases) == len(LISTED) + len(FOUND) + len(VARIABLES)
    assert len(cases) >= 100
