"""The tables of a journal: new, of the release before, spoiled, another program's."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bridge.journal.refusals import JournalDamaged, JournalForeign
from bridge.journal.sqlite_schema import (
    Origin,
    create,
    fresh_identity,
    mend,
    read_ends,
    read_origin,
    schema_version,
    upgrade,
)

PATH = Path("journal.db")
ORIGIN = Origin(b"i" * 16, 0)


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """An empty database."""
    with closing(sqlite3.connect(tmp_path / "a.db", isolation_level=None)) as opened:
        yield opened


def test_new_journal_has_no_block_and_its_origin(connection: sqlite3.Connection) -> None:
    """What was made is what is checked for."""
    assert schema_version(connection, PATH) == 0
    create(connection, ORIGIN)
    assert schema_version(connection, PATH) == 2
    assert read_origin(connection) == ORIGIN
    assert read_ends(connection) == (1, 0)
    assert len(fresh_identity(connection)) == 16
    assert fresh_identity(connection) != fresh_identity(connection)


def test_upgraded_journal_is_as_a_new_one(connection: sqlite3.Connection) -> None:
    """The table it lacks is made; the others stay."""
    create(connection, ORIGIN)
    connection.execute("DROP TABLE origin")
    connection.execute("PRAGMA user_version = 1")
    assert schema_version(connection, PATH) == 1
    upgrade(connection, Origin(b"j" * 16, 0))
    assert schema_version(connection, PATH) == 2
    assert read_origin(connection).identity == b"j" * 16


def test_tables_of_others_are_left_alone(connection: sqlite3.Connection) -> None:
    """And those of releases to come; a journal whose mark is spoiled is damaged, not another program's."""
    create(connection, ORIGIN)
    connection.execute("PRAGMA user_version = 9")
    with pytest.raises(JournalForeign, match="has schema 9, this release reads 2"):
        schema_version(connection, PATH)
    connection.execute("PRAGMA application_id = 7")
    with pytest.raises(JournalDamaged, match="the mark of its header is not a journal's"):
        schema_version(connection, PATH)
    connection.execute("CREATE TABLE mine (x)")
    with pytest.raises(JournalForeign, match="another program's database"):
        schema_version(connection, PATH)


def test_spoiled_text_is_damage_and_can_be_mended_in_a_copy(tmp_path: Path) -> None:
    """SQLite would read a table by other columns, or refuse in words of its own."""
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        create(connection, ORIGIN)
        connection.execute("INSERT INTO block VALUES (1, x'00', 5)")
    data = path.read_bytes()
    for before, after in ((b"entries BLOB", b"entries BLOA"), (b"tableblock", b"tableblocj")):
        path.write_bytes(data.replace(before, after))
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            with pytest.raises((JournalDamaged, sqlite3.DatabaseError)):
                schema_version(connection, PATH)
            mend(connection)
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            assert schema_version(connection, PATH) == 2
            assert connection.execute("SELECT * FROM block").fetchall() == [(1, b"\0", 5)]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE head SET first = 2",
        "UPDATE head SET first = 0",
        "DELETE FROM head",
        "DELETE FROM origin",
        "UPDATE origin SET identity = x'00'",
    ],
)
def test_rows_that_make_no_sense_are_damage(connection: sqlite3.Connection, statement: str) -> None:
    """Each with its words."""
    create(connection, ORIGIN)
    connection.execute("INSERT INTO block VALUES (1, x'00', 5)")
    connection.execute(statement)
    with pytest.raises(JournalDamaged, match=r"is to be the first|which journal it is"):
        read_ends(connection), read_origin(connection)
