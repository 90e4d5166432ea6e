"""Tutorials, typed as they stand there: one's own rebalance in a fresh copy, the others on a Kafka that is there."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bridge.demo.services import free_place
from tests.support.browser import VARIABLE, find_browser
from tests.support.kafka import KafkaUnderTest
from tests.support.png import count_colours
from tests.support.tutorials import script_of

ROOT = Path(__file__).resolve().parents[2]
PAGE = "docs/tutorial/see-your-own-rebalance.md"
MOVE_PAGE = "docs/tutorial/move-a-live-group.md"
ROLL_PAGE = "docs/tutorial/roll-a-group.md"
COPIED = ("bridge", "translators", "deploy", "docs", "README.md", "LICENSE", "pyproject.toml")
TYPING_S = 1_200.0
"""On a quiet machine it is a minute and a half; the environment is made anew."""
MOVING_S = 240.0
PROGRAMS = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
"""The environment of the tests in the place of the one that the page makes."""
REVOKING = (217, 138, 18)
WAITED = re.compile(r"client carl waited [\d.]+ s for anna-\S+ to hear of it and give up orders-\d")


def copy_project(directory: Path) -> None:
    """What somebody gets who fetches the project, without what has been made in it."""
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, directory / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, directory / name)


def type_commands(script: str, directory: Path, **more: str) -> tuple[int, str]:
    """The status and what was said, with more variables; nothing that was started outlives this."""
    bare = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")} | more
    said = directory / "terminal.txt"
    with said.open("wb") as terminal:
        shell = subprocess.Popen(
            ["bash", "-c", script], cwd=directory, env=bare, stdout=terminal, stderr=terminal, start_new_session=True
        )
    try:
        status = shell.wait(TYPING_S)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGKILL)
        shell.wait()
    return status, said.read_text(encoding="utf-8", errors="replace")


@pytest.mark.timeout(TYPING_S + 60)
def test_tutorial_ends_with_the_picture_of_ones_own_rebalance(tmp_path: Path) -> None:
    """From nothing but Python to a page that says that carl waited for anna, by the tutorial's own commands."""
    copy_project(tmp_path)
    place = free_place()
    script = script_of(tmp_path / PAGE, {"127.0.0.1:9192": place.listen, "127.0.0.1:9190": place.admin})
    status, words = type_commands(script, tmp_path)
    assert status == 0, words[-9_000:]
    page = tmp_path / "my-rebalance.html"
    assert "carl" in page.read_text(encoding="utf-8")
    assert WAITED.search(re.sub(r"\s+", " ", words)), words[-9_000:]
    browser = find_browser()
    if browser is None:
        pytest.skip(f"the page is right, and no browser is here to look at it: name one in {VARIABLE}")
    picture = tmp_path / "my-rebalance.png"
    browser.take_picture(page, picture, 1_180, 700)
    assert count_colours(picture)[REVOKING] > 100


@pytest.mark.timeout(MOVING_S + 60)
def test_tutorial_moves_a_live_group_there_and_back_unnoticed(kafka_43: KafkaUnderTest, tmp_path: Path) -> None:
    """By its own commands, which fail if a callback was called; its first, the demo, is tried elsewhere."""
    place = free_place()
    instead = {
        "127.0.0.1:9192": place.listen,
        "127.0.0.1:9190": place.admin,
        "localhost:9092": kafka_43.bootstrap,
        "python3 deploy/quickstart.py demo --move": "true",
        ". .venv/bin/activate": "true",
    }
    status, words = type_commands(script_of(ROOT / MOVE_PAGE, instead), tmp_path, PATH=PROGRAMS)
    assert status == 0, words[-9_000:]
    assert words.count("not moved: ") == 1, words[-9_000:]
    assert words.count("done: ") >= 3, words[-9_000:]
    for name in ("anna", "bert"):
        assert '"event": "ended"' in (tmp_path / f"{name}.log").read_text(encoding="utf-8")
        assert '"event": "committed"' in (tmp_path / f"{name}2.log").read_text(encoding="utf-8")


@pytest.mark.timeout(MOVING_S + 60)
def test_tutorial_rolls_a_group_before_a_kafka_3_and_back(kafka_39: KafkaUnderTest, tmp_path: Path) -> None:
    """Three looks at the group: bert is classic, then of the new protocol without a generation, then classic again."""
    place = free_place()
    instead = {
        "127.0.0.1:9192": place.listen,
        "127.0.0.1:9190": place.admin,
        "localhost:9092": kafka_39.bootstrap,
        "python3 -m venv .venv": "true",
        ".venv/bin/pip install -c deploy/constraints.txt '.[demo]'": "true",
        ". .venv/bin/activate": "true",
    }
    more = {"PATH": PROGRAMS, "XDG_STATE_HOME": str(tmp_path)}
    status, words = type_commands(script_of(ROOT / ROLL_PAGE, instead), tmp_path, **more)
    assert status == 0, words[-9_000:]
    assert f"epochbridge ready: clients {place.listen}, " in words
    looks = [line.split() for line in words.splitlines() if re.match(r"\S+ +bert ", line)]
    assert [("classic" in look, "consumer" in look, "-" in look) for look in looks] == [
        (True, False, False),
        (False, True, True),
        (True, False, False),
    ], words[-9_000:]
    for name in ("anna", "bert3", "carl"):
        assert '"event": "committed"' in (tmp_path / f"{name}.log").read_text(encoding="utf-8")
    counts = [int(found) for found in re.findall(r"^(?:anna|bert2)\.log:(\d+)$", words, re.MULTILINE)]
    assert len(counts) == 4, words[-9_000:]
    assert all(before < after for before, after in zip(counts[:2], counts[2:], strict=True)), counts
