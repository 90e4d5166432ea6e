"""The number beside a journal: written in two places by turns, with the groups that blocks concern.

What is said of a journal that lacks something, and when the machine may have taken it.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from bridge.journal import acknowledged
from bridge.journal.acknowledged import (
    CELLS,
    FILE_BYTES,
    SECTOR_BYTES,
    Acknowledged,
    AcknowledgedFile,
    Counts,
    Loss,
    Reading,
    Unreadable,
    begin,
    find_loss,
    may_be_lost,
    path_beside,
    read,
    refuse_loss,
)

IDENTITY = b"i" * 16


def begun(folder: Path) -> Path:
    """A file that says nothing yet."""
    path = path_beside(folder / "journal.db")
    begin(path, Acknowledged(identity=IDENTITY))
    return path


def reading_of(path: Path) -> Reading:
    """What it says."""
    reading = read(path)
    assert reading is not None
    return reading


def test_what_was_noted_last_is_read(tmp_path: Path) -> None:
    """By whoever opens it next; the file never grows."""
    path = begun(tmp_path)
    assert path.name == "journal.db.acknowledged"
    for number in range(1, 6):
        file = AcknowledgedFile(path, waits=True)
        file.note(Counts(number, 10 * number, number), ["g", f"g{number}"])
        file.close()
        found = reading_of(path)
        assert (found.acknowledged.last, found.acknowledged.written, found.acknowledged.held) == (
            number,
            10 * number,
            number,
        )
        assert found.acknowledged.identity == IDENTITY
        assert found.acknowledged.durable == number
        assert found.groups["g"] == number
    assert reading_of(path).groups_behind(3) == ["g", "g4", "g5"]
    assert path.stat().st_size == FILE_BYTES


def test_without_waiting_only_what_is_settled_is_durable(tmp_path: Path) -> None:
    """`journal.sync: normal`: power may take what came since."""
    path = begun(tmp_path)
    file = AcknowledgedFile(path, waits=False)
    file.note(Counts(7, 7, 7), ())
    assert (file.now.last, file.now.durable, file.now.waits) == (7, 0, False)
    file.settle(Counts(8, 8, 8))
    assert reading_of(path).acknowledged.durable == 8
    file.close()


def test_write_that_is_torn_at_any_byte_leaves_the_number_before_it(tmp_path: Path) -> None:
    """Power fails in the middle of a write: one of two places is always whole."""
    path = begun(tmp_path)
    file = AcknowledgedFile(path, waits=True)
    file.note(Counts(1, 1, 1), ["g"])
    before = path.read_bytes()
    file.note(Counts(2, 2, 2), ["g"])
    after = path.read_bytes()
    file.close()
    for cut in range(len(before)):
        if before[cut] == after[cut]:
            continue
        path.write_bytes(after[:cut] + before[cut:])
        assert reading_of(path).acknowledged.last in (1, 2)
        path.write_bytes(before[: cut + 1] + after[cut + 1 :])
        assert reading_of(path).acknowledged.last in (1, 2)


def test_only_two_broken_places_are_unreadable(tmp_path: Path) -> None:
    """An emptied one, too; no file is no file."""
    path = begun(tmp_path)
    data = bytearray(path.read_bytes())
    data[20] ^= 1
    path.write_bytes(data)
    with pytest.raises(Unreadable, match=r"journal\.db\.acknowledged can't be read"):
        read(path)
    path.write_bytes(b"")
    with pytest.raises(Unreadable, match="0 bytes"):
        read(path)
    path.unlink()
    assert read(path) is None


def test_broken_cell_names_nobody(tmp_path: Path) -> None:
    """The others are still named."""
    path = begun(tmp_path)
    file = AcknowledgedFile(path, waits=True)
    file.note(Counts(1, 1, 1), ["a"])
    file.note(Counts(2, 1, 1), ["b"])
    file.close()
    data = bytearray(path.read_bytes())
    data[data.index(b"a\0", 2 * SECTOR_BYTES)] ^= 2
    path.write_bytes(data)
    assert reading_of(path).groups == {"b": 2}


def test_groups_are_bounded_and_the_least_recent_makes_room(tmp_path: Path) -> None:
    """Whoever has no cell any more is still counted as somebody; long names are cut."""
    path = begun(tmp_path)
    file = AcknowledgedFile(path, waits=False)
    names = [f"group-{number}" for number in range(CELLS)] + ["ö" * 200]
    for number, name in enumerate(names, 1):
        file.note(Counts(number, 0, 0), [name])
    file.note(Counts(len(names) + 1, 0, 0), ["ö" * 200])
    file.close()
    found = reading_of(path)
    assert len(found.groups) == CELLS
    assert "group-0" not in found.groups
    assert found.acknowledged.forgotten == 1
    assert [name for name in found.groups if name.startswith("ö")] == ["ö" * 54 + "..."]


@pytest.fixture(params=[0o000, 0o022, 0o077, 0o277])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    """Whatever the process was started with."""
    mask: int = request.param
    before = os.umask(mask)
    yield mask
    os.umask(before)


def test_file_is_private_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    """Also one that somebody opened to others."""
    path = begun(tmp_path)
    assert path.stat().st_mode & 0o777 == 0o600, oct(umask)
    path.chmod(0o666)
    AcknowledgedFile(path, waits=True).close()
    assert path.stat().st_mode & 0o777 == 0o600


def test_machine_that_can_t_be_told_apart_has_zeros(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No /proc, or something else in it."""
    assert len(acknowledged.boot_id()) == 16
    monkeypatch.setattr(acknowledged, "BOOT_ID", tmp_path / "none")
    assert acknowledged.boot_id() == bytes(16)
    (tmp_path / "none").write_text("no hexadecimal number")
    assert acknowledged.boot_id() == bytes(16)


