"""A release is one number, wherever it stands, and its notes are in the changelog alone."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.architecture.source_tree import ROOT

IMAGE = re.compile(r"\bepochbridge:(\d+\.\d+\.\d+)")
"""The tag of an image, as pages and packages tell to build it."""
HEADING = re.compile(r"^## (\d+\.\d+\.\d+) \(\d{4}-\d\d-\d\d\)$", re.MULTILINE)
PAST = ("docs/decisions/", "docs/reference/", "CHANGELOG.md")
"""What is told there was so when it was written."""
OURS = ("README.md", "CONTRIBUTING.md", "docs/**/*.md", "deploy/**/*")
SHORT_LINES_MAX = 25
"""Lines of what somebody who upgrades has to read; the list below is for who looks for something."""


def project() -> Mapping[str, object]:
    """The project's own file."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def named_images(texts: Mapping[str, str]) -> dict[str, set[str]]:
    """Which versions of the image each of these texts names, without those that name none."""
    found = {name: set(IMAGE.findall(text)) for name, text in texts.items()}
    return {name: versions for name, versions in found.items() if versions}


def text_of(path: Path) -> str:
    """What a file of ours says."""
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def version() -> str:
    """The one number."""
    told = project()["project"]
    assert isinstance(told, dict)
    return str(told["version"])


def test_notes_are_of_the_version_of_the_package(version: str) -> None:
    """Towncrier has a number of its own, and the changelog begins with what was released last."""
    tools = project()["tool"]
    assert isinstance(tools, dict)
    assert tools["towncrier"]["version"] == version
    assert HEADING.findall(text_of(ROOT / "CHANGELOG.md"))[0] == version


def test_images_have_the_version_of_the_package(version: str) -> None:
    """On pages that tell how to build one, and in the Containerfile; that of the chart is in its own test."""
    files = {path for pattern in OURS for path in ROOT.glob(pattern) if path.is_file()}
    names = {str(path.relative_to(ROOT)): path for path in files}
    texts = {name: text_of(path) for name, path in names.items() if not name.startswith(PAST) and ".pyc" not in name}
    found = named_images(texts)
    assert {"docs/howto/run-in-a-container.md", "deploy/container/Containerfile"} <= found.keys()
    assert {name: versions for name, versions in found.items() if versions != {version}} == {}


def test_old_version_of_an_image_is_found() -> None:
    """And a tag that is no number is none."""
    texts = {"a": "podman run epochbridge:0.1.0", "b": "image: epochbridge:demo", "c": "0.1.0"}
    assert named_images(texts) == {"a": {"0.1.0"}}


def test_no_page_leads_to_a_note() -> None:
    """A release removes them: what a page has to say it says itself."""
    pages = {path.relative_to(ROOT): path for path in (ROOT / "docs").rglob("*.md")}
    told = {str(name): text_of(path) for name, path in pages.items() if name.parts[1] != "changes.d"}
    assert [name for name, text in told.items() if re.search(r"changes\.d/[^)`\s]*\d", text)] == []


def test_notes_are_ones_that_a_release_takes_in() -> None:
    """Towncrier takes `1024.fix.md` for issue 1024 and says so in the changelog."""
    tools = project()["tool"]
    assert isinstance(tools, dict)
    kinds = "|".join(kind["directory"] for kind in tools["towncrier"]["type"])
    notes = {path.name: text_of(path) for path in (ROOT / "docs/changes.d").iterdir() if path.name[0] in "+0123456789"}
    strange = [name for name in notes if not re.fullmatch(rf"\d{{1,3}}\.({kinds})\.\d+\.md", name)]
    assert strange == [], "ISSUE.KIND.NUMBER.md"
    assert [name for name, text in notes.items() if not re.match(r"[A-Z`*]", text)] == [], "a sentence, and no list"
    assert [name for name, text in notes.items() if "\n#" in text or "\n\n" in text] == [], "one paragraph"


def test_last_release_says_in_short_what_is_to_be_heeded() -> None:
    """What is for everybody stands before the list of all that changed, and is no list of everything itself."""
    release = HEADING.split(text_of(ROOT / "CHANGELOG.md"))[2]
    short = release.partition("\n### Added\n")[0]
    assert "### In short" in short
    assert "### Before you upgrade" in short
    assert len([line for line in short.splitlines() if line]) <= SHORT_LINES_MAX
