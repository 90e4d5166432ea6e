"""The journal's file: what was acknowledged is there after any death, and damage is never read over."""

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from bridge.journal.refusals import JournalDamaged, JournalForeign, JournalInUse, JournalRefused
from bridge.journal.sqlite_file import FileSettings, open_file, recover_file
from bridge.ports import JournalFull

BLOCKS = [[b"a", b"b"], [b"c" * 10_000], [b"d"]]
ENTRIES = [entry for block in BLOCKS for entry in block]


def settings_in(folder: Path) -> FileSettings:
    """A journal of this folder."""
    return FileSettings(path=folder / "journal.db")


def write(settings: FileSettings) -> None:
    """Fill a journal and close it properly."""
    with closing(open_file(settings)) as file:
        for block in BLOCKS:
            file.append(block)


def killed_copy(settings: FileSettings, folder: Path) -> FileSettings:
    """What a kill -9 leaves of a journal that is open and written to: the files as they are at this moment."""
    folder.mkdir()
    for suffix in ("", "-wal"):
        shutil.copy(settings.path.with_name(settings.path.name + suffix), folder)
    return settings_in(folder)


def entries_of(settings: FileSettings) -> list[bytes]:
    """All that a journal holds."""
    with closing(open_file(settings)) as file:
        return list(file.replay())


def spoil(path: Path, needle: bytes) -> None:
    """Flip a bit of the first place that holds these bytes."""
    data = bytearray(path.read_bytes())
    data[data.index(needle)] ^= 1
    path.write_bytes(data)


def wal_of(settings: FileSettings) -> Path:
    """The write-ahead log of a journal."""
    return settings.path.with_name(settings.path.name + "-wal")


def test_entries_outlive_a_proper_end(tmp_path: Path) -> None:
    """Written, closed, opened: the same entries in the same order, and new ones go behind them."""
    settings = settings_in(tmp_path)
    write(settings)
    with closing(open_file(settings)) as file:
        file.append([b"e"])
    assert entries_of(settings) == [*ENTRIES, b"e"]
    assert not wal_of(settings).exists()


@pytest.mark.parametrize("sync", ["full", "normal"])
def test_entries_outlive_a_kill(tmp_path: Path, sync: str) -> None:
    """Every append that returned is there, whatever the process was doing (kill -9)."""
    settings = replace(settings_in(tmp_path), sync=sync)
    with closing(open_file(settings)) as file:
        for number, block in enumerate(BLOCKS):
            file.append(block)
            copy = killed_copy(settings, tmp_path / f"copy-{number}")
            with closing(open_file(copy)) as found:
                assert list(found.replay()) == [entry for written in BLOCKS[: number + 1] for entry in written]
                assert found.cut_frames == 0


@pytest.mark.parametrize("cut_bytes", [1, 24, 4_000, 4_119])
def test_torn_tail_is_cut_and_reported(tmp_path: Path, cut_bytes: int) -> None:
    """An append that was cut off is dropped whole, everything before it stays."""
    settings = settings_in(tmp_path)
    with closing(open_file(settings)) as file:
        for block in BLOCKS:
            file.append(block)
        copy = killed_copy(settings, tmp_path / "copy")
    wal = wal_of(copy)
    wal.write_bytes(wal.read_bytes()[:-cut_bytes])
    with closing(open_file(copy)) as found:
        assert list(found.replay()) == ENTRIES[:-1]
        assert found.cut_frames > 0
        found.append([b"e"])
    assert entries_of(copy) == [*ENTRIES[:-1], b"e"]


def test_damaged_block_refuses_to_open(tmp_path: Path) -> None:
    """A bit that flipped in the body is never read over; the way out is named."""
    settings = settings_in(tmp_path)
    write(settings)
    spoil(settings.path, b"c" * 100)
    with (
        closing(open_file(settings)) as file,
        pytest.raises(JournalDamaged, match=r"block 2 of 3 is not whole.*serve --recover"),
    ):
        list(file.replay())


def test_damaged_log_refuses_to_open(tmp_path: Path) -> None:
    """SQLite would drop acknowledged appends behind the damage without a word."""
    settings = settings_in(tmp_path)
    with closing(open_file(settings)) as file:
        for block in BLOCKS:
            file.append(block)
        copy = killed_copy(settings, tmp_path / "copy")
    spoil(wal_of(copy), b"c" * 100)
    with pytest.raises(JournalDamaged, match="2 appends behind frame"):
        open_file(copy)


