"""The tables of a journal's database: made, checked word for word, brought up from the release before, mended."""

import sqlite3
from dataclasses import dataclass
from pathlib import Path

from bridge.journal.refusals import JournalDamaged, JournalForeign

APPLICATION_ID = 0x45424A4E
"""Marks the file as a journal of the bridge (`EBJN`)."""
SCHEMA_VERSION = 2
IDENTITY_BYTES = 16
_BLOCK = "CREATE TABLE block (number INTEGER PRIMARY KEY, entries BLOB NOT NULL, checksum INTEGER NOT NULL) STRICT"
_HEAD = "CREATE TABLE head (only INTEGER PRIMARY KEY CHECK (only = 0), first INTEGER NOT NULL) STRICT"
_ORIGIN = (
    "CREATE TABLE origin (only INTEGER PRIMARY KEY CHECK (only = 0), identity BLOB NOT NULL, dropped INTEGER NOT NULL) "
    "STRICT"
)
_TABLES = {1: (_BLOCK, _HEAD), 2: (_BLOCK, _HEAD, _ORIGIN)}
"""By the version of the schema; their first pages are the second of the file and those behind it, in this order."""
_NAMES = ("block", "head", "origin")
_FIRST_PAGE = 2


@dataclass(frozen=True, slots=True)
class Origin:
    """Which journal this is, and how many of its entries are gone by condensing."""

    identity: bytes
    dropped: int


def schema_version(connection: sqlite3.Connection, path: Path) -> int:
    """The version of a journal that is there, 0 for a new file; raises JournalForeign and JournalDamaged."""
    application_id = _number(connection, "PRAGMA application_id")
    version = _number(connection, "PRAGMA user_version")
    texts = tuple(text for (text,) in connection.execute("SELECT sql FROM sqlite_schema ORDER BY rowid"))
    if (application_id, version, texts) == (0, 0, ()):
        return 0
    if application_id != APPLICATION_ID:
        if texts in _TABLES.values():
            raise JournalDamaged("the mark of its header is not a journal's")
        raise JournalForeign(f"{path} is another program's database; name a file of its own in journal.path")
    if version not in _TABLES:
        raise JournalForeign(
            f"{path} has schema {version}, this release reads {SCHEMA_VERSION}; start the newer release again"
        )
    if texts != _TABLES[version]:
        raise JournalDamaged("its schema is not what was written")
    return version


def create(connection: sqlite3.Connection, origin: Origin) -> None:
    """Make the tables of a new journal, inside a transaction."""
    for statement in (_BLOCK, _HEAD, "INSERT INTO head VALUES (0, 1)", f"PRAGMA application_id = {APPLICATION_ID}"):
        connection.execute(statement)
    upgrade(connection, origin)


def upgrade(connection: sqlite3.Connection, origin: Origin) -> None:
    """Make a journal of version 1 one of version 2, inside a transaction."""
    connection.execute(_ORIGIN)
    connection.execute("INSERT INTO origin VALUES (0, ?, ?)", (origin.identity, origin.dropped))
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def fresh_identity(connection: sqlite3.Connection) -> bytes:
    """What tells a new journal from every other one."""
    (identity,) = connection.execute(f"SELECT randomblob({IDENTITY_BYTES})").fetchone()
    assert isinstance(identity, bytes), "a blob"
    return identity


def read_origin(connection: sqlite3.Connection) -> Origin:
    """The origin as it is written; raises JournalDamaged."""
    match connection.execute("SELECT identity, dropped FROM origin").fetchall():
        case [(bytes(identity), int(dropped))] if len(identity) == IDENTITY_BYTES:
            return Origin(identity, dropped)
        case _:
            raise JournalDamaged("nothing whole says which journal it is")


def read_ends(connection: sqlite3.Connection) -> tuple[int, int]:
    """The numbers of the first and of the last block, the last being 0 for none yet; raises JournalDamaged."""
    heads = connection.execute("SELECT first FROM head").fetchall()
    (found_first, found_last) = connection.execute("SELECT min(number), max(number) FROM block").fetchone()
    match heads:
        case [(int(first),)] if found_first is None and first >= 1:
            return first, first - 1
        case [(int(first),)] if found_first == first >= 1:
            return first, found_last
        case _:
            raise JournalDamaged(f"block {heads and heads[0][0]} is to be the first, block {found_first} is")


def mend(connection: sqlite3.Connection) -> None:
    """Write the texts of the tables anew, where they are spoiled: of a copy that only has to be read."""
    connection.execute("PRAGMA writable_schema = ON")
    for rowid, (name, text) in enumerate(zip(_NAMES, _TABLES[SCHEMA_VERSION], strict=True), start=1):
        page = _FIRST_PAGE + rowid - 1
        connection.execute(
            "UPDATE sqlite_schema SET type = 'table', name = ?, tbl_name = ?, rootpage = ?, sql = ? WHERE rowid = ?",
            (name, name, page, text, rowid),
        )


def _number(connection: sqlite3.Connection, query: str) -> int:
    (number,) = connection.execute(query).fetchone()
    assert isinstance(number, int), "asked of counts and of the pragmas that are numbers"
    return number
