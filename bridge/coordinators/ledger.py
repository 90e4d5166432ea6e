"""Between a turn and its answers: entries go to the journal first, and answers leave in the order they came about."""

import logging
from collections.abc import Awaitable, Callable, Collection, Generator
from dataclasses import dataclass

import trio

from bridge.coordinators.durability import EntryBlocks
from bridge.ports import Condense, Journal, JournalFull, JournalUnavailable
from bridge.session.contracts import Access, Deliver
from bridge.supervision import COMPACTION, Failures, start_guarded
from bridge.wire.codec.registry import error_reply
from translators.dialects.classic import HeartbeatReply
from translators.dialects.errors import ErrorCode, Refusal
from translators.dialects.ids import RequestRef
from translators.dialects.messages import GroupReply, GroupRequest
from translators.dialects.offsets import OffsetCommit, TxnOffsetCommit

RETRY_S = 1.0
"""How soon a journal that failed is tried again."""
RETRY_MAX_S = 30.0
"""The same when it fails again and again though a try goes well: little fits on a disk that is almost full."""

LOG = logging.getLogger("epochbridge.coordinators")
_GOING_BACK = Refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE, "a turn failed: the groups go back to what is written")


@dataclass(frozen=True, slots=True)
class Clients:
    """The way back to clients: answers by their reference, and connections by theirs."""

    deliver: Deliver
    access: Access


