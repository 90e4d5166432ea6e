"""Answers wait for the disk, in order; what can't be written is not told."""

from collections.abc import AsyncIterator, Awaitable, Collection, Generator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
import trio
import trio.testing

from bridge.coordinators.ledger import RETRY_MAX_S, RETRY_S, Ledger
from bridge.ports import Condense, JournalFull
from bridge.supervision import LEDGER, start_job
from tests.support.memory_journal import MemoryJournal
from translators.dialects.classic import Heartbeat, HeartbeatReply, SyncGroupReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId, RequestRef
from translators.dialects.messages import GroupReply
from translators.dialects.offsets import OffsetCommit

REQUEST = Heartbeat(GroupId("g"), 1, MemberId("m"), None)
COMMIT = OffsetCommit(group_id=GroupId("g"), generation=1, member_id=MemberId("m"), instance_id=None, topics=())
OK = SyncGroupReply(error=ErrorCode.NONE)


@dataclass(frozen=True, slots=True)
class SlowWrite:
    """An append that takes a second."""

    journal: "SlowJournal"
    entries: Collection[bytes]

    def __await__(self) -> Generator[object, object, None]:
        """Wait, then write."""
        return self.journal.write(self.entries).__await__()


class SlowJournal:
    """A journal on a slow disk, which may be full; counts its appends."""

    def __init__(self) -> None:
        self.kept = MemoryJournal()
        self.appends: list[tuple[bytes, ...]] = []
        self.condensed = 0

    def append(self, entries: Collection[bytes]) -> Awaitable[None]:
        """Begin when awaited."""
        return SlowWrite(self, entries)

    async def write(self, entries: Collection[bytes]) -> None:
        """One second of disk time."""
        await trio.sleep(1)
        if entries or self.kept.bytes_max is None:
            self.kept.append(entries)
        else:
            raise JournalFull("no room for a probe")
        self.appends.append(tuple(entries))

    def replay(self) -> Iterator[bytes]:
        """What is written."""
        return self.kept.replay()

    def is_overgrown(self) -> bool:
        """Whether it holds four entries."""
        return len(list(self.kept.replay())) >= 4

    async def compact(self, condense: Condense) -> None:
        """Two seconds of disk time."""
        await trio.sleep(2)
        await self.kept.compact(condense)
        self.condensed += 1

    def close(self) -> None:
        """Nothing is held."""


@dataclass(slots=True)
class Desk:
    """A ledger with what it delivered and how often it revived its groups."""

    journal: MemoryJournal | SlowJournal
    sent: list[tuple[int, ErrorCode]] = field(default_factory=list)
    revived: int = 0
    ledger: Ledger = field(init=False)
    opened: trio.Event = field(default_factory=trio.Event)
    """Set when the groups go back for the second time after a failure: then work goes on."""

    def __post_init__(self) -> None:
        """Keep the journal."""
        self.ledger = Ledger(self.deliver)
        self.ledger.keep(self.journal, lambda entries: list(entries)[-1:], self.revive)

    def deliver(self, ref: RequestRef, reply: GroupReply) -> None:
        """An answer goes."""
        code = reply.error if isinstance(reply, HeartbeatReply | SyncGroupReply) else ErrorCode.UNKNOWN_SERVER_ERROR
        self.sent.append((ref.sequence, code))

    def revive(self) -> None:
        """The groups go back."""
        self.revived += 1
        if self.revived % 2 == 0:
            self.opened.set()

    def turn(self, sequence: int, *entries: bytes) -> None:
        """A request comes, its turn writes entries and answers."""
        ref = RequestRef(0, 1, sequence)
        self.ledger.expect(ref, REQUEST)
        self.ledger.note(entries)
        self.ledger.deliver(ref, OK)


@asynccontextmanager
async def running(journal: MemoryJournal | SlowJournal) -> AsyncIterator[Desk]:
    """A ledger at work until the end of the block."""
    desk = Desk(journal)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(desk.ledger.run)
        yield desk
        nursery.cancel_scope.cancel()


