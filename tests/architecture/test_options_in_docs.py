"""Options that pages and packages tell people to write are there: keys of the configuration, those of commands; and so
are the figures that they tell people to look at.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import yaml

from bridge.cli.main import cli
from bridge.config.causes import REMOVED_KEYS
from bridge.config.keys import KEYS
from tests.architecture.source_tree import ROOT

PAGES = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
PACKAGES = [ROOT / "deploy/systemd/epochbridge.service", ROOT / "deploy/container/Containerfile"]
ALERTS = sorted((ROOT / "deploy/dashboards").iterdir())
PAST = ("docs/changes.d", "docs/decisions")
"""What is told there was so when it was written."""
BLOCK = re.compile(r"^ *```(\w*)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
KEY = re.compile(r"[a-z][a-z0-9-]*(\.[a-z0-9-]+)+")
FIRST_WORDS = {name.partition(".")[0] for name in KEYS}
COMMAND = re.compile(r"(?:^|[\s/])epochbridge ((?:[a-z][a-z-]* ?)+.*)")
OPTION = re.compile(r"--[a-z][a-z-]*")
SETTING = re.compile(r"--set ([a-z0-9.-]+)=")
NAMED = re.compile(r"`([a-z][a-z0-9-]*(?:\.[a-z0-9-]+)+)(?:: [^`]*)?`")
KAFKAS_WORDS = {"advertised", "bootstrap", "group", "metadata", "offset", "offsets"}
"""Settings of brokers and clients begin so, too."""
DEFAULT = re.compile(
    r"`([a-z][a-z0-9.-]+)` \((?:(\d[\d,]*)(?: (ms|s|MiB|GiB))?|((?:an?|one) (?:second|minute|hour|week)))\b"
)
WORTH = {
    "ms": 1,
    "s": 1_000,
    "MiB": 1 << 20,
    "GiB": 1 << 30,
    "second": 1_000,
    "minute": 60_000,
    "hour": 3_600_000,
    "week": 604_800_000,
}
KAFKAS_PAGE = "docs/reference/kafka-rules.md"
FIGURE = re.compile(r"\b(?:epochbridge|kafka_server)_[a-z_]*[a-z]\b")
PARTS = ("_bucket", "_count", "_sum")
FIGURES_PAGE = ROOT / "docs/reference/metrics.md"


def pages() -> Iterator[tuple[Path, str]]:
    """All that is told of this release."""
    for path in PAGES:
        if not str(path.relative_to(ROOT)).startswith(PAST):
            yield path.relative_to(ROOT), path.read_text(encoding="utf-8")


def is_ours(document: dict[str, object]) -> bool:
    """Whether a block of YAML is a configuration: each of its keys is known or looks as if it had been, or half are."""
    keys = list(map(str, document))
    known = sum(key in KEYS or key == "groups" for key in keys)
    alike = sum(bool(KEY.fullmatch(key)) and key.partition(".")[0] in FIRST_WORDS for key in keys if key not in KEYS)
    return bool(keys) and (known * 2 >= len(keys) or known + alike == len(keys))


def stale_keys(text: str) -> Iterator[str]:
    """Keys that there are not, of blocks of YAML and behind `--set`."""
    for language, block in BLOCK.findall(text):
        if language == "yaml":
            document: object = yaml.safe_load(block.replace("…", ""))
            if isinstance(document, dict) and is_ours(document):
                yield from (str(key) for key in document if key not in KEYS and key != "groups")
    yield from (name for name in SETTING.findall(text) if name not in KEYS)


def named_keys_that_are_gone(text: str) -> Iterator[str]:
    """Words in backticks that begin as keys do and are neither one nor what several begin with, nor a module."""
    for name in NAMED.findall(text):
        is_key = name in KEYS or name in REMOVED_KEYS or any(key.startswith(f"{name}.") for key in KEYS)
        is_file = name.endswith((".py", ".md")) or any(ROOT.glob(f"bridge/{name.replace('.', '/')}*"))
        if name.partition(".")[0] in FIRST_WORDS - KAFKAS_WORDS and not is_key and not is_file:
            yield name


def told_defaults(text: str) -> Iterator[tuple[str, int]]:
    """What a page says in brackets behind a key: `events.file.age.ms` (an hour)."""
    for name, number, unit, words in DEFAULT.findall(text):
        many = int(number.replace(",", "")) if number else 1
        if name in KEYS:
            yield name, many * (WORTH[unit or words.split()[1]] if unit or words else 1)


def figures() -> set[str]:
    """What `/metrics` has, as the page of metrics is made of it; of histograms their own names, too."""
    rows = re.findall(r"^\| (`.*?`) \|", FIGURES_PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    names = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    return names | {name.removesuffix(part) for name in names for part in PARTS if name.endswith(part)}


def command_named(words: list[str]) -> click.Command | None:
    """The command that a line calls, with its subcommands; None where it calls none of ours."""
    found: click.Command = cli
    with click.Context(cli) as context:
        for word in words:
            if not isinstance(found, click.Group):
                break
            inner = found.get_command(context, word)
            if inner is None:
                break
            found = inner
    return None if found is cli else found


def stale_options(text: str) -> Iterator[str]:
    """Options that a command has not, of every line that calls one."""
    joined = text.replace("\\\n", " ")
    for line in joined.splitlines():
        for call in COMMAND.findall(line.replace("`", " ` ")):
            told = call.partition("`")[0].partition(" && ")[0].partition(" | ")[0]
            command = command_named(re.split(r"\s+", told)[:2])
            if command is None:
                continue
            known = {name for each in command.params for name in (*each.opts, *each.secondary_opts)} | {"--help"}
            yield from (f"{command.name} {one}" for one in OPTION.findall(told) if one not in known)


def test_keys_of_pages_are_there() -> None:
    """A key that was renamed is found where people copy it from."""
    found = {f"{path}: {key}" for path, text in pages() for key in stale_keys(text)}
    assert found == set()


def test_keys_that_pages_name_are_there() -> None:
    """In a sentence, too: a page told of `events.total.age.max.s` long after that was called otherwise."""
    found = {f"{path}: {key}" for path, text in pages() for key in named_keys_that_are_gone(text)}
    assert found == set()


def test_defaults_that_pages_tell_are_those() -> None:
    """A page that tells an operator of 45 s has him wait for as long."""
    told = [(str(path), *one) for path, text in pages() if str(path) != KAFKAS_PAGE for one in told_defaults(text)]
    assert {"authorization.cache.ms", "events.total.bytes.max"} <= {name for _, name, _ in told}
    assert [one for one in told if KEYS[one[1]].default != one[2]] == []


def test_default_is_read_in_its_unit() -> None:
    """In the key's own, in larger ones, and in words; what is no key is left alone."""
    text = "`limits.idle.ms` (600,000), `limits.idle.ms` (600 s), `events.file.age.ms` (an hour), `session.ms` (1)"
    assert list(told_defaults(text)) == [
        ("limits.idle.ms", 600_000),
        ("limits.idle.ms", 600_000),
        ("events.file.age.ms", 3_600_000),
    ]


