"""A journal after any crash and any damage: it starts with all that was acknowledged, or says in a sentence why not."""

import os
import re
import shutil
import sqlite3
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import pairwise, product
from pathlib import Path

import pytest

from bridge.journal import acknowledged
from bridge.journal.acknowledged import SUFFIX
from bridge.journal.refusals import JournalForeign, JournalRefused
from bridge.journal.sqlite import recover_file
from bridge.journal.sqlite_file import FileSettings, Opened, open_file

FILES = ("", "-wal", SUFFIX)
Picture = tuple[bytes | None, bytes | None, bytes | None]
"""The three files at one moment: database, write-ahead log, number; None for one that is not there."""
OTHER_BOOT = b"b" * 16
FLIPPED_PAGES = 4
STEP = int(os.environ.get("EPOCHBRIDGE_BITS_STEP", "97"))
"""Every so manyth byte of the first pages is flipped; `tox -e bits` flips them all."""
RECOVERED_EVERY = 5 if STEP > 1 else 1
"""Recovering waits for the disk a dozen times: by default it is tried for every so manyth refusal."""


def take(settings: FileSettings) -> Picture:
    """The files as they are at this moment."""
    paths = [settings.path.with_name(settings.path.name + suffix) for suffix in FILES]
    database, log, number = (path.read_bytes() if path.exists() else None for path in paths)
    return database, log, number


def put(settings: FileSettings, picture: Picture) -> None:
    """Have these files and no others."""
    shutil.rmtree(settings.path.parent, ignore_errors=True)
    settings.path.parent.mkdir()
    for suffix, data in zip(FILES, picture, strict=True):
        if data is not None:
            settings.path.with_name(settings.path.name + suffix).write_bytes(data)


def entries_of(settings: FileSettings) -> list[bytes]:
    """All that a journal holds; raises JournalRefused."""
    with closing(open_file(settings)) as file:
        return list(file.replay())


@dataclass(frozen=True, slots=True)
class Moment:
    """What a crash finds: the files, and what had been acknowledged until then."""

    picture: Picture = field(repr=False)
    acknowledged: tuple[bytes, ...] = field(repr=False)