def numbers(desk: Desk) -> list[int]:
    """The requests that were answered, in order."""
    return [sequence for sequence, _ in desk.sent]


def is_closed(desk: Desk) -> bool:
    """Whether new work is refused."""
    return desk.ledger.closed is not None


async def test_answer_waits_for_its_entries(autojump_clock: trio.testing.MockClock) -> None:
    """Every record before its answer."""
    async with running(SlowJournal()) as desk:
        desk.turn(1, b"a")
        await trio.sleep(0.9)
        assert desk.sent == []
        await trio.sleep(0.2)
        assert desk.sent == [(1, ErrorCode.NONE)]


async def test_answer_without_entries_goes_at_once_when_nothing_is_on_its_way() -> None:
    """Heartbeats of members at work never wait for the disk."""
    async with running(SlowJournal()) as desk:
        desk.turn(1)
        assert numbers(desk) == [1]


async def test_sign_of_life_waits_for_no_append(autojump_clock: trio.testing.MockClock) -> None:
    """It tells nothing that an earlier answer has not; a call to join again does, and waits."""
    async with running(SlowJournal()) as desk:
        desk.turn(1, b"a")
        for sequence, code in ((2, ErrorCode.REBALANCE_IN_PROGRESS), (3, ErrorCode.NONE)):
            ref = RequestRef(0, 1, sequence)
            desk.ledger.expect(ref, REQUEST)
            desk.ledger.deliver(ref, HeartbeatReply(code))
        assert numbers(desk) == [3]
        await trio.sleep(1.1)
        assert numbers(desk) == [3, 1, 2]


