"""The broker's half of one client connection: opened when first needed, written in order, its answers read in order."""

from collections.abc import Awaitable, Callable
from math import inf
from typing import Protocol

import trio

from bridge.net.clock import now_ms
from bridge.net.own_login import Proof
from bridge.net.shared import Share, Shared
from bridge.net.splicing import SPLICE_BYTES_MIN, can_splice, splice
from bridge.net.tls_socket import ONLY_KEYS
from bridge.net.transport import PeerGone, Sender, Transport
from bridge.session.broker_answers import AnswerCutter, Confused, Expected, Streamed, Whole
from bridge.session.client_session import ClientSession, Offered
from bridge.session.close_reasons import CloseReason
from bridge.supervision import BROKER_ANSWER, BROKER_OPENER, BROKER_READER, Task
from bridge.wire.frames import FrameBytes

READ_BYTES = 64 * 1024
BROKER_CLOSED = "the broker closed the connection"
TURNS_WITHOUT_CHECKPOINT = 16
"""How often one socket is read in a row before others have a turn."""
PIECES_WITHOUT_CHECKPOINT = 200
"""How much of what came at once is dealt with before others have a turn: some 10 ms of requests that are answered here.
A client that sent 100,000 of them in one go kept everybody waiting for ten seconds, and answers of a broker are no
cheaper.
"""
PIECE_BYTES = 128
"""Something large that is read here counts as many pieces as this goes into it: a heartbeat has about so many."""
LINGER_S = 5.0
"""How long the broker has to answer a commit whose client is gone: its own `offsets.commit.timeout.ms`."""


class Cluster(Protocol):
    """The cluster as one connection needs it."""

    @property
    def is_open(self) -> bool:
        """Whether everybody is answered without a login; False also as long as that is not known."""
        ...

    @property
    def wants_login(self) -> bool:
        """Whether nobody is; False also as long as that is not known."""
        ...

    @property
    def is_reachable(self) -> bool:
        """Whether a broker said anything when the cluster was asked last."""
        ...

    @property
    def login_ends_ms(self) -> float:
        """When a login that the bridge made for this client has to be made again; infinite where it made none."""
        ...

    @property
    def login_proof(self) -> Proof | None:
        """What the bridge logged in with when it last connected for this client; None where it logs in for nobody."""
        ...

    def offered_nowait(self, broker_id: int | None) -> Offered | None:
        """What the broker speaks, where that is known and fresh."""
        ...

    async def offered(self, broker_id: int | None) -> Offered | None:
        """The same, asked for if need be; None when it could not be learned within the limits."""
        ...

    async def connect(self, broker_id: int | None, announcement: bytes = b"") -> Transport | None:
        """A new connection to the broker; None when it can't be reached within the limits.

        `announcement` says in front of it whose it is, where it is a client's and brokers take such a word.
        """
        ...

    def rewritten(self, api_key: int, version: int, frame: bytes) -> FrameBytes:
        """The answer with our addresses in place of the brokers'; listeners it needs are open before it returns.

        Raises MalformedFrame, and UnknownNode where no listener could be opened.
        """
        ...


class ClientSide(Protocol):
    """The client's half, as the broker's half needs it."""

    session: ClientSession
    sender: Sender
    transport: Transport
    traffic: int
    share: Share

    def note_held(self) -> None:
        """Tell the others what is held."""
        ...

    def cork(self) -> None:
        """Let finished answers gather until `uncork`, so that they leave together."""
        ...

    def uncork(self) -> None:
        """Send what is ready."""
        ...

    def flush(self) -> None:
        """The same, unless corked."""
        ...

    def close(self, reason: CloseReason, detail: str) -> None:
        """End the connection."""
        ...

    def spawn(self, task: Task, work: Callable[[], Awaitable[None]]) -> None:
        """Run `work` beside, as long as the connection lives."""
        ...

    async def wait_until(self, holds: Callable[[], bool]) -> None:
        """Wait until `holds()`, looked at whenever something of this connection changed."""
        ...

    def change(self) -> None:
        """Say that something changed."""
        ...

    def fail(self, task: Task, problem: Exception) -> None:
        """A bug showed on this connection, which it ends."""
        ...