def test_damaged_log_header_refuses_to_open(tmp_path: Path) -> None:
    """SQLite would take such a log for an empty one."""
    settings = settings_in(tmp_path)
    with closing(open_file(settings)) as file:
        file.append([b"a"])
        copy = killed_copy(settings, tmp_path / "copy")
    data = bytearray(wal_of(copy).read_bytes())
    data[16] ^= 1
    wal_of(copy).write_bytes(data)
    with pytest.raises(JournalDamaged, match="its write-ahead log is not whole"):
        open_file(copy)


def test_missing_block_refuses_to_open(tmp_path: Path) -> None:
    """Numbers without a gap show that nothing was lost in between."""
    settings = settings_in(tmp_path)
    write(settings)
    with closing(sqlite3.connect(settings.path, isolation_level=None)) as other:
        other.execute("DELETE FROM block WHERE number = 1")
    with closing(open_file(settings)) as file, pytest.raises(JournalDamaged, match="block 1 of 3"):
        list(file.replay())


def test_recovery_keeps_what_is_whole_and_the_damaged_file(tmp_path: Path) -> None:
    """The way out: blocks before the damage go on, the damaged file stays for whoever wants to look."""
    settings = settings_in(tmp_path)
    write(settings)
    spoil(settings.path, b"c" * 100)
    assert recover_file(settings) == tmp_path / "journal.db.damaged-1"
    assert entries_of(settings) == [b"a", b"b"]
    assert b"c" * 99 in (tmp_path / "journal.db.damaged-1").read_bytes()
    assert recover_file(settings) is None


def test_recovery_of_a_spoiled_header_begins_anew(tmp_path: Path) -> None:
    """A file that is not SQLite any more holds nothing that could go on."""
    settings = settings_in(tmp_path)
    write(settings)
    spoil(settings.path, b"SQLite format 3")
    with pytest.raises(JournalDamaged, match="is no SQLite file"):
        open_file(settings)
    assert recover_file(settings) == tmp_path / "journal.db.damaged-1"
    assert entries_of(settings) == []


def test_full_journal_takes_all_or_nothing(tmp_path: Path) -> None:
    """What does not fit leaves nothing behind, what was written before is safe, and room makes it work again."""
    settings = replace(settings_in(tmp_path), bytes_max=65_536)
    with closing(open_file(settings)) as file:
        file.append([b"first"])
        with pytest.raises(JournalFull, match="EB-JOURNAL-010"):
            file.append([b"x" * 100_000])
        assert list(file.replay()) == [b"first"]
        file.append([b"second"])
    assert entries_of(settings) == [b"first", b"second"]


def test_second_process_is_refused(tmp_path: Path) -> None:
    """Two bridges with one journal would be two owners of every partition."""
    settings = settings_in(tmp_path)
    program = (
        "import sys; from pathlib import Path; from bridge.journal.sqlite_file import FileSettings, open_file\n"
        "file = open_file(FileSettings(path=Path(sys.argv[1]))); print('open', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", program, str(settings.path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        with pytest.raises(JournalInUse, match="is open in another process"):
            open_file(settings)
        other.kill()
    assert entries_of(settings) == []


def test_replaced_blocks_keep_the_order(tmp_path: Path) -> None:
    """Compaction puts one block in the place of the first ones; what came behind stays behind."""
    settings = settings_in(tmp_path)
    with closing(open_file(settings)) as file:
        for block in BLOCKS:
            file.append(block)
        file.replace(2, [b"ab", b"c"])
        assert list(file.replay(2)) == [b"ab", b"c"]
        file.append([b"e"])
    assert entries_of(settings) == [b"ab", b"c", b"d", b"e"]


def test_file_of_another_program_is_left_alone(tmp_path: Path) -> None:
    """A wrong path does not cost anybody a database."""
    settings = settings_in(tmp_path)
    with closing(sqlite3.connect(settings.path)) as other:
        other.execute("CREATE TABLE mine (x)")
    with pytest.raises(JournalForeign, match="another program's database"):
        open_file(settings)


def test_newer_schema_is_refused(tmp_path: Path) -> None:
    """A downgrade guesses nothing."""
    settings = settings_in(tmp_path)
    write(settings)
    with closing(sqlite3.connect(settings.path)) as other:
        other.execute("PRAGMA user_version = 2")
    with pytest.raises(JournalForeign, match="has schema 2, this release reads 1"):
        open_file(settings)


def test_missing_folder_is_named(tmp_path: Path) -> None:
    """The error shows the path and what to look at."""
    with pytest.raises(JournalRefused, match=r"nowhere/journal\.db can't be opened.*check journal\.path"):
        open_file(settings_in(tmp_path / "nowhere"))