async def test_later_answers_wait_behind_and_entries_are_written_together(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Group commit of what is queued, and answers in the order they came about."""
    journal = SlowJournal()
    async with running(journal) as desk:
        desk.turn(1, b"a")
        desk.turn(2)
        await trio.sleep(0.5)
        desk.turn(3, b"b")
        desk.turn(4, b"c")
        desk.turn(5)
        await trio.sleep(0.6)
        assert numbers(desk) == [1, 2]
        await trio.sleep(1)
        assert numbers(desk) == [1, 2, 3, 4, 5]
    assert journal.appends == [(b"a",), (b"b", b"c")]


async def test_quick_journal_lets_nobody_wait() -> None:
    """Memory is durable at once, as far as it is."""
    journal = MemoryJournal()
    async with running(journal) as desk:
        desk.turn(1, b"a")
        assert numbers(desk) == [1]
    assert list(journal.replay()) == [b"a"]


async def test_failed_append_tells_nothing_and_goes_back(autojump_clock: trio.testing.MockClock) -> None:
    """Disk full: what waited is refused, the groups are what is written, and work goes on when there is room."""
    journal = SlowJournal()
    async with running(journal) as desk:
        desk.turn(1, b"a")
        await trio.sleep(1.1)
        journal.kept.bytes_max = 1
        desk.turn(2, b"b")
        desk.turn(3, b"c")
        # Tried, condensed, and tried once more.
        await trio.sleep(4.1)
        refused = (ErrorCode.COORDINATOR_NOT_AVAILABLE,) * 2
        assert desk.sent[1:] == list(zip((2, 3), refused, strict=True))
        assert is_closed(desk)
        assert (desk.revived, desk.ledger.failures) == (1, 1)
        journal.kept.bytes_max = None
        await trio.sleep(2 * RETRY_S + 2.5)
        assert not is_closed(desk)
        assert desk.revived == 2
        desk.turn(4, b"d")
        await trio.sleep(1.1)
        assert desk.sent[3:] == [(4, ErrorCode.NONE)]
    assert list(journal.replay()) == [b"a", b"d"]


async def test_journal_that_takes_nothing_but_a_try_is_tried_less_and_less(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Each round costs a replay: an almost full disk must not keep the bridge busy with it."""
    journal = MemoryJournal(bytes_max=0)
    async with running(journal) as desk:
        closed_s: list[int] = []
        for sequence in range(1, 8):
            desk.turn(sequence, b"a")
            begun_s = trio.current_time()
            await trio.testing.wait_all_tasks_blocked()
            desk.opened = trio.Event()
            await desk.opened.wait()
            closed_s.append(round(trio.current_time() - begun_s))
        assert closed_s == [1, 2, 4, 8, 16, RETRY_MAX_S, RETRY_MAX_S]
        journal.bytes_max = None
        desk.turn(8, b"b")
        await trio.sleep(0.1)
        journal.bytes_max = 1
        desk.turn(9, b"c")
        await trio.sleep(1.2)
        assert not is_closed(desk)


async def test_append_that_fails_at_once_is_told_as_late(autojump_clock: trio.testing.MockClock) -> None:
    """Also a quick journal may be full."""
    journal = MemoryJournal(bytes_max=0)
    async with running(journal) as desk:
        desk.turn(1, b"a")
        assert desk.sent == []
        await trio.sleep(0.1)
        assert desk.sent == [(1, ErrorCode.COORDINATOR_NOT_AVAILABLE)]


async def test_answer_of_a_refused_request_is_dropped(autojump_clock: trio.testing.MockClock) -> None:
    """One answer a request."""
    async with running(MemoryJournal(bytes_max=0)) as desk:
        desk.turn(1, b"a")
        await trio.sleep(0.1)
        desk.ledger.deliver(RequestRef(0, 1, 1), OK)
        assert numbers(desk) == [1]


async def test_commit_outlives_a_failed_append(autojump_clock: trio.testing.MockClock) -> None:
    """What the broker says of a commit holds, whatever becomes of the journal."""
    ref = RequestRef(0, 1, 9)
    async with running(MemoryJournal(bytes_max=0)) as desk:
        desk.ledger.expect(ref, COMMIT)
        desk.turn(1, b"a")
        await trio.sleep(0.1)
        assert numbers(desk) == [1]
        desk.ledger.deliver_at_once(ref, OK)
        assert numbers(desk) == [1, 9]


async def test_answer_of_a_lost_connection_goes_nowhere() -> None:
    """Nothing is remembered of it."""
    async with running(MemoryJournal()) as desk:
        desk.ledger.expect(RequestRef(0, 2, 1), REQUEST)
        desk.ledger.forget(2)
        desk.ledger.deliver(RequestRef(0, 2, 1), OK)
        assert desk.sent == []


async def test_overgrown_journal_is_condensed_while_answers_go(autojump_clock: trio.testing.MockClock) -> None:
    """Compaction is nobody's business but the disk's."""
    journal = SlowJournal()
    async with running(journal) as desk:
        desk.turn(1, b"a", b"b", b"c", b"d")
        await trio.sleep(1.5)
        desk.turn(2)
        assert numbers(desk) == [1, 2]
        await trio.sleep(2)
        assert journal.condensed == 1
    assert list(journal.replay()) == [b"d"]


async def test_ledger_that_is_started_again_takes_what_was_on_its_way_for_lost(
    autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bug while answers waited: nobody waits for ever, and work goes on."""
    desk = Desk(SlowJournal())

    async def fail(_journal: SlowJournal, _entries: Collection[bytes]) -> None:
        await trio.sleep(1)
        raise ValueError("a bug")

    async with trio.open_nursery() as nursery:
        start_job(nursery, desk.ledger.supervised, LEDGER, desk.ledger.run)
        with monkeypatch.context() as context:
            context.setattr(SlowJournal, "write", fail)
            desk.turn(1, b"a")
            desk.turn(2)
            await trio.sleep(1.1)
        await desk.opened.wait()
        assert desk.sent == [(1, ErrorCode.COORDINATOR_NOT_AVAILABLE), (2, ErrorCode.COORDINATOR_NOT_AVAILABLE)]
        desk.turn(3, b"b")
        await trio.sleep(1.1)
        assert desk.sent[2:] == [(3, ErrorCode.NONE)]
        nursery.cancel_scope.cancel()
    assert desk.ledger.supervised.counts["ledger"] == 1
