"""`serve` as a process with its journal: kept by default, refused with a sentence, recovered when told to."""

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from bridge.demo.services import free_place
from bridge.journal.sqlite_file import FileSettings, open_file

WAIT_S = 90
NOBODY = "127.0.0.1:1"
"""A bridge starts without its broker, and keeps its journal all the same."""


def command(*options: str) -> list[str]:
    """`epochbridge serve` for groups `orders-*`, in a place of its own."""
    place = free_place().listen
    words = [sys.executable, "-m", "bridge", "serve", "--bootstrap", NOBODY, "--listen", place, "--admin", "off"]
    return [*words, "--embedded", "orders-*", *options]


@contextmanager
def serving(words: list[str], environment: dict[str, str] | None = None) -> Iterator["subprocess.Popen[str]"]:
    """A bridge that waits for its cluster, and is stopped at the end if it still runs."""
    chosen = {**os.environ, **(environment or {})}
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=chosen) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline().startswith("epochbridge waits")
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            process.communicate(timeout=WAIT_S)


def refusal(words: list[str]) -> str:
    """The last line of a bridge that does not start."""
    ended = subprocess.run(words, capture_output=True, text=True, timeout=WAIT_S, check=False)
    assert (ended.returncode, ended.stdout, "Traceback" in ended.stderr) == (1, "", False)
    return ended.stderr.splitlines()[-1]


def test_journal_is_kept_without_any_setting(tmp_path: Path) -> None:
    """A folder, and a file for each road that a group may take, and the same files in the next life."""
    words = command()
    listen = words[words.index("--listen") + 1]
    place = f"{listen}-{NOBODY}".replace(":", "_")
    for _ in range(2):
        with serving(words, {"XDG_STATE_HOME": str(tmp_path), "STATE_DIRECTORY": ""}):
            names = {path.name for path in (tmp_path / "epochbridge").glob("*.db")}
            assert names == {f"{place}.db", f"{place}-upstream.db"}


def test_second_bridge_of_a_journal_is_refused(tmp_path: Path) -> None:
    """Two owners of one group would hand out every partition twice."""
    path = f"journal.path={tmp_path / 'journal.db'}"
    with serving(command("--set", path)):
        line = refusal(command("--set", path))
    assert line.startswith("Error: EB-JOURNAL-002: ")
    assert "stop the other one, or name another file in journal.path" in line


def test_damaged_journal_is_refused_until_told_to_recover(tmp_path: Path) -> None:
    """The operator decides, and the damaged file is kept."""
    settings = FileSettings(path=tmp_path / "journal.db")
    with closing(open_file(settings)) as file:
        file.append([b"A"])
        file.append([b"A"])
    with closing(sqlite3.connect(settings.path)) as spoiler:
        spoiler.execute("UPDATE block SET checksum = checksum + 1 WHERE number = 2")
        spoiler.commit()
    words = command("--set", f"journal.path={settings.path}", "--set", "bridges.group=off")
    line = refusal(words)
    assert line.startswith("Error: EB-JOURNAL-003: the journal is damaged: block 2 of 2 is not whole")
    assert "epochbridge serve --recover" in line
    with serving([*words, "--recover"]):
        assert settings.path.with_name("journal.db.damaged-1").exists()
    with closing(open_file(settings)) as file:
        assert list(file.replay()) == [b"A"]
