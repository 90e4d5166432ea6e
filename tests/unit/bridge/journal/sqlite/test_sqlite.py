"""The journal in a worker thread: order, compaction while others append, recovery on demand."""

import logging
import threading
from contextlib import closing
from pathlib import Path

import pytest
import trio
import trio.testing

from bridge.journal.acknowledged import path_beside
from bridge.journal.refusals import JournalDamaged
from bridge.journal.sqlite import SqliteJournal, open_journal
from bridge.journal.sqlite_file import FileSettings, open_file
from bridge.ports import TellsGroups
from translators.dialects.ids import GroupId


def settings_in(folder: Path) -> FileSettings:
    """A journal of this folder."""
    return FileSettings(path=folder / "journal.db")


async def test_appends_are_durable_in_order(tmp_path: Path) -> None:
    """What was awaited is there, in the order it was awaited."""
    with closing(open_journal(settings_in(tmp_path))) as journal:
        await journal.append([b"a"])
        async with trio.open_nursery() as nursery:
            nursery.start_soon(journal.write, [b"b"])
            nursery.start_soon(journal.write, [b"b"])
        await journal.append([b"c"])
        assert list(journal.replay()) == [b"a", b"b", b"b", b"c"]


async def test_groups_are_asked_for_once_and_in_the_thread(tmp_path: Path) -> None:
    """Of a big turn they are read from thousands of entries, while everybody else is served."""
    asked_by: list[int] = []

    class Told(tuple[bytes, ...], TellsGroups):
        __slots__ = ()

        @property
        def groups(self) -> tuple[GroupId, ...]:
            asked_by.append(threading.get_ident())
            return (GroupId("a"),)

    with closing(open_journal(settings_in(tmp_path))) as journal:
        await journal.append(Told([b"x"]))
    assert len(asked_by) == 1
    assert asked_by[0] != threading.get_ident()


async def test_append_waits_in_a_thread(tmp_path: Path) -> None:
    """Others run while the disk is waited for."""
    ran = False

    async def run() -> None:
        nonlocal ran
        ran = True

    with closing(open_journal(settings_in(tmp_path))) as journal:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run)
            await journal.append([b"a"])
            assert ran


async def test_waits_for_nobody_elses_threads(tmp_path: Path) -> None:
    """A resolver that hangs holds all threads that trio shares out; groups go on, and their journal with them."""
    done = threading.Event()
    shared = trio.to_thread.current_default_thread_limiter()

    async def look_up() -> None:
        await trio.to_thread.run_sync(done.wait)

    with closing(open_journal(settings_in(tmp_path))) as journal:
        async with trio.open_nursery() as nursery:
            for _ in range(int(shared.total_tokens) + 1):
                nursery.start_soon(look_up)
            await trio.testing.wait_all_tasks_blocked()
            assert shared.available_tokens == 0
            try:
                with trio.fail_after(30):
                    await journal.append([b"a"])
                    await journal.compact(tuple)
            finally:
                done.set()
        assert list(journal.replay()) == [b"a"]


async def test_compaction_keeps_what_is_appended_meanwhile(tmp_path: Path) -> None:
    """Entries that come while it condenses stay behind what it leaves."""
    journal = SqliteJournal(open_file(settings_in(tmp_path)), overgrown_bytes=20)
    with closing(journal):
        for _ in range(5):
            await journal.append([b"12345"])
        assert journal.is_overgrown()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(journal.compact, lambda entries: [b"%d" % len(list(entries))])
            await trio.lowlevel.checkpoint()
            nursery.start_soon(journal.write, [b"late"])
        assert list(journal.replay()) == [b"5", b"late"]
        assert not journal.is_overgrown()


async def test_failed_condensing_changes_nothing(tmp_path: Path) -> None:
    """All or nothing."""
    with closing(open_journal(settings_in(tmp_path))) as journal:
        await journal.append([b"a", b"b"])
        with pytest.raises(ZeroDivisionError):
            await journal.compact(lambda _: [b"%d" % (1 // 0)])
        assert list(journal.replay()) == [b"a", b"b"]


async def test_damaged_journal_opens_with_recovery_only(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The operator decides, and the log says where the damaged file is."""
    settings = settings_in(tmp_path)
    with closing(open_journal(settings)) as journal:
        await journal.append([b"a"])
        await journal.append([b"needle"])
    data = bytearray(settings.path.read_bytes())
    data[data.index(b"needle")] ^= 1
    settings.path.write_bytes(data)
    with closing(open_journal(settings)) as journal, pytest.raises(JournalDamaged):
        list(journal.replay())
    with caplog.at_level(logging.ERROR), closing(open_journal(settings, recovers=True)) as journal:
        assert list(journal.replay()) == [b"a"]
    assert "EB-JOURNAL-005" in caplog.text


async def test_torn_tail_is_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """An append that was cut off is named in the log."""
    settings = settings_in(tmp_path)
    beside = path_beside(settings.path)
    with closing(open_journal(settings)) as journal:
        number = beside.read_bytes()
        await journal.append([b"a"])
        wal = settings.path.with_name("journal.db-wal")
        log, database = wal.read_bytes(), settings.path.read_bytes()
    settings.path.write_bytes(database)
    wal.write_bytes(log[:-1])
    beside.write_bytes(number)
    with caplog.at_level(logging.WARNING), closing(open_journal(settings)):
        assert "EB-JOURNAL-006" in caplog.text