def test_figures_that_pages_and_packages_name_are_there() -> None:
    """Whoever copies a name into a dashboard or an alert gets figures."""
    told = [*pages(), *((path.relative_to(ROOT), path.read_text(encoding="utf-8")) for path in ALERTS)]
    known = figures()
    found = {f"{path}: {name}" for path, text in told for name in FIGURE.findall(text) if name not in known}
    assert found == set()
    assert {"epochbridge_groups", "epochbridge_rebalance_duration_seconds"} <= known


def test_options_of_pages_and_packages_are_there() -> None:
    """Of the unit that systemd starts, of the image, and of every page."""
    told = [*pages(), *((path.relative_to(ROOT), path.read_text(encoding="utf-8")) for path in PACKAGES)]
    found = {f"{path}: {option}" for path, text in told for option in stale_options(text)}
    assert found == set()


@pytest.mark.parametrize(
    ("text", "stale"),
    [
        ("```yaml\nlisten: h:1\nlisten.old: true\n```", ["listen.old"]),
        ("```yaml\nlisten: h:1\ngroups: []\n```", []),
        ("```yaml\nlisten.old: true\n```", ["listen.old"]),
        ("```yaml\nlisten.old: true\nadmin.older: 1\nbootstrap: k:1\n```", ["listen.old", "admin.older"]),
        ("```yaml\nservices:\n  a: b\n```", []),
        ("```yaml\ngroup.protocol: consumer\nlisteners: a\nlisten: h:1\n```", []),
        ("`epochbridge serve --set listen.old=1`", ["listen.old"]),
    ],
)
def test_stale_key_is_found(text: str, stale: list[str]) -> None:
    """And others are not."""
    assert list(stale_keys(text)) == stale


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("`limits.idle.s`", ["limits.idle.s"]),
        ("`limits.idle.s: 5`", ["limits.idle.s"]),
        ("`limits.idle.ms: 5`, the keys of `listen.tls`, `embedded.trust-clients`", []),
        ("`group.instance.id`, `bootstrap.servers`, `session.timeout.ms`", []),
        ("`migration.route`, `bridges.py`", []),
    ],
)
def test_named_key_that_is_gone_is_found(text: str, gone: list[str]) -> None:
    """And neither Kafka's words nor ours for other things."""
    assert list(named_keys_that_are_gone(text)) == gone


def test_stale_option_is_found() -> None:
    """Of a command, and of one below it."""
    assert list(stale_options("$ epochbridge serve --old --config x")) == ["serve --old"]
    assert list(stale_options("ExecStart=/opt/bin/epochbridge check-config --stale f")) == ["check-config --stale"]