def _rest_of(view: memoryview, position: int, *, is_shared: bool) -> memoryview:
    """What is left of received bytes; of a shared view a copy."""
    return memoryview(bytes(view[position:])) if is_shared else view[position:]


class BrokerSide:
    """One lazily opened connection to one broker, for one client."""

    __slots__ = (
        "_answers",
        "_asks",
        "_client",
        "_cluster",
        "_dealt",
        "_is_confused",
        "_is_mid_request",
        "_is_opening",
        "_rest",
        "_shared",
        "broker_id",
        "sender",
        "transport",
    )

    def __init__(self, shared: Shared, cluster: Cluster, client: ClientSide, broker_id: int | None) -> None:
        self.broker_id = broker_id
        self.transport: Transport | None = None
        self.sender: Sender | None = None
        self._shared = shared
        self._cluster = cluster
        self._client = client
        self._answers: AnswerCutter = client.session.answers
        self._asks: list[tuple[Expected, bytes]] = []
        self._is_mid_request = False
        self._is_opening = False
        self._rest: memoryview | None = None
        """Bytes with answers that must wait; they are nobody else's."""
        self._is_confused = False
        self._dealt = 0
        """Pieces, since others had a turn for that."""

    @property
    def is_ready(self) -> bool:
        """Whether the next request can be written now."""
        if self.sender is None or self.sender.unsent_bytes:
            return False
        return self._is_mid_request or not self._is_due

    @property
    def _is_due(self) -> bool:
        """Whether the bridge has to log in anew for the client before anything more is asked."""
        ends_ms = self._cluster.login_ends_ms
        return ends_ms != inf and now_ms() >= ends_ms

    @property
    def _takes_questions(self) -> bool:
        """Whether neither the client nor the bridge for it has to log in anew before the broker would answer one."""
        login = self._client.session.login
        if login.is_limited and not login.takes_questions(now_ms()):
            return False
        return self._cluster.login_ends_ms == inf or not self._is_due

    def _is_at_rest(self) -> bool:
        # What expects no answer (acks=0) may still be on its way out.
        is_sent = self.sender is None or not self.sender.unsent_bytes
        return is_sent and self._answers.next_expected is None and not self._is_mid_request

    async def be_ready(self) -> bool:
        """Connect unless connected, and wait until the next request can be written; False as of `open`."""
        while not self.is_ready:
            if not await self.open():
                return False
            # While a slow broker takes what came before, the login may run out, or the connection end.
            await self._client.wait_until(lambda: self.is_ready or self._is_due or self.sender is None)
        return True

    async def open(self) -> bool:
        """Connect unless connected; False when the broker can't be reached within the limits."""
        if self._is_opening:
            await self._client.wait_until(lambda: not self._is_opening)
        if self.transport is not None and not self._is_due:
            return True
        self._is_opening = True
        try:
            if self.transport is not None:
                await self._client.wait_until(self._is_at_rest)
                self.close()
            transport = await self._cluster.connect(self.broker_id, self._client.session.announcement)
        finally:
            self._is_opening = False
            self._client.change()
        if transport is None:
            return False
        self.transport = transport
        self.sender = Sender(transport, self._client.spawn, self._client.change, self._lost_while_sending)
        self._client.spawn(BROKER_READER, lambda: self._hear(transport))
        return True

    def close(self) -> None:
        """Close the connection if there is one."""
        if self.transport is not None:
            if self.sender is not None:
                self.sender.stop()
            descriptor = self.transport.fileno()
            if descriptor is not None:
                self._shared.poller.release(descriptor)
            self.transport.close()
            self.transport = self.sender = None

    # -------- to the broker

    def send_request(self, expected: Expected | None, data: bytes | memoryview, left: int) -> None:
        """Write a request or its beginning; `left` bytes follow by send_rest. None is expected for acks=0."""
        assert self.sender is not None, "open first"
        # Questions stand in the place of earlier requests: answers must come back in the order of the slots.
        self._send_asks(self.sender)
        if expected is not None:
            self._answers.expect(expected)
        self._shared.counters.requests_relayed += 1
        self.sender.send_nowait(data)
        self._end_request(left)

    def send_rest(self, data: memoryview, left: int) -> None:
        """Write more of the current request."""
        assert self.sender is not None, "open first"
        self.sender.send_nowait(data)
        self._end_request(left)

    def ask(self, expected: Expected, frame: bytes) -> None:
        """Write a request of the bridge's own between two of the client's, once the connection is open."""
        sender = self.sender
        if sender is not None and not (self._asks or self._is_mid_request) and self._takes_questions:
            self._answers.expect(expected)
            sender.send_nowait(frame)
            return
        self._asks.append((expected, frame))
        if self.sender is None or (self._is_due and not self._is_mid_request):
            self._client.spawn(BROKER_OPENER, self._open_for_asks)
        elif not self._is_mid_request:
            self._send_asks(self.sender)

    async def splice_rest(self, left: int) -> None:
        """Let the kernel move the rest of the current request, where it can; else it is sent as it comes."""
        client, transport = self._client, self.transport
        if transport is None or not can_splice(client.transport, transport):
            return
        await client.wait_until(lambda: self.is_ready)

        def progressed(count: int) -> None:
            client.traffic += 1
            self._shared.counters.bytes_from_clients += count
            client.session.requests.pass_on(count)

        if not self._shared.pipes.can_lend():
            return
        try:
            is_whole = await splice(self._shared.pipes, client.transport, transport, left, progressed)
        except PeerGone:
            self._lost_while_sending()
            return
        if not is_whole:
            client.close(CloseReason.CLIENT_GONE, "in the middle of a request")
            return
        self._end_request(0)

    def _end_request(self, left: int) -> None:
        self._is_mid_request = left > 0
        if not left and self._asks and self.sender is not None:
            self._send_asks(self.sender)

    def ask_what_waits(self) -> None:
        """The client has logged in, perhaps anew: questions that had to wait for that are asked."""
        if self._asks and self.sender is not None and not self._is_mid_request:
            self._send_asks(self.sender)

    def _send_asks(self, sender: Sender) -> None:
        if self._is_due:
            # It ran out while a request was written: nobody else may come to open the next connection.
            if self._asks:
                self._client.spawn(BROKER_OPENER, self._open_for_asks)
            return
        if not self._takes_questions:
            return
        asks, self._asks = self._asks, []
        for expected, frame in asks:
            self._answers.expect(expected)
            sender.send_nowait(frame)

    async def _open_for_asks(self) -> None:
        if not await self.open():
            self.give_up()
        elif self.sender is not None and not self._is_mid_request:
            self._send_asks(self.sender)

    # -------- from the broker

    def _may_read(self) -> bool:
        """Whether the next bytes have somewhere to go: a streamed answer only when it is its turn."""
        answers = self._answers
        if answers.is_held_next:
            return True
        client, expected = self._client, answers.next_expected
        is_its_turn = bool(answers.bytes_to_pass_on) or expected is None or client.session.outbox.head is expected.slot
        return is_its_turn and client.sender.unsent_bytes == 0

    async def _hear(self, transport: Transport) -> None:
        try:
            await self._read_answers(transport)
        except PeerGone:
            # Closed here, because sending failed first: that has been dealt with, and there may be another by now.
            if self.transport is transport:
                raise

    async def _read_answers(self, transport: Transport) -> None:
        buffer, turns = self._shared.buffer, 0
        while True:
            wanted = transport.read_bytes
            room = self._room_nowait(wanted) or await self._room_for_answers(wanted)
            count = transport.recv_into(buffer[:room])
            if count:
                self._client.traffic += 1
                self._rest = self._take_nowait(buffer[:count])
            elif count == 0:
                self._hung_up(transport)
                return
            if count is None or (count < room and not self._has_work):
                # The socket was emptied: asking it again would cost a call and an exception to hear so.
                turns = 0
                descriptor = transport.fileno()
                if descriptor is None:
                    await transport.wait_readable()
                else:
                    await self._shared.poller.wait(descriptor, self._read_nowait)
                    if self.transport is not transport:
                        # Closed here, because sending failed first: that has been dealt with.
                        return
            # Which need not wait: of a long answer that no kernel can move more is read as well.
            if self._has_work and not await self._go_on(transport):
                return
            turns += 1
            if turns == TURNS_WITHOUT_CHECKPOINT:
                turns = 0
                await trio.lowlevel.checkpoint()

    def _room_nowait(self, wanted_bytes: int) -> int:
        return self._client.share.room_nowait(self._answers.bytes_held, wanted_bytes) if self._may_read() else 0

    def _read_nowait(self) -> bool:
        """The same without waiting, for the poller; False when this connection's own task has to go on."""
        transport, buffer = self.transport, self._shared.buffer
        if transport is None:
            return False
        room = transport.read_bytes
        if self._shared.in_flight.is_over or not self._answers.is_held_next:
            room = self._room_nowait(room)
        if not room:
            return False
        count = transport.recv_into(buffer[:room])
        if not count:
            # An end is still there when the task looks for itself.
            return count is None
        self._client.traffic += 1
        view = buffer[:count]
        if count < room and self._take_alone(view):
            return True
        self._rest = self._take_nowait(view)
        return count < room and not self._has_work

    def _take_alone(self, view: memoryview) -> bool:
        """Deal with what was received if it is the answer to one question and nothing else, while no request of the
        client is open that it could finish: so it is with heartbeats of the bridge's own.
        """
        client = self._client
        if client.session.outbox or self._dealt >= PIECES_WITHOUT_CHECKPOINT:
            return False
        take = self._answers.cut_alone(view)
        if take is None:
            return False
        self._dealt += 1 + len(view) // PIECE_BYTES
        take(bytes(view))
        if client.share.bytes_held or (self.sender is not None and self.sender.unsent_bytes):
            client.note_held()
        client.change()
        return True

    @property
    def _has_work(self) -> bool:
        """Whether something is left that only a task can do, which may wait."""
        is_long = self._answers.bytes_to_pass_on >= SPLICE_BYTES_MIN
        return self._rest is not None or is_long or self._is_confused

    async def _go_on(self, transport: Transport) -> bool:
        """Deal with what had to wait; False when the connection is done."""
        while self._rest is not None and not self._is_confused:
            await self._client.wait_until(self._may_read)
            if self._dealt >= PIECES_WITHOUT_CHECKPOINT:
                await trio.lowlevel.checkpoint()
                self._dealt = 0
            self._rest = self._take_nowait(self._rest, is_shared=False)
        if self._is_confused:
            return False
        left = self._answers.bytes_to_pass_on
        if left >= SPLICE_BYTES_MIN and can_splice(transport, self._client.transport):
            return await self._splice_answer(transport, left)
        return True

    async def _room_for_answers(self, wanted_bytes: int) -> int:
        """How many bytes may be read, once there may be any."""
        while True:
            if not self._may_read():
                await self._client.wait_until(self._may_read)
            room = await self._client.share.room(self._answers.bytes_held, wanted_bytes)
            if self._may_read():
                return room

    def _take_nowait(self, view: memoryview, *, is_shared: bool = True) -> memoryview | None:
        """Deal with the answers in what was received, up to the first that must wait, or until it is others' turn; a
        shared view is then copied.

        What passes and what is finished by it leaves together.
        """
        position, passing = 0, list[memoryview]()
        try:
            self._client.cork()
            while True:
                if position < len(view) and not self._may_read():
                    self._let_out(passing)
                    self._client.uncork()
                    if not self._may_read():
                        return _rest_of(view, position, is_shared=is_shared)
                    self._client.cork()
                if position < len(view) and self._dealt >= PIECES_WITHOUT_CHECKPOINT:
                    return _rest_of(view, position, is_shared=is_shared)
                cut = self._answers.cut(view, position)
                if cut is None:
                    return None
                position = self._answers.position
                self._dealt += 1
                if isinstance(cut, Streamed):
                    passing.append(cut.data)
                    if cut.left == 0:
                        self._client.session.outbox.end_stream()
                elif isinstance(cut, Confused):
                    self._be_confused(cut)
                    return None
                elif cut.expected.take is not None:
                    self._dealt += len(cut.frame) // PIECE_BYTES
                    cut.expected.take(cut.frame)
        finally:
            self._let_out(passing)
            self._client.uncork()

    def _let_out(self, passing: list[memoryview]) -> None:
        if not passing:
            return
        data = passing[0] if len(passing) == 1 else b"".join(passing)
        passing.clear()
        self._shared.counters.bytes_to_clients += len(data)
        self._client.sender.send_nowait(data)

    def _be_confused(self, cut: Confused) -> None:
        self._is_confused = True
        reason = CloseReason.ANSWER_TOO_LARGE if cut.too_large else CloseReason.UPSTREAM_CONFUSED
        self._client.close(reason, cut.detail)

    async def _splice_answer(self, transport: Transport, left: int) -> bool:
        client = self._client
        await client.wait_until(lambda: client.sender.unsent_bytes == 0)

        def progressed(count: int) -> None:
            client.traffic += 1
            self._shared.counters.bytes_to_clients += count
            self._answers.pass_on(count)

        if not self._shared.pipes.can_lend():
            return True
        if not await splice(self._shared.pipes, transport, client.transport, left, progressed):
            self._lost("the broker closed the connection in the middle of an answer")
            return False
        client.session.outbox.end_stream()
        client.flush()
        return True

    # -------- the end

    async def linger(self) -> None:
        """Without a client: wait for the answers to questions, a moment long; what was for the client is dropped."""
        if self.transport is not None:
            with trio.move_on_after(LINGER_S):
                await hear_out(self.transport, self._answers)

    def _hung_up(self, transport: Transport) -> None:
        """The broker is done with a connection, which is no news where it was closed here."""
        if self.transport is transport:
            who = "the bridge closed its connection to the broker" if transport.fault == ONLY_KEYS else BROKER_CLOSED
            self._lost(f"{who}{transport.fault and ': ' + transport.fault}")

    def _lost_while_sending(self) -> None:
        self._lost(f"{BROKER_CLOSED} while a request was sent")

    def _lost(self, detail: str) -> None:
        """Questions hear of it; an idle connection is opened again when needed, else the client must come again."""
        idle = self._answers.next_expected is None and not self._is_mid_request and not self._asks
        self.close()
        if idle and not self._client.session.says_it_authenticates:
            self._client.change()
            return
        self.give_up()
        # A broker that wants a login closes at whatever else comes first.
        is_stranger = self._cluster.wants_login and not self._client.session.says_it_authenticates
        self._client.close(CloseReason.NO_LOGIN if is_stranger else CloseReason.UPSTREAM_LOST, detail)

    def _tell_lost(self, take: Callable[[bytes | None], None]) -> None:
        """What goes wrong with one that waits must not keep the others from hearing of it."""
        try:
            take(None)
        except Exception as problem:  # noqa: BLE001 - a bug ends one connection
            self._client.fail(BROKER_ANSWER, problem)

    def give_up(self) -> None:
        """No more answers will come: tell everybody who waits for one."""
        waiting = [expected for expected, _ in self._asks]
        self._asks = []
        for expected in (*self._answers.give_up(), *waiting):
            if expected.take is not None:
                self._tell_lost(expected.take)
        self._client.flush()


async def hear_out(transport: Transport, answers: AnswerCutter) -> None:
    """Read until no question is open any more, or until the broker ends it; the caller sets the deadline."""
    buffer = memoryview(bytearray(READ_BYTES)) if answers.awaits_held else memoryview(b"")
    while answers.awaits_held:
        count = transport.recv_into(buffer)
        if count is None:
            await transport.wait_readable()
        elif count == 0 or not _take(answers, buffer[:count]):
            return
        else:
            await trio.lowlevel.checkpoint()


def _take(answers: AnswerCutter, view: memoryview) -> bool:
    """Cut what came; False when it can't be made sense of."""
    position = 0
    while (cut := answers.cut(view, position)) is not None:
        position = answers.position
        if isinstance(cut, Confused):
            return False
        if isinstance(cut, Whole) and cut.expected.take is not None:
            cut.expected.take(cut.frame)
    return True
