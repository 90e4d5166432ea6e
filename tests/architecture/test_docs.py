"""What the documentation names is there: files, links, commands and options, error codes, the line `ready`."""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from bridge.app import service_notices
from bridge.cli.main import Commands, cli
from tests.architecture.source_tree import ROOT

PAGES = sorted(
    page
    for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))
    if "changes.d" not in page.parts and page.name != "CHANGELOG.md"
)
NOTES = (ROOT / "CHANGELOG.md", *sorted((ROOT / "docs" / "changes.d").glob("[0-9]*.md")))
"""What is read as one page at the top: a release puts the notes into the changelog, with their links."""
SOURCES = ("bridge/", "translators/", "tests/", "deploy/", "docs/")
OLD_NAMES = ("docs/decisions/",)
"""Pages that may name what has gone: a decision tells of its day."""


def lines_of(page: Path) -> Iterator[tuple[str, str]]:
    """Yield each line with its place."""
    name = page.relative_to(ROOT)
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        yield f"{name}:{number}", line


def every_line(*, with_decisions: bool = True) -> Iterator[tuple[str, str]]:
    """Yield the lines of all pages."""
    for page in PAGES:
        if with_decisions or not str(page.relative_to(ROOT)).startswith(OLD_NAMES):
            yield from lines_of(page)


def test_no_line_ends_in_blanks() -> None:
    """Two of them are a line break, and one is where a paragraph was cut in two."""
    assert [place for place, line in every_line() if line != line.rstrip()] == []


def test_named_files_are_there() -> None:
    """`bridge/engine/apply.py` in backticks is a file or a folder, a pattern matches something."""
    missing = [
        f"{place} {name}"
        for place, line in every_line(with_decisions=False)
        for name in re.findall(rf"`((?:{'|'.join(SOURCES)})[\w./*-]*)`", line)
        if not any(True for _ in ROOT.glob(name.rstrip("/")))
    ]
    assert missing == []


def test_rooms_name_what_is_in_the_code() -> None:
    """`ports.Coordinator` in backticks on the page of the rooms is a word of the sources, in each of its parts."""
    sources = (
        path.read_text(encoding="utf-8") for room in ("bridge", "translators") for path in (ROOT / room).rglob("*.py")
    )
    words = set(re.findall(r"\w+", " ".join(sources)))
    page = ROOT / "docs/explanation/rooms.md"
    missing = [
        f"{place} {name}"
        for place, line in lines_of(page)
        for name in re.findall(r"`([A-Za-z_]+(?:\.[A-Za-z_]+)+)`", line)
        if not name.startswith("tool.")
        and not name.endswith((".py", ".md", ".toml"))
        and not {*name.split(".")} <= words
    ]
    assert missing == []


def test_links_lead_somewhere() -> None:
    """A link to a file of ours, and to a heading in it."""
    broken = []
    for page in (*PAGES, *NOTES):
        folder = ROOT if page in NOTES else page.parent
        for place, line in lines_of(page):
            for target in re.findall(r"\]\(([^)#:\s]*)(?:#[^)\s]*)?\)", line):
                if target and not (folder / target).exists():
                    broken.append(f"{place} {target}")
    assert broken == []


def linked(page: Path) -> set[Path]:
    """The pages and folders that a page links to."""
    text = page.read_text(encoding="utf-8")
    return {(page.parent / target).resolve() for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)\s]*)?\)", text)}


def test_page_is_found_from_the_readme() -> None:
    """By links alone; a link to a folder leads to all that lies in it."""
    reached, waiting = {ROOT / "README.md"}, [ROOT / "README.md"]
    while waiting:
        found = linked(waiting.pop())
        found |= {page for folder in found if folder.is_dir() for page in folder.glob("*.md")}
        fresh = {page for page in found & {*PAGES} if page not in reached}
        reached |= fresh
        waiting += fresh
    assert sorted(str(page.relative_to(ROOT)) for page in {*PAGES} - reached) == []


def test_row_of_a_table_stands_in_it_and_once() -> None:
    """What a merge leaves behind: a row alone under a text, or the same row twice on a page; a head may come again."""
    strays = []
    for page in PAGES:
        lines = page.read_text(encoding="utf-8").splitlines()
        rows = [number for number, line in enumerate(lines) if re.match(r"\| [^-]", line)]
        begins = [number for number in rows if not lines[number - 1].startswith("|")]
        heads = {
            number for number in rows if lines[number + 1 : number + 2] and re.match(r"\|[-:| ]+$", lines[number + 1])
        }
        strays += [f"{page.relative_to(ROOT)}:{number + 1} has no head" for number in begins if number not in heads]
        if page.parent.name in {"explanation", "howto"}:
            told = [lines[number] for number in rows if number not in heads]
            strays += [f"{page.relative_to(ROOT)} twice: {line}" for line in {*told} if told.count(line) > 1]
    assert strays == []


