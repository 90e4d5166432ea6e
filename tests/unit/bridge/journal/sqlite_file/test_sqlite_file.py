"""The journal's file: what was acknowledged is there after any death, and damage is never read over."""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from bridge.journal import sqlite_file
from bridge.journal.acknowledged import SUFFIX, path_beside, read
from bridge.journal.refusals import JournalDamaged, JournalForeign, JournalIncomplete, JournalInUse, JournalRefused
from bridge.journal.sqlite import recover_file
from bridge.journal.sqlite_file import FileSettings, Opened, open_file
from bridge.ports import JournalFull, JournalUnavailable

BLOCKS = [[b"a", b"b"], [b"c" * 10_000], [b"d"]]
ENTRIES = [entry for block in BLOCKS for entry in block]


SUFFIXED = "journal.db" + SUFFIX


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
    for suffix in ("", "-wal", SUFFIX):
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


def beside(settings: FileSettings) -> Path:
    """The file that says up to where a journal was acknowledged."""
    return path_beside(settings.path)


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
                assert found.opened == Opened()


@pytest.mark.parametrize("name", [":memory:", "file:journal.db?mode=memory", "file::memory:", "a?b#c%20"])
def test_entries_outlive_an_end_whatever_the_file_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """To SQLite one of these is no file; the bridge said that its groups were kept there."""
    monkeypatch.chdir(tmp_path)
    settings = FileSettings(path=Path(name))
    write(settings)
    assert entries_of(settings) == ENTRIES


def test_what_is_no_file_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    """Whoever began as root with /dev/null for a journal took it from everybody else on the machine."""
    os.mkfifo(path := tmp_path / "journal.db", 0o644)
    path.chmod(0o644)
    with pytest.raises(JournalRefused, match="it is no file but a pipe, a socket or a device"):
        open_file(FileSettings(path=path))
    assert path.stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("cut_bytes", [1, 24, 4_000, 4_119])
def test_torn_tail_is_cut_and_reported(tmp_path: Path, cut_bytes: int) -> None:
    """An append that was cut off before anybody was told of it is dropped whole, everything before it stays."""
    settings = settings_in(tmp_path)
    with closing(open_file(settings)) as file:
        for block in BLOCKS[:-1]:
            file.append(block)
        number = beside(settings).read_bytes()
        file.append(BLOCKS[-1])
        copy = killed_copy(settings, tmp_path / "copy")
    wal = wal_of(copy)
    wal.write_bytes(wal.read_bytes()[:-cut_bytes])
    beside(copy).write_bytes(number)
    with closing(open_file(copy)) as found:
        assert list(found.replay()) == ENTRIES[:-1]
        assert found.opened.cut_frames > 0
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
    with pytest.raises(JournalIncomplete, match="2 entries that had been acknowledged are missing"):
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
    with pytest.raises(JournalIncomplete, match="1 entries that had been acknowledged are missing"):
        open_file(copy)


def test_missing_block_refuses_to_open(tmp_path: Path) -> None:
    """Numbers without a gap show that nothing was lost in between."""
    settings = settings_in(tmp_path)
    write(settings)
    with closing(sqlite3.connect(settings.path, isolation_level=None)) as other:
        other.execute("DELETE FROM block WHERE number = 1")
    with pytest.raises(JournalDamaged, match="block 1 is to be the first, block 2 is"):
        open_file(settings)


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


def database_of_another(path: Path) -> None:
    """As any program has one."""
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE mine (x)")