class Ledger:
    """Everything that waits for the disk; with no journal nothing does.

    While one append is on its way the next ones are gathered, and written together as soon as it ends (no timer).
    """

    def __init__(self, deliver: Deliver, supervised: Failures | None = None) -> None:
        self.closed: Refusal | None = None
        self.failures = 0
        self._deliver = deliver
        self._journal: Journal | None = None
        self._condense: Condense = lambda entries: entries
        self._revive: Callable[[], None] = lambda: None
        self._open: dict[int, dict[RequestRef, GroupRequest]] = {}
        self._writing: Awaitable[None] | None = None
        self._held: list[tuple[RequestRef, GroupReply]] = []
        self._behind: list[Collection[bytes]] = []
        self._held_behind: list[tuple[RequestRef, GroupReply]] = []
        self._wake = trio.Event()
        self._begun = self._ended = 0
        self._progressed = trio.Event()
        self._nursery: trio.Nursery | None = None
        self.supervised = supervised or Failures()
        self._was_started = False
        self._compacting = trio.Lock()
        self._pause_s = RETRY_S
        self.is_going_back = False
        self._written: Collection[bytes] = ()
        self._has_made_room = False

    def keep(self, journal: Journal, condense: Condense, revive: Callable[[], None]) -> None:
        """Write to this journal from now on; `revive` makes the groups what it holds, after a failed append."""
        self._journal, self._condense, self._revive = journal, condense, revive

    def expect(self, ref: RequestRef, request: GroupRequest) -> None:
        """A request came; it will be answered by `deliver`, or by a refusal if the journal fails first."""
        if self._journal is not None:
            self._open.setdefault(ref.connection, {})[ref] = request

    def forget(self, connection: int) -> None:
        """A connection is gone; nobody waits for its answers."""
        self._open.pop(connection, None)

    def note(self, entries: Collection[bytes]) -> None:
        """These must be durable before any answer that is delivered from now on."""
        if not entries or self._journal is None or self.closed is not None:
            return
        if self._writing is None:
            self._begin(self._journal, entries)
        else:
            self._behind.append(entries)

    async def written(self) -> bool:
        """Wait until everything noted so far is durable; False if the journal fails first."""
        wanted, failures = self._begun + bool(self._behind), self.failures
        while self._ended < wanted and self.closed is None and self.failures == failures:
            await self._progressed.wait()
        return self._ended >= wanted and self.closed is None

    def _progress(self) -> None:
        self._progressed.set()
        self._progressed = trio.Event()

    def deliver(self, ref: RequestRef, reply: GroupReply) -> None:
        """Let an answer go as soon as everything noted before is durable: now, if nothing is on its way.

        That a member lives on tells nothing that an answer before it has not told: it waits for nothing.
        """
        if self._writing is None or (isinstance(reply, HeartbeatReply) and reply.error is ErrorCode.NONE):
            self._send(ref, reply)
        else:
            (self._held_behind if self._behind else self._held).append((ref, reply))

    def go_back(self) -> bool:
        """What was decided last is void: have the groups go back to what is written; False where nothing is kept.

        What was noted before is written first, and its answers leave. Until the groups are back nothing is decided, and
        everybody whose request is open then is told to come again.
        """
        if self._journal is None:
            return False
        if self.closed is None:
            self.closed, self.is_going_back = _GOING_BACK, True
            self._wake.set()
        return True

    async def run(self) -> None:
        """Wait for appends and let answers go, until cancelled.

        Started again after a bug it knows nothing of what was on its way: that is as good as not written.
        """
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            if self._was_started and self._journal is not None:
                await self._fail(JournalUnavailable("EB-JOURNAL-030: answers could not be let go; please report this"))
            self._was_started = True
            while True:
                await self._wake.wait()
                self._wake = trio.Event()
                while self._writing is not None:
                    try:
                        await self._writing
                    except JournalUnavailable as problem:
                        if not (isinstance(problem, JournalFull) and await self._make_room()):
                            await self._fail(problem)
                    else:
                        self._end_append()
                if self.is_going_back:
                    await self._return_to_written()

    def _begin(self, journal: Journal, entries: Collection[bytes]) -> None:
        self._written = entries
        self._begun += 1
        try:
            self._writing = journal.append(entries)
        except JournalUnavailable as problem:
            self._writing = _Failed(problem)
        if self._writing is None:
            self._pause_s, self._ended = RETRY_S, self._begun
        else:
            self._wake.set()

    def _end_append(self) -> None:
        self._pause_s, self._has_made_room = RETRY_S, False
        released, self._held, self._held_behind = self._held, self._held_behind, []
        behind, self._behind = self._behind, []
        self._writing, self._ended = None, self._begun
        if behind and self._journal is not None:
            self._begin(self._journal, EntryBlocks(behind))
        if self._writing is None:
            released, self._held = released + self._held, []
        self._progress()
        for ref, reply in released:
            self._send(ref, reply)
        self._begin_compaction()

    def deliver_at_once(self, ref: RequestRef, reply: GroupReply) -> None:
        """Let an answer go that depends on no entry: what the broker said of a commit."""
        self._send(ref, reply)

    def _send(self, ref: RequestRef, reply: GroupReply) -> None:
        """One answer a request: those that were refused when the journal failed have theirs."""
        if self._journal is None:
            self._deliver(ref, reply)
            return
        requests = self._open.get(ref.connection)
        if requests is not None and requests.pop(ref, None) is not None:
            if not requests:
                del self._open[ref.connection]
            self._deliver(ref, reply)

    # ------------------------------------------------------------------ when the journal fails

    async def _make_room(self) -> bool:
        """Condense a full journal and try the append again, once: what is in the way is mostly history."""
        if self._has_made_room:
            self._has_made_room = False
            return False
        assert self._journal is not None, "without one nothing is full"
        if not await self._compact():
            return False
        self._has_made_room = True
        self._begun -= 1
        self._begin(self._journal, self._written)
        if self._writing is None:
            self._end_append()
        return True

    async def _fail(self, problem: JournalUnavailable) -> None:
        """Nothing that waited is told; the groups go back to what is written, and stand still until writing works."""
        LOG.error(
            "%s; embedded groups stand still and go back to what is written, tried again in %.0f s",
            problem,
            self._pause_s,
        )
        self.failures += 1
        self.closed = Refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE, str(problem))
        self.is_going_back = False
        self._writing, self._held, self._behind, self._held_behind = None, [], [], []
        self._ended = self._begun
        self._progress()
        async with self._compacting:
            self._revive()
        self._refuse_open()
        pause_s, self._pause_s = self._pause_s, min(2 * self._pause_s, RETRY_MAX_S)
        while True:
            await trio.sleep(pause_s)
            if await self._can_write():
                break
            pause_s = RETRY_S
        self.closed = None
        self._revive()
        LOG.warning("the journal can be written again; embedded groups go on")

    async def _return_to_written(self) -> None:
        """Make the groups what the journal says; while it can't be read they stand still."""
        pause_s = RETRY_S
        while True:
            async with self._compacting:
                self.closed = None
                try:
                    self._revive()
                except Exception:
                    self.closed = _GOING_BACK
                    LOG.exception(
                        "EB-GROUP-008: the groups can't go back to what is written, tried again in %.0f s; restart the "
                        "bridge with another journal.path if that goes on",
                        pause_s,
                    )
                else:
                    break
            self._refuse_open()
            await trio.sleep(pause_s)
            pause_s = min(2 * pause_s, RETRY_MAX_S)
        self.is_going_back = False
        self._refuse_open()
        LOG.error("EB-GROUP-007: the groups went back to what is written; members keep their ids and generations")

    def _refuse_open(self) -> None:
        """Commits are left alone: what the broker says of them holds."""
        for opened in tuple(self._open.values()):
            for ref, request in tuple(opened.items()):
                if not isinstance(request, (OffsetCommit, TxnOffsetCommit)):
                    self._send(ref, error_reply(request, ErrorCode.COORDINATOR_NOT_AVAILABLE))

    async def _can_write(self) -> bool:
        """Try with a block of no entries."""
        assert self._journal is not None, "without one nothing has failed"
        try:
            probe = self._journal.append(())
            if probe is not None:
                await probe
        except JournalUnavailable:
            return False
        return True

    # ------------------------------------------------------------------ compaction

    def _begin_compaction(self) -> None:
        is_due = self._journal is not None and self._journal.is_overgrown() and not self._compacting.locked()
        if is_due and self._nursery is not None:
            start_guarded(self._nursery, self.supervised, COMPACTION, self._compact)

    async def _compact(self) -> bool:
        """Condense the journal; whether that was possible."""
        assert self._journal is not None, "without one nothing grows"
        async with self._compacting:
            try:
                await self._journal.compact(self._condense)
            except JournalUnavailable as problem:
                told = "EB-JOURNAL-012: the journal could not be condensed (%s); it goes on growing: see its disk"
                LOG.warning(told, problem)
                return False
            except Exception:
                LOG.exception("EB-JOURNAL-013: what the journal holds makes no sense together; please report this")
                return False
        return True


@dataclass(frozen=True, slots=True)
class _Failed:
    """An append that failed before it could be awaited."""

    problem: JournalUnavailable

    def __await__(self) -> Generator[None, None, None]:
        yield from ()
        raise self.problem