def test_every_room_is_in_the_guide() -> None:
    """Who wants to change something finds its room in `rooms.md`."""
    guide = (ROOT / "docs/explanation/rooms.md").read_text(encoding="utf-8")
    rooms = [folder.name for folder in (ROOT / "bridge").iterdir() if (folder / "__init__.py").is_file()]
    assert "engine" in rooms
    assert [room for room in rooms if f"`bridge/{room}/" not in guide] == []


def headings(page: Path) -> set[str]:
    """The anchors of a page, as the usual renderers make them of headings."""
    found = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in found}


def test_links_lead_to_headings() -> None:
    """The part behind # is a heading of that page."""
    broken = []
    for page in (*PAGES, *NOTES):
        folder = ROOT if page in NOTES else page.parent
        for place, line in lines_of(page):
            for target, anchor in re.findall(r"\]\(([^)#:\s]*)#([^)\s]*)\)", line):
                other = folder / target if target else page
                if other.suffix == ".md" and anchor not in headings(other):
                    broken.append(f"{place} {target}#{anchor}")
    assert broken == []


def command_of(words: list[str]) -> tuple[click.Command, list[str]] | None:
    """The command that words name, with what comes behind; None if there is none."""
    command: click.Command = cli
    context = click.Context(cli)
    while words and isinstance(command, click.Group):
        found = command.get_command(context, words[0])
        if found is None:
            return None
        command, words = found, words[1:]
    return command, words


def shown_commands() -> Iterator[tuple[str, list[str]]]:
    """Yield what stands behind `epochbridge` in code."""
    for place, line in every_line(with_decisions=False):
        for text in (
            *re.findall(r"`epochbridge ([a-z][^`]*)`", line),
            *re.findall(r"^(?:    |\$ )?epochbridge ([a-z].*)$", line),
        ):
            if not text.startswith("ready:"):
                yield place, text.split("#")[0].split("|")[0].split()


def test_shown_commands_and_options_exist() -> None:
    """What a reader types is understood: the names of commands and options, not their values."""
    assert isinstance(cli, Commands)
    wrong = []
    for place, words in shown_commands():
        found = command_of(words)
        if found is None:
            wrong.append(f"{place} {' '.join(words)}: no such command")
            continue
        command, rest = found
        known = {option for one in command.params for option in (*one.opts, *one.secondary_opts)} | {
            "--help",
            "--debug",
        }
        wrong += [f"{place} {word}" for word in rest if word.startswith("--") and word.split("=")[0] not in known]
    assert wrong == []


def test_named_error_codes_exist() -> None:
    """A code that a page tells of is one that the bridge says."""
    known = set(re.findall(r"EB-[A-Z]+-\d{3}", (ROOT / "docs/reference/errors.md").read_text(encoding="utf-8")))
    named = {(place, code) for place, line in every_line() for code in re.findall(r"EB-[A-Z]+-\d{3}", line)}
    assert sorted((place, code) for place, code in named if code not in known) == []


@pytest.mark.parametrize(
    "page", [page for page in PAGES if "epochbridge ready:" in page.read_text(encoding="utf-8")], ids=str
)
def test_ready_line_is_the_one_that_is_printed(page: Path) -> None:
    """Its words are those of `service_notices.READY`, and broker N has the port N behind the one after clients'."""
    pattern = (
        re.escape(service_notices.READY)
        .replace(r"\{clients\}", r"[\w.-]+:(\d+)")
        .replace(r"\{brokers\}", r"((?:, )?\d+@\d+)+")
        .replace(r"\{admin\}", r"(?:off|[\w.-]+:\d+)")
    )
    shown = [line.strip() for _, line in lines_of(page) if line.strip().startswith("epochbridge ready:")]
    assert shown
    assert [line for line in shown if not re.fullmatch(pattern, line)] == []
    for line in shown:
        first = 1 + int(re.findall(r"clients \S+:(\d+)", line)[0])
        ports = {int(node): int(port) for node, port in re.findall(r"(\d+)@(\d+)", line)}
        assert ports == {node: first + node for node in ports}, line