def database_of_another_that_is_in_use(path: Path) -> None:
    """Its last rows are in its log, as long as its program runs."""
    database_of_another(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("INSERT INTO mine VALUES (1)")
        log = path.with_name(path.name + "-wal")
        kept = path.read_bytes(), log.read_bytes()
    path.write_bytes(kept[0])
    log.write_bytes(kept[1])


def database_of_another_that_has_just_begun(path: Path) -> None:
    """Even its tables are in its log."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("CREATE TABLE mine (x)")
        log = path.with_name(path.name + "-wal")
        kept = path.read_bytes(), log.read_bytes()
    path.write_bytes(kept[0])
    log.write_bytes(kept[1])


def text_of_another(path: Path) -> None:
    """No database at all."""
    path.write_text("root:x:0:0:root:/root:/bin/bash\n" * 100, encoding="utf-8")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (database_of_another, "another program's database"),
        (database_of_another_that_is_in_use, "another program's database"),
        (database_of_another_that_has_just_begun, "another program's database"),
        (text_of_another, "is no SQLite file, and no number of a journal is beside it"),
    ],
)
def test_file_of_another_program_is_left_alone(tmp_path: Path, make: Callable[[Path], None], said: str) -> None:
    """A wrong path costs nobody a database, nor the right to read it: it was made private, and put in another mode
    of SQLite's, before it was looked at. `--recover` takes it for no damaged journal either.
    """
    settings = settings_in(tmp_path)
    make(settings.path)
    settings.path.chmod(0o644)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for try_it in (open_file, recover_file):
        with pytest.raises(JournalForeign, match=rf"journal\.db .*{said}.*; name a file of its own in journal\.path"):
            try_it(settings)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert settings.path.stat().st_mode & 0o777 == 0o644


def test_spoiled_journal_that_lost_its_number_is_another_programs_file(tmp_path: Path) -> None:
    """Nothing tells it from one: whoever knows better moves it away."""
    settings = settings_in(tmp_path)
    write(settings)
    spoil(settings.path, b"SQLite format 3")
    beside(settings).unlink()
    with pytest.raises(JournalForeign, match="no number of a journal is beside it"):
        open_file(settings)


def test_newer_schema_is_refused(tmp_path: Path) -> None:
    """A downgrade guesses nothing."""
    settings = settings_in(tmp_path)
    write(settings)
    with closing(sqlite3.connect(settings.path)) as other:
        other.execute("PRAGMA user_version = 3")
    with pytest.raises(JournalForeign, match="has schema 3, this release reads 2"):
        open_file(settings)


def test_missing_folder_is_named(tmp_path: Path) -> None:
    """The error shows the path and what to look at."""
    with pytest.raises(JournalRefused, match=r"nowhere/journal\.db can't be opened.*check journal\.path"):
        open_file(settings_in(tmp_path / "nowhere"))


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_files_are_private_whatever_the_umask(tmp_path: Path, mask: int) -> None:
    """Database, log and number, also those that were open to others before; and what is kept of a damaged one."""
    before = os.umask(mask)
    try:
        settings = settings_in(tmp_path)
        write(settings)
        settings.path.chmod(0o666)
        with closing(open_file(settings)) as file:
            file.append([b"e"])
            assert rights_in(tmp_path) == {"journal.db": 0o600, "journal.db-wal": 0o600, SUFFIXED: 0o600}
        spoil(settings.path, b"c" * 100)
        recover_file(settings)
        rights = rights_in(tmp_path)
        assert set(rights) == {"journal.db", SUFFIXED, "journal.db.damaged-1", "journal.db.damaged-1.acknowledged"}
        assert set(rights.values()) == {0o600}
    finally:
        os.umask(before)


def rights_in(folder: Path) -> dict[str, int]:
    """Who may do what with each file."""
    return {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}


def test_number_that_can_t_be_written_tells_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk fails between the append and its number: it counts as not written, and the next one as both."""
    settings = settings_in(tmp_path)
    with closing(open_file(settings)) as file:
        file.append([b"a"])
        monkeypatch.setattr(os, "fdatasync", broken_disk)
        with pytest.raises(JournalUnavailable, match="EB-JOURNAL-011: the number beside the journal") as told:
            file.append([b"b"])
        assert "Input/output error" in str(told.value)
        assert "/var/lib" not in str(told.value), "clients are told of it, and whoever asks /readyz"
        monkeypatch.undo()
        file.append([b"c"])
    assert entries_of(settings) == [b"a", b"b", b"c"]


def broken_disk(_: int) -> None:
    """What a disk that fails says."""
    raise OSError(5, "Input/output error", "/var/lib/epochbridge/journal.db.acknowledged")


def test_log_is_settled_every_few_megabytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`normal`: from then on it is known what power can't take; the log does not grow for ever."""
    monkeypatch.setattr(sqlite_file, "CHECKPOINT_BYTES", 100_000)
    settings = replace(settings_in(tmp_path), sync="normal")
    with closing(open_file(settings)) as file:
        for _ in range(60):
            file.append([b"x" * 10_000])
        reading = read(beside(settings))
        assert reading is not None
        assert 50 < reading.acknowledged.durable < reading.acknowledged.last == 60
        assert wal_of(settings).stat().st_size < 300_000
