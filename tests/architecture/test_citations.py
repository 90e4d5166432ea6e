"""What comments cite can be looked up in this repository."""

import re
from pathlib import Path

from tests.architecture.source_tree import ALL_FOLDERS, ROOT, source_files

DECISIONS = ROOT / "docs" / "explanation" / "protocol-decisions.md"
PAGES = ROOT / "docs" / "decisions"
FIRST_ABOUT_THE_PROJECT = 101
"""Decisions below are paragraphs of one page; the others have a page each."""
CLIENTS = ROOT / "docs" / "reference" / "clients.md"
KAFKA_RULES = ROOT / "docs" / "reference" / "kafka-rules.md"
NUMBERED = re.compile(r"^(\d+)\. ", re.MULTILINE)
DECISION = re.compile(r"\bdecisions? ((?:\d+(?:, | and )?)+)")
CLIENT_RULE = re.compile(r"\bclients\.md, ((?:\d+(?:, | and )?)+)")
KAFKA_RULE = re.compile(r"\bK(\d+\.\d+(?:\.\d+|[a-z])?)\b")


def cited_numbers(pattern: re.Pattern[str]) -> set[str]:
    """What a pattern's group finds in the sources."""
    return {number for file in source_files(ALL_FOLDERS) for number in pattern.findall(file.text)}


def cited(pattern: re.Pattern[str]) -> set[str]:
    """All numbers that stand behind a pattern's words in the sources."""
    lists = (found for file in source_files(ALL_FOLDERS) for found in pattern.findall(file.text))
    return {number for words in lists for number in re.findall(r"\d+", words)}


def test_cited_decisions_are_written_down() -> None:
    """By the number that comments give; the pattern still finds some."""
    about_the_protocol = set(NUMBERED.findall(DECISIONS.read_text(encoding="utf-8")))
    about_the_project = {str(int(page.name[:4])) for page in PAGES.glob("0*.md")}
    assert max(map(int, about_the_protocol)) < FIRST_ABOUT_THE_PROJECT <= min(map(int, about_the_project))
    pages = {
        number for page in (ROOT / "docs").rglob("*.md") for number in numbers_in(page.read_text(encoding="utf-8"))
    }
    assert {"1", "7", "22"} <= cited(DECISION)
    assert (cited(DECISION) | pages) - about_the_protocol - about_the_project == set()


def test_page_of_a_decision_bears_its_number() -> None:
    """In its name and in its heading."""
    for page in PAGES.glob("0*.md"):
        assert page.read_text(encoding="utf-8").startswith(f"# {int(page.name[:4])}. "), page


def replaced_by(page: Path) -> str | None:
    """The number of the decision that took this one's place; it says so in the line behind its heading."""
    found = re.match(r"# .*\n\nSuperseded by \[decision (\d+)\]", page.read_text(encoding="utf-8"))
    return found and found[1]


def row_in_index(page: Path) -> str:
    """What the index has to say of a page: its heading, and what took its place."""
    heading = page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
    number, _, title = heading.partition(". ")
    later = replaced_by(page)
    mark = "" if later is None else f" **Superseded by [{later}]({next(PAGES.glob(f'{later:>04}-*.md')).name}).**"
    return f"- {number}. [{title}]({page.name}){mark}"


def test_index_has_each_decision_once_under_its_subject() -> None:
    """A list by numbers is read by nobody, and one by subjects goes stale; so a page without a row fails here."""
    index = (PAGES / "README.md").read_text(encoding="utf-8").splitlines()
    begins = next(number for number, line in enumerate(index) if line.startswith("## "))
    listed = [line for line in index[begins:] if "(0" in line]
    wanted = {row_in_index(page) for page in PAGES.glob("0*.md")}
    assert any("Superseded by" in row for row in wanted)
    assert wanted - {*listed} == set(), "put this row under the subject it belongs to"
    assert [row for row in listed if row not in wanted or listed.count(row) > 1] == []
    ranges = [
        (int(first), int(last)) for first, last in re.findall(r"^- (\d+) to (\d+)\. ", "\n".join(index), re.MULTILINE)
    ]
    told = [number for first, last in ranges for number in range(first, last + 1)]
    assert told == sorted(map(int, NUMBERED.findall(DECISIONS.read_text(encoding="utf-8"))))


def numbers_in(text: str) -> set[str]:
    """The numbers of decisions that a page names."""
    return {number for words in DECISION.findall(text) for number in re.findall(r"\d+", words)}


def test_cited_rules_of_clients_are_written_down() -> None:
    """The contract towards classic clients."""
    known = set(NUMBERED.findall(CLIENTS.read_text(encoding="utf-8")))
    assert {"1", "6"} <= cited(CLIENT_RULE) <= known


def rules_of_kafka() -> set[str]:
    """What the page states: rules (`- **2.33**`), their cases (2.33a), sections (0.3), items of lists (0.3.1, 12.9)."""
    known: set[str] = set()
    section = last = ""
    for line in KAFKA_RULES.read_text(encoding="utf-8").splitlines():
        if heading := re.match(r"#{2,3} (\d+(?:\.\d+)?)\b", line):
            section = heading[1]
            known.add(section)
        elif rule := re.match(r"(?:- )?\*\*(\d+\.\d+[a-z]?)\*\*", line):
            last = rule[1]
            known.add(last)
        elif item := re.match(r"(\d+)\. ", line):
            known.add(f"{section}.{item[1]}")
        elif case := re.match(r"   ([a-z])\. ", line):
            known.add(f"{last}{case[1]}")
    return known


def test_cited_rules_of_kafka_are_written_down() -> None:
    """By the number behind the K, also where several stand together (K6.4, K6.7; K4.40 to K4.42)."""
    cited_rules = cited_numbers(KAFKA_RULE)
    assert {"1.59", "11.4", "0.3.1", "12.19"} <= cited_rules
    assert cited_rules - rules_of_kafka() == set()
