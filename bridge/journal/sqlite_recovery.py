"""Going on with what is whole of a damaged journal, which is kept beside the new one as it was found."""

import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from bridge.journal import acknowledged, sqlite_schema
from bridge.journal.acknowledged import PRIVATE, Unreadable
from bridge.journal.refusals import JournalDamaged
from bridge.journal.sqlite_file import SQLITE_ERRORS, FileSettings, open_file, read_blocks


def recover_file(settings: FileSettings) -> Path | None:
    """Go on with the blocks before the first damaged one; gives where the damaged file is kept, None if all is whole.

    What came behind is lost: its members join anew, and no offset is, since the broker keeps those.
    """
    try:
        with closing(open_file(settings)) as whole:
            for _ in whole.replay():
                pass
    except JournalDamaged:
        return _set_aside(settings)
    return None


def _set_aside(settings: FileSettings) -> Path:
    path = settings.path
    beside = acknowledged.path_beside(path)
    damaged = next(
        name for number in range(1, 1_000_000) if not (name := path.with_name(f"{path.name}.damaged-{number}")).exists()
    )
    kept = _salvage(path, path.with_name(f"{path.name}.reading"))
    try:
        reading = acknowledged.read(beside)
    except Unreadable:
        reading = None
    for suffix in ("-wal", acknowledged.SUFFIX, ""):
        source = path.with_name(path.name + suffix)
        if source.exists():
            source.chmod(PRIVATE)
            source.rename(damaged.with_name(damaged.name + suffix))
    damaged.touch(PRIVATE)
    with closing(open_file(settings)) as renewed:
        renewed.append(kept, () if reading is None else tuple(reading.groups))
    return damaged


def _salvage(path: Path, copy: Path) -> list[bytes]:
    """What is whole of a damaged journal, read from a copy: SQLite changes what it reads."""
    kept: list[bytes] = []
    try:
        for is_mended in (False, True):
            for suffix in ("", "-wal"):
                source = path.with_name(path.name + suffix)
                if source.exists():
                    shutil.copy(source, copy.with_name(copy.name + suffix))
            if not kept and copy.exists():
                _read_copy(copy, kept, is_mended=is_mended)
    finally:
        for suffix in ("-wal", "-shm", ""):
            copy.with_name(copy.name + suffix).unlink(missing_ok=True)
    return kept


def _read_copy(copy: Path, kept: list[bytes], *, is_mended: bool) -> None:
    with suppress(JournalDamaged, *SQLITE_ERRORS):
        if is_mended:
            with closing(sqlite3.connect(copy, isolation_level=None)) as old:
                sqlite_schema.mend(old)
        with closing(sqlite3.connect(copy, isolation_level=None)) as old:
            kept.extend(read_blocks(old, sqlite_schema.read_ends(old)[1]))