def story(settings: FileSettings, monkeypatch: pytest.MonkeyPatch) -> list[Moment]:
    """Every moment of a life: opened, appended to, condensed, appended to; each write of the number is one too."""
    moments: list[Moment] = []
    told: list[bytes] = []
    pwrite = os.pwrite

    def watched(handle: int, data: bytes, offset: int) -> int:
        moments.append(Moment(take(settings), tuple(told)))
        count = pwrite(handle, data[: len(data) // 2], offset)
        moments.append(Moment(take(settings), tuple(told)))
        pwrite(handle, data, offset)
        moments.append(Moment(take(settings), tuple(told)))
        return count

    monkeypatch.setattr(os, "pwrite", watched)
    rename = Path.rename

    def renamed(path: Path, target: Path) -> Path:
        moments.append(Moment(take(settings), tuple(told)))
        result = rename(path, target)
        moments.append(Moment(take(settings), tuple(told)))
        return result

    monkeypatch.setattr(Path, "rename", renamed)
    with closing(open_file(settings)) as file:

        def append(entries: Collection[bytes]) -> None:
            file.append(entries, ["g"])
            told.extend(entries)
            moments.append(Moment(take(settings), tuple(told)))

        append([b"a", b"b"])
        append([b"c" * 9_000])
        append([b"d"])
        file.replace(2, [b"ab", b"c"])
        told[:3] = [b"ab", b"c"]
        moments.append(Moment(take(settings), tuple(told)))
        append([b"e"])
    moments.append(Moment(take(settings), tuple(told)))
    monkeypatch.undo()
    return moments


def same(found: list[bytes], told: tuple[bytes, ...]) -> bool:
    """Whether all is there that was acknowledged, condensed or not, and at most one append behind it."""
    written = letters(found)
    return written.startswith(letters(told)) and b"abcde".startswith(written)


def letters(entries: Iterable[bytes]) -> bytes:
    """The story in short, condensed or not."""
    return b"".join(entries).replace(b"c" * 9_000, b"c")


@pytest.mark.parametrize("sync", ["full", "normal"])
def test_no_moment_of_a_life_is_refused_after_a_kill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sync: str
) -> None:
    """kill -9 between append, number and answer, in the middle of the number too: nothing is lost, and no complaint."""
    settings = FileSettings(path=tmp_path / "life" / "journal.db", sync=sync)
    settings.path.parent.mkdir()
    moments = story(settings, monkeypatch)
    assert len(moments) > 35
    for moment in moments:
        put(settings, moment.picture)
        with closing(open_file(settings)) as file:
            assert same(list(file.replay()), moment.acknowledged)
            assert file.opened.lost is None
            assert file.opened.behind <= 1
            file.append([b"more"])
        assert entries_of(settings)[-1] == b"more"


def test_log_that_power_cut_anywhere_is_no_loss_before_its_number_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`full`: what was not acknowledged may be there in part, up to any byte; an acknowledged log never shrinks."""
    settings = FileSettings(path=tmp_path / "life" / "journal.db")
    settings.path.parent.mkdir()
    moments = story(settings, monkeypatch)
    for before, after in pairwise(moments):
        database, log, number = after.picture
        if log is None or before.picture[1] is None or before.picture[0] != database or before.picture[2] != number:
            continue
        begin = len(before.picture[1])
        for cut in {*range(begin, len(log), 509), max(begin, len(log) - 1)}:
            put(settings, (database, log[:cut], number))
            assert same(entries_of(settings), before.acknowledged)


def test_normal_may_lose_the_tail_of_either_file_with_the_machine_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any log that there was, with any number that there was: it starts, and tells what is gone; without a crash of
    the machine the same is refused.
    """
    settings = FileSettings(path=tmp_path / "life" / "journal.db", sync="normal")
    settings.path.parent.mkdir()
    moments = [moment for moment in story(settings, monkeypatch) if moment.picture[0] and moment.picture[2]]
    database = moments[-2].picture[0]
    logs = {moment.picture[1]: moment for moment in moments if moment.picture[0] == database and moment.picture[1]}
    numbers = {moment.picture[2]: moment for moment in moments}
    lost = refused = 0
    for (log, _), (number, _) in product(logs.items(), numbers.items()):
        for boot in (None, OTHER_BOOT):
            put(settings, (database, log, number))
            with monkeypatch.context() as patch:
                if boot is not None:
                    patch.setattr(acknowledged, "boot_id", lambda: OTHER_BOOT)
                opened = try_to_open(settings)
                if isinstance(opened, str):
                    assert boot is None, opened
                    assert "entries that had been acknowledged are missing, of groups" in opened
                    refused += 1
                else:
                    lost += opened.lost is not None
    assert lost == refused > 3


def try_to_open(settings: FileSettings) -> Opened | str:
    """What was found, or why it was refused."""
    try:
        with closing(open_file(settings)) as file:
            assert b"abcde".startswith(letters(file.replay()))
            return file.opened
    except JournalRefused as problem:
        return str(problem)


# ---------------------------------------------------------------- bits


def written(settings: FileSettings) -> Picture:
    """A journal of some blocks with all its files, as a kill leaves it."""
    with closing(open_file(settings)) as file:
        for number in range(12):
            file.append([b"%d" % number * 300, b"x" * 30], [f"group-{number % 3}"])
        file.replace(4, [b"condensed"])
    with closing(open_file(settings)) as file:
        for number in range(3):
            file.append([b"late %d" % number], ["late"])
        return take(settings)


@pytest.mark.parametrize("which", [0, 1, 2], ids=["database", "log", "number"])
def test_flipped_bit_is_a_sentence_or_no_damage(tmp_path: Path, which: int) -> None:
    """Of the first pages of each file: a refusal with a code, and `--recover` goes on; or all is there. Never less."""
    settings = FileSettings(path=tmp_path / "life" / "journal.db")
    settings.path.parent.mkdir()
    picture = written(settings)
    data = picture[which]
    assert data is not None
    put(settings, picture)
    whole = entries_of(settings)
    refusals = 0
    for place, bit in places(data, which):
        spoiled = bytearray(data)
        spoiled[place] ^= 1 << bit
        put(settings, (*picture[:which], bytes(spoiled), *picture[which + 1 :]))  # type: ignore[arg-type]  # still three
        try:
            found = entries_of(settings)
        except JournalRefused as problem:
            refusals += 1
            said, is_foreign = f"{problem.code}: {problem}", isinstance(problem, JournalForeign)
        else:
            assert found == whole, f"byte {place}"
            continue
        assert re.match(r"EB-JOURNAL-\d{3}: .{40}", said), f"byte {place}: {said}"
        if not is_foreign and refusals % RECOVERED_EVERY == 0:
            assert recover_file(settings) is not None, f"byte {place}"
            found = entries_of(settings)
            assert found == whole[: len(found)], f"byte {place}"
    assert refusals > 3 or which == 2, "of the number there are two"


def places(data: bytes, which: int) -> Iterator[tuple[int, int]]:
    """Places and bits: of the first bytes and of the text of the schema many, of the first pages every so manyth.

    The highest bit makes bytes that are no text, also where SQLite quotes them.
    """
    schema = data.find(b"CREATE TABLE") if which == 0 else 0
    yield from ((place, place % 8) for place in range(112))
    yield from ((place, 7) for place in range(schema, 4096 if which == 0 else 112, max(STEP // 6, 1)))
    yield from ((place, place % 8) for place in range(112, min(len(data), 4096 * FLIPPED_PAGES), STEP))


def test_text_of_the_schema_costs_no_entry(tmp_path: Path) -> None:
    """`--recover` reads through it: nothing of the blocks is damaged."""
    settings = FileSettings(path=tmp_path / "life" / "journal.db")
    settings.path.parent.mkdir()
    written(settings)
    whole = entries_of(settings)
    database, _, number = take(settings)
    assert database is not None
    for needle in (b"CREATE TABLE block", b"entries BLOB", b"STRICT", b"TABLE head", b"TABLE origin", b"tableblock"):
        spoiled = bytearray(database)
        spoiled[database.index(needle) + 2] ^= 4
        put(settings, (bytes(spoiled), None, number))
        with pytest.raises(JournalRefused, match=r"the journal is damaged: .*serve --recover"):
            open_file(settings)
        assert recover_file(settings) == settings.path.with_name("journal.db.damaged-1")
        assert entries_of(settings) == whole
        assert settings.path.with_name("journal.db.damaged-1").read_bytes() == bytes(spoiled)


# ---------------------------------------------------------------- losses


def lose(settings: FileSettings, picture: Picture) -> str:
    """What is said of these files, and that `--recover` goes on from them."""
    put(settings, picture)
    with pytest.raises(JournalRefused) as refused:
        open_file(settings)
    put(settings, picture)
    assert recover_file(settings) is not None
    with closing(open_file(settings)) as file:
        file.append([b"more"])
    assert entries_of(settings)[-1] == b"more"
    return f"{refused.value.code}: {refused.value}"


def test_every_loss_says_how_much_and_of_whom(tmp_path: Path) -> None:
    """What an operator reads: emptied, missing, cut, exchanged, ahead, of another journal."""
    settings = FileSettings(path=tmp_path / "life" / "journal.db")
    settings.path.parent.mkdir()
    picture = written(settings)
    database, log, number = picture
    assert log is not None
    gone = "of the journal .* {} entries that had been acknowledged are missing, of groups {};"
    all_gone = gone.format(20, "'group-0', 'group-1', 'group-2' and 'late'").replace(" and ", ", ")
    late_gone = gone.format(3, "'late'")
    said = {
        "database emptied": (lose(settings, (b"", log, number)), all_gone),
        "database missing": (lose(settings, (None, None, number)), all_gone),
        "log emptied": (lose(settings, (database, b"", number)), late_gone),
        "log missing": (lose(settings, (database, None, number)), late_gone),
        "log cut": (lose(settings, (database, log[: len(log) * 2 // 3], number)), gone.format(2, "'late'")),
        "number missing": (
            lose(settings, (database, log, None)),
            r"has 20 entries, but journal\.db\.acknowledged beside",
        ),
        "number emptied": (
            lose(settings, (database, log, b"")),
            r"journal\.db\.acknowledged can't be read \(0 bytes\)",
        ),
    }
    other = FileSettings(path=tmp_path / "other" / "journal.db")
    other.path.parent.mkdir()
    foreign = written(other)
    said["number of another journal"] = (
        lose(settings, (database, log, foreign[2])),
        r"journal\.db\.acknowledged belongs to another journal than",
    )
    for what, (sentence, expected) in said.items():
        assert sentence.startswith("EB-JOURNAL-007: "), what
        assert "--recover" in sentence, what
        assert re.search(expected, sentence), f"{what}: {sentence}"


def test_older_number_than_the_journal_loses_nothing(tmp_path: Path) -> None:
    """It is said that it was exchanged, and the journal goes on."""
    settings = FileSettings(path=tmp_path / "life" / "journal.db")
    settings.path.parent.mkdir()
    with closing(open_file(settings)) as file:
        file.append([b"a"])
        old = take(settings)[2]
        file.append([b"b"])
        file.append([b"c"])
    database, log, _ = take(settings)
    put(settings, (database, log, old))
    with closing(open_file(settings)) as file:
        assert file.opened.behind == 2
        assert list(file.replay()) == [b"a", b"b", b"c"]
    with closing(open_file(settings)) as file:
        assert file.opened.behind == 0


def test_journal_of_the_release_before_gets_its_number(tmp_path: Path) -> None:
    """It never had one: that is no loss; from then on it has, and misses it."""
    settings = FileSettings(path=tmp_path / "life" / "journal.db")
    settings.path.parent.mkdir()
    with closing(open_file(settings)) as file:
        file.append([b"a", b"b"])
        file.append([b"c"])
    with closing(sqlite3.connect(settings.path, isolation_level=None)) as old:
        old.execute("DROP TABLE origin")
        old.execute("PRAGMA user_version = 1")
        old.execute("VACUUM")
    database = take(settings)[0]
    put(settings, (database, None, None))
    with closing(open_file(settings)) as file:
        assert file.opened.is_upgraded
        assert list(file.replay()) == [b"a", b"b", b"c"]
    number = acknowledged.read(acknowledged.path_beside(settings.path))
    assert number is not None
    assert (number.acknowledged.last, number.acknowledged.held) == (2, 3)
    with closing(open_file(settings)) as file:
        assert not file.opened.is_upgraded
        file.append([b"d"])
    assert "3 entries" not in lose(settings, (database, None, take(settings)[2]))