OURS, OTHER = b"o" * 16, b"x" * 16
SAID = Acknowledged(identity=OURS, last=9, written=40, held=12, durable=5, boot=OURS, waits=False)


def reading(**groups: int) -> Reading:
    """The number with these groups."""
    return Reading(SAID, groups)


def test_nothing_is_missing_up_to_the_number() -> None:
    """Or beyond it: what nobody had been told of may be there."""
    assert find_loss(reading(g=9), Counts(9, 40, 12)) is None
    assert find_loss(reading(g=9), Counts(10, 41, 13)) is None


def test_what_is_behind_the_end_is_missing() -> None:
    """So many entries, of the groups that the lost blocks concern."""
    assert find_loss(reading(a=3, c=9, b=8), Counts(7, 33, 5)) == Loss(7, ("b", "c"), has_more_groups=False)


def test_empty_journal_lacks_all_that_it_held() -> None:
    """Not all that was ever written: most of that was condensed away."""
    assert find_loss(reading(a=3), Counts()) == Loss(12, ("a",), has_more_groups=False)


def test_groups_beyond_ten_are_counted() -> None:
    """A sentence stays a sentence."""
    many = {f"group-{number:02}": 9 for number in range(14)}
    loss = find_loss(reading(**many), Counts(8, 39, 11))
    assert loss is not None
    text = str(refuse_loss(Path("/j.db"), loss))
    assert text.startswith(
        "of the journal /j.db 1 entries that had been acknowledged are missing, of groups 'group-00'"
    )
    assert "'group-09' and 4 others; its database" in text
    assert "serve --recover" in text
    assert "of groups that can't be named" in str(Loss(1, (), has_more_groups=True))
    assert "of groups 'a' and others" in str(Loss(1, ("a",), has_more_groups=True))


@pytest.mark.parametrize(
    ("boot", "last", "lawful"), [(OURS, 8, False), (OTHER, 8, True), (OTHER, 4, False), (bytes(16), 8, True)]
)
def test_machine_may_take_what_was_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, boot: bytes, last: int, lawful: bool
) -> None:
    """Only with `normal`, only with another start of the machine, only behind what was known to be on the disk."""
    monkeypatch.setattr(acknowledged, "boot_id", lambda: boot)
    assert may_be_lost(SAID, Counts(last, 0, 0)) is lawful
    waits = Acknowledged(identity=OURS, last=9, durable=5, boot=OURS, waits=True)
    assert not may_be_lost(waits, Counts(last, 0, 0))
