"""What goes on of a damaged journal, and what is kept of it."""

from contextlib import closing
from pathlib import Path

import pytest

from bridge.journal.refusals import JournalDamaged
from bridge.journal.sqlite import recover_file
from bridge.journal.sqlite_file import FileSettings, open_file


def settings_in(folder: Path) -> FileSettings:
    """A journal of this folder."""
    return FileSettings(path=folder / "journal.db")


def write(settings: FileSettings) -> None:
    """Fill a journal and close it properly."""
    with closing(open_file(settings)) as file:
        for block in ([b"a", b"b"], [b"c" * 10_000], [b"d"]):
            file.append(block)


def entries_of(settings: FileSettings) -> list[bytes]:
    """All that a journal holds."""
    with closing(open_file(settings)) as file:
        return list(file.replay())


def spoil(path: Path, needle: bytes) -> None:
    """Flip a bit of the first place that holds these bytes."""
    data = bytearray(path.read_bytes())
    data[data.index(needle)] ^= 1
    path.write_bytes(data)


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
