"""What comments cite can be looked up in this repository."""

import re

from tests.architecture.source_tree import ALL_FOLDERS, ROOT, source_files

DECISIONS = ROOT / "docs" / "explanation" / "protocol-decisions.md"
CLIENTS = ROOT / "docs" / "reference" / "clients.md"
NUMBERED = re.compile(r"^(\d+)\. ", re.MULTILINE)
DECISION = re.compile(r"\bdecisions? ((?:\d+(?:, | and )?)+)")
CLIENT_RULE = re.compile(r"\bclients\.md, ((?:\d+(?:, | and )?)+)")


def cited(pattern: re.Pattern[str]) -> set[str]:
    """All numbers that stand behind a pattern's words in the sources."""
    lists = (found for file in source_files(ALL_FOLDERS) for found in pattern.findall(file.text))
    return {number for words in lists for number in re.findall(r"\d+", words)}


def test_cited_decisions_are_written_down() -> None:
    """By the number that comments give; the pattern still finds some."""
    known = set(NUMBERED.findall(DECISIONS.read_text(encoding="utf-8")))
    assert {"1", "7", "22"} <= cited(DECISION) <= known


def test_cited_rules_of_clients_are_written_down() -> None:
    """The contract towards classic clients."""
    known = set(NUMBERED.findall(CLIENTS.read_text(encoding="utf-8")))
    assert {"1", "6"} <= cited(CLIENT_RULE) <= known
