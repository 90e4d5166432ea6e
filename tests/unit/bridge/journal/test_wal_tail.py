"""The write-ahead log as SQLite leaves it, read frame by frame."""

import sqlite3
from contextlib import closing
from pathlib import Path

from bridge.journal.wal_tail import WalScan, scan_log, settled


def write_log(path: Path, rows: int) -> bytes:
    """The log of so many transactions, taken while the database is open."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        for number in range(rows):
            connection.execute(f"CREATE TABLE t{number} (x)")
        return path.with_name(path.name + "-wal").read_bytes()


def test_missing_log_has_no_frames() -> None:
    """After a proper end there is none."""
    assert scan_log(b"") == WalScan()


def test_frames_and_commits_are_counted(tmp_path: Path) -> None:
    """Each transaction ends with one commit frame; SQLite counts the same frames."""
    scan = scan_log(write_log(tmp_path / "a.db", 3))
    assert len(scan.commits) == 3
    assert scan.commits[-1] == scan.frames
    assert (scan.odd_bytes, scan.has_broken_header) == (0, False)
    assert (scan.lost_frames(scan.frames), scan.lost_commits(scan.frames)) == (0, 0)
    assert (scan.lost_frames(0), scan.lost_commits(0)) == (scan.frames, 3)


def test_half_a_frame_is_odd(tmp_path: Path) -> None:
    """What was cut in the middle of a frame is seen."""
    whole = scan_log(write_log(tmp_path / "a.db", 2)[:-100])
    assert whole.odd_bytes > 0
    assert len(whole.commits) == 1


def test_frames_of_an_older_log_do_not_count(tmp_path: Path) -> None:
    """A log that begins anew overwrites the old one in place; the rest of it has other salts."""
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        for number in range(5):
            connection.execute(f"CREATE TABLE t{number} (x)")
        connection.execute("PRAGMA wal_checkpoint(RESTART)")
        connection.execute("CREATE TABLE anew (x)")
        scan = scan_log(path.with_name("a.db-wal").read_bytes())
    assert len(scan.commits) == 1


def test_broken_header_is_seen(tmp_path: Path) -> None:
    """Its checksum tells."""
    data = bytearray(write_log(tmp_path / "a.db", 1))
    data[17] ^= 1
    assert scan_log(bytes(data)).has_broken_header
    assert scan_log(b"\0" * 10) == WalScan(odd_bytes=10)


def tables_in(database: bytes) -> list[str]:
    """As SQLite reads them."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(database)
        return [name for (name,) in connection.execute("SELECT name FROM sqlite_schema ORDER BY rowid")]


def test_database_is_read_with_what_its_log_has_written(tmp_path: Path) -> None:
    """Whole transactions one after the other, in a database that they make larger; nothing of one that is cut off or
    spoiled, nor of what is behind it.
    """
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        database = path.read_bytes()
        ends = [0]
        for number in range(3):
            connection.execute(f"CREATE TABLE t{number} (x)")
            ends.append(path.with_name("a.db-wal").stat().st_size)
        log = path.with_name("a.db-wal").read_bytes()
    assert tables_in(settled(database, b"")) == []
    for number, end in enumerate(ends):
        assert tables_in(settled(database, log[:end])) == [f"t{before}" for before in range(number)]
    spoiled = bytearray(log)
    spoiled[ends[1] + 100] ^= 1
    assert tables_in(settled(database, bytes(spoiled))) == ["t0"]
    assert tables_in(settled(database, log[: ends[3] - 1])) == ["t0", "t1"]


def test_pages_of_an_older_log_are_not_read(tmp_path: Path) -> None:
    """They are in the database already, which has gone on since."""
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        for number in range(5):
            connection.execute(f"CREATE TABLE t{number} (x)")
        connection.execute("PRAGMA wal_checkpoint(RESTART)")
        connection.execute("DROP TABLE t4")
        database, log = path.read_bytes(), path.with_name("a.db-wal").read_bytes()
    assert tables_in(settled(database, log)) == ["t0", "t1", "t2", "t3"]
