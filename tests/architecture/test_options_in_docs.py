"""Options that pages and packages tell people to write are there: keys of the configuration, those of commands."""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import yaml

from bridge.cli.main import cli
from bridge.config.keys import KEYS
from tests.architecture.source_tree import ROOT

PAGES = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
PACKAGES = [ROOT / "deploy/systemd/epochbridge.service", ROOT / "deploy/container/Containerfile"]
PAST = ("docs/changes.d", "docs/decisions")
"""What is told there was so when it was written."""
BLOCK = re.compile(r"^ *```(\w*)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
KEY = re.compile(r"[a-z][a-z0-9-]*(\.[a-z0-9-]+)+")
FIRST_WORDS = {name.partition(".")[0] for name in KEYS}
COMMAND = re.compile(r"(?:^|[\s/])epochbridge ((?:[a-z][a-z-]* ?)+.*)")
OPTION = re.compile(r"--[a-z][a-z-]*")
SETTING = re.compile(r"--set ([a-z0-9.-]+)=")


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


def test_stale_option_is_found() -> None:
    """Of a command, and of one below it."""
    assert list(stale_options("$ epochbridge serve --old --config x")) == ["serve --old"]
    assert list(stale_options("ExecStart=/opt/bin/epochbridge check-config --stale f")) == ["check-config --stale"]
