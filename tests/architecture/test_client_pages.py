"""The pages about client libraries: each says the same things, and names what there is."""

import re
from pathlib import Path

import pytest

from bridge.config.keys import KEYS
from tests.architecture.source_tree import ROOT
from tests.support.casts import KINDS

FOLDER = ROOT / "docs/howto/clients"
LIBRARIES = sorted(page for page in FOLDER.glob("*.md") if page.name != "README.md")
SECTIONS = ("Callbacks", "What lag monitors see", "Sources")
SECURED = ROOT / "docs/howto/log-in-to-a-secured-cluster.md"
PLAYED = re.compile(r"^((?:`[\w-]+`(?:, | and )?)+) (?:of [\d.]+ |\([\d.]+\) )plays? every story", re.MULTILINE)


@pytest.mark.parametrize("page", LIBRARIES, ids=lambda page: page.stem)
def test_page_says_what_every_page_says(page: Path) -> None:
    """Which callbacks change, what monitors see, and where it is from; the overview leads to it."""
    headings = re.findall(r"^## (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert [one for one in SECTIONS if not any(heading.startswith(one) for heading in headings)] == []
    assert f"]({page.name})" in (FOLDER / "README.md").read_text(encoding="utf-8")


def test_pages_name_clients_of_the_matrix() -> None:
    """Whom they call tried plays its stories, and who plays them is called tried."""
    named = [
        name
        for page in LIBRARIES
        for clients in PLAYED.findall(page.read_text(encoding="utf-8"))
        for name in re.findall(r"`([\w-]+)`", clients)
    ]
    assert sorted(named) == sorted(KINDS)


def test_page_on_secured_clusters_names_who_was_tried_there() -> None:
    """All whom `tox run -e secured` has come, on three roads each: the page told of six of them for a day."""
    told = SECURED.read_text(encoding="utf-8").partition("## What was tried")[2]
    named = re.findall(r"`([\w-]+)`", told.partition("Who that is")[2].partition("\n\n")[0])
    assert named == [*KINDS, "franz-go"]
    assert f": {3 * len(named)} passed, 0 failed." in told


def test_pages_name_settings_of_the_coordinator() -> None:
    """As the bridge has them under Kafka's own names, so that a page holds for both roads."""
    known = {*KEYS, *(name.removeprefix("group.") for name in KEYS)}
    pages = [page.read_text(encoding="utf-8") for page in FOLDER.glob("*.md")]
    named = {name for text in pages for name in re.findall(r"`((?:group\.)?consumer\.[a-z.]+[a-z])`", text)}
    assert {name for name in named if not name.startswith("consumer.override")} <= known
    assert len(named) > len(SECTIONS)
