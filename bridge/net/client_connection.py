"""Carries one client connection: what the client sends to its session, what the session decides to where it belongs."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import NoReturn

import trio

from bridge.log_lines import bare
from bridge.migration.route import Road
from bridge.net.broker_side import (
    PIECE_BYTES,
    PIECES_WITHOUT_CHECKPOINT,
    TURNS_WITHOUT_CHECKPOINT,
    BrokerSide,
    Cluster,
)
from bridge.net.client_questions import ClientQuestions
from bridge.net.client_rights import ClientRights
from bridge.net.clock import deadline_in, now_ms, now_ns
from bridge.net.endings import Endings, reason_of, tell_unplaced
from bridge.net.login_answers import LoginAnswers
from bridge.net.login_bounds import LoginBounds
from bridge.net.shared import SMALL_BYTES, Share, Shared, decide_placed
from bridge.net.splicing import SPLICE_BYTES_MIN
from bridge.net.transport import PeerGone, Sender, Transport
from bridge.session.broker_answers import Expected
from bridge.session.client_session import (
    Answered,
    ClientSession,
    Decision,
    Divided,
    LoggingIn,
    NameTaken,
    Relayed,
    Rewritten,
    Submitted,
)
from bridge.session.close_reasons import CloseReason
from bridge.session.contracts import OnAnswer
from bridge.session.group_requests import Unplaced
from bridge.session.heartbeat_lane import HeartbeatLane
from bridge.session.left_over import LeftOver, Waiting, left_over_of
from bridge.session.limits import is_large
from bridge.session.outbox import Slot
from bridge.session.requests import Cut, Head, Rejected
from bridge.session.rights import guarded_in
from bridge.session.split_requests import Merge
from bridge.supervision import BROKER_READER, CLIENT_READER, DELIVERY, Task, carry_out
from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import Reply, Request, error_reply
from bridge.wire.endpoints import UnknownNode
from bridge.wire.errors import MalformedFrame
from bridge.wire.frames import RequestHeader
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import RequestRef, via_of

CLOSE_FLUSH_S = 1.0
"""How long a connection that is closed may take to send what is answered already."""


class ClientConnection:
    """One client and, opened when first needed, its own connection to one broker, as `BrokerAccess`, too."""

    __slots__ = (
        "_broker",
        "_cluster",
        "_dealt",
        "_endings",
        "_event",
        "_is_corked",
        "_lane",
        "_left_over",
        "_login",
        "_login_answers",
        "_merges",
        "_nursery",
        "_questions",
        "_shared",
        "_waiting_bytes",
        "broker_id",
        "closed",
        "connection",
        "rights",
        "sender",
        "session",
        "share",
        "traffic",
        "transport",
    )

    def __init__(
        self, shared: Shared, cluster: Cluster, session: ClientSession, transport: Transport, broker_id: int | None
    ) -> None:
        self.session = session
        self.transport = transport
        self.broker_id = session.broker_id = broker_id
        self.connection = session.connection
        self.traffic = 0
        self.closed: tuple[CloseReason, str] | None = None
        self._shared = shared
        self._cluster = cluster
        self._broker = BrokerSide(shared, cluster, self, broker_id)
        self._questions = ClientQuestions(shared, cluster, session, self._broker, self)
        self.rights = ClientRights(shared, cluster, self, self._broker, self._questions)
        self._nursery: trio.Nursery | None = None
        self._lane = HeartbeatLane(session, shared.groups, shared.counters)
        self._is_corked = False
        self._merges: dict[RequestRef, Merge] = {}
        self._event: trio.Event | None = None
        self.share = Share(shared.in_flight, session.connection)
        self._dealt = 0
        """Pieces, since others had a turn for that."""
        self._waiting_bytes = 0
        self._left_over: LeftOver | None = None
        self._login = LoginBounds(shared.unauthenticated, session, self.close, is_open=cluster.is_open)
        self._login_answers: LoginAnswers | None = None
        if session.bridge_login is not None:
            self._login_answers = LoginAnswers(session, self, self._login, lambda: cluster.wants_login)
        self._endings = Endings(shared, session)

    @property
    def bytes_held(self) -> int:
        """Bytes in the buffers of this connection at this moment."""
        upstream = self._broker.sender
        held = self.session.bytes_held + self._waiting_bytes + self.unsent_bytes
        return held + (0 if upstream is None else upstream.unsent_bytes)

    @property
    def unsent_bytes(self) -> int:
        """Bytes of answers that were handed to the client's socket, which has not taken them."""
        sender = getattr(self, "sender", None)
        return 0 if sender is None else sender.unsent_bytes

    def note_held(self) -> None:
        """Tell the others what is held now, where that is or was anything."""
        if (held := self.bytes_held) or self.share.bytes_held:
            self._shared.counters.note_held(held)
            self.share.note(held, self.session.bytes_collected)
            self._login.note_held(held)

    # -------- its life

    async def run(self) -> None:
        """Serve the client until one side is done; never raises but Cancelled."""
        try:
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                went = partial(self.close, CloseReason.CLIENT_GONE, "while an answer was sent")
                self.sender = Sender(self.transport, self.spawn, self._drained, went)
                await self._guarded(CLIENT_READER, self._read_requests)
                nursery.cancel_scope.cancel()
        finally:
            self._nursery = None
            self.transport.close()
            self.session.requests.drop()
            self.share.end()
            self._login.end()
            self.rights.forget()

    async def linger(self) -> None:
        """Once the client is gone: hear what the broker says to questions that were asked on its connection.

        A commit whose answer nobody hears would keep its partitions from their next owner (decision 2).
        """
        await self._guarded(BROKER_READER, self._broker.linger)

    def leave_broker(self) -> None:
        """Close the broker's half; whoever still waits for an answer there hears that none will come."""
        self._broker.close()
        self._broker.give_up()

    def close(self, reason: CloseReason, detail: str) -> None:
        """End the connection; the first reason counts. What is being sent has a moment to leave."""
        if self.closed is not None or self._nursery is None:
            return
        self.closed = (reason, detail)
        if reason is CloseReason.CLIENT_GONE or not self.sender.unsent_bytes:
            self._nursery.cancel_scope.cancel()
        else:
            self._nursery.cancel_scope.deadline = deadline_in(CLOSE_FLUSH_S)

    @property
    def is_running(self) -> bool:
        """Whether `spawn` runs anything any more."""
        return self._nursery is not None

    def spawn(self, task: Task, work: Callable[[], Awaitable[None]]) -> None:
        """Run `work` beside, as long as the connection lives."""
        if self._nursery is not None:
            self._nursery.start_soon(self._guarded, task, work, name=task.name)

    async def wait_until(self, holds: Callable[[], bool]) -> None:
        """Wait until `holds()`, looked at whenever something of this connection changed."""
        while not holds():
            self.note_held()
            if self._event is None:
                self._event = trio.Event()
            await self._event.wait()

    def change(self) -> None:
        """Say that something changed."""
        if self._event is not None:
            self._event.set()
            self._event = None

    async def _guarded(self, task: Task, work: Callable[[], Awaitable[None]]) -> None:
        """A bug ends this connection and no other."""
        try:
            await carry_out(task, work)
        except* PeerGone as gone:
            self.close(CloseReason.CLIENT_GONE, str(bare(gone)))
        except* (MalformedFrame, UnknownNode) as error:
            self.close(CloseReason.UPSTREAM_CONFUSED, str(bare(error)))
        except* Exception as problem:  # noqa: BLE001 - a bug ends one session
            self.fail(task, problem)

    def fail(self, task: Task, problem: Exception) -> None:
        """A bug showed on this connection, which it ends."""
        self.close(CloseReason.BUG, self._endings.tell_bug(task, problem))

    # -------- from the client

    async def _read_requests(self) -> None:
        while await self._read_until_empty():
            await self._wait_for_more()

    async def _read_until_empty(self) -> bool:
        """Deal with what the socket holds; False when the client is done."""
        transport, buffer, turns = self.transport, self._shared.buffer, 0
        while True:
            held = self.session.requests.bytes_held
            wanted = transport.read_bytes
            room = self.share.room_nowait(held, wanted) or await self.share.room(held, wanted)
            count = transport.recv_into(buffer[:room])
            if count is None:
                return True
            if count == 0:
                self.close(reason_of(transport), "")
                return False
            self.traffic += 1
            self._shared.counters.bytes_from_clients += count
            left = await self._catch_up(self._take_nowait(buffer[:count], is_shared=True))
            if count < room and not left:
                # The socket was emptied: asking it again would cost a call and an exception to hear so.
                return True
            turns += 1
            if turns == TURNS_WITHOUT_CHECKPOINT:
                turns = 0
                await trio.lowlevel.checkpoint()

    def _read_nowait(self) -> bool:
        """The same without waiting, for the poller; False when this connection's own task has to go on."""
        buffer = self._shared.buffer[: self.transport.read_bytes]
        if self._shared.in_flight.is_over or self._shared.is_draining:
            return False
        count = self.transport.recv_into(buffer)
        if not count:
            return count is None
        self.traffic += 1
        self._shared.counters.bytes_from_clients += count
        session = self.session
        is_like = count == self._lane.frame_bytes and not self.sender.unsent_bytes and self.closed is None
        if is_like and (not session.login.is_limited or session.login.takes_questions(now_ms())):
            answer = self._lane.answer(bytes(buffer[:count]))
            if answer is not None:
                self.sender.send_nowait(answer)
                return True
        self._left_over = self._take_nowait(buffer[:count], is_shared=True)
        return self._left_over is None and count < len(buffer) and not self.session.requests.bytes_to_pass_on

    async def _wait_for_more(self) -> None:
        descriptor = self.transport.fileno()
        if descriptor is None:
            await self.transport.wait_readable()
            return
        await self._shared.poller.wait(descriptor, self._read_nowait)
        left_over, self._left_over = self._left_over, None
        await self._catch_up(left_over)

    def _take_nowait(self, view: memoryview, *, is_shared: bool) -> LeftOver | None:
        """Deal with the pieces of what was received, up to the first that must wait, or until it is others'
        turn; a shared view is then copied.
        """
        requests, position, left_over = self.session.requests, 0, None
        self._login.look_at_cluster(is_open=self._cluster.is_open)
        self.cork()
        while (cut := requests.cut(view, position)) is not None:
            position = requests.position
            waiting = self._deal_nowait(cut)
            self._dealt += 1
            if waiting is not None or self._dealt >= PIECES_WITHOUT_CHECKPOINT:
                rest = view[position:]
                left_over = left_over_of(waiting, rest, is_shared=is_shared)
                break
        self._waiting_bytes = 0 if left_over is None else left_over.bytes_held
        self.uncork()
        return left_over

    async def _catch_up(self, left_over: LeftOver | None) -> int:
        """Deal with what waits, and with a large rest of a request; gives how much of one there was to pass on."""
        while left_over is not None:
            if left_over.waiting is not None:
                await self._deal(left_over.waiting)
            if self._dealt >= PIECES_WITHOUT_CHECKPOINT:
                await trio.lowlevel.checkpoint()
                self._dealt = 0
            left_over = self._take_nowait(left_over.rest, is_shared=False)
        if (left := self.session.requests.bytes_to_pass_on) >= SPLICE_BYTES_MIN:
            await self._broker.splice_rest(left)
        return left

    def _deal_nowait(self, cut: Cut) -> Waiting | None:
        if isinstance(cut, Rejected):
            return Waiting(cut, cut)
        if isinstance(cut, Head):
            came_ns = now_ns()
            if self.session.is_full or self._shared.is_draining or self._shared.in_flight.is_over:
                return Waiting(cut, None, came_ns)
            offered = self._cluster.offered_nowait(self.broker_id)
            if offered is None or self.session.is_slow_to_read(cut, offered):
                return Waiting(cut, None, came_ns)
            self._shared.counters.count_request(cut.header.api_key)
            return self._carry_out(cut, self.session.decide(cut, offered), came_ns)
        if not self._broker.is_ready:
            return Waiting(cut, None)
        self._broker.send_rest(cut.data, cut.left)
        return None

    def _may_take_more(self) -> bool:
        """Whether a request may be decided on; where all hold too much, of who holds little only."""
        outbox = self.session.outbox
        held = self.unsent_bytes + outbox.bytes_held + outbox.request_bytes
        is_over = self._shared.in_flight.is_over and held > SMALL_BYTES
        return not (is_over or self.session.is_full or self._shared.is_draining)

    def _carry_out(self, head: Head, decision: Decision, came_ns: int) -> Waiting | None:
        """Do what was decided, unless it must wait for the broker or ends the connection."""
        if self.session.login.is_limited and not self._is_logged_in(decision):
            return Waiting(head, Rejected(CloseReason.LOGIN_RAN_OUT, f"client {head.header.client_id!r}"))
        if isinstance(decision, (Submitted, Divided)):
            grant = self.rights.find_nowait(decision)
            if grant is None:
                return Waiting(head, decision, came_ns)
            self._dealt += head.header.frame_bytes // PIECE_BYTES
            if isinstance(decision, Submitted):
                self._lane.note_request(head, decision, grant)
            self._submit(decision)
        elif isinstance(decision, (Relayed, Rewritten, LoggingIn)):
            is_answered_here = isinstance(decision, LoggingIn) and self._login_answers is not None
            if is_answered_here or not self._broker.is_ready or self._has_to_wait(decision):
                return Waiting(head, decision, came_ns)
            self._forward(head, decision, came_ns)
        elif isinstance(decision, Answered):
            self._endings.report(decision.ended)
        elif isinstance(decision, (Unplaced, NameTaken, Rejected)):
            return Waiting(head, decision, came_ns)
        return None

    def _is_logged_in(self, decision: Decision) -> bool:
        """Whether a client that logs in now and then may ask this; who asks anything but SASL takes itself for in."""
        if isinstance(decision, (LoggingIn, Answered)):
            return True
        login = self.session.login
        if login.has_run_out(now_ms()):
            return False
        login.go_on()
        self._broker.ask_what_waits()
        return True

    def _has_to_wait(self, decision: Relayed | Rewritten | LoggingIn) -> bool:
        """Whether earlier requests may still ask the broker something; a login waits until all of them are answered."""
        outbox = self.session.outbox
        return outbox.head is not decision.slot if isinstance(decision, LoggingIn) else outbox.holds_upstream

    def _forward(self, head: Head, decision: Relayed | Rewritten | LoggingIn, came_ns: int) -> None:
        expected, data = None, head.data
        if isinstance(decision, LoggingIn):
            self.rights.follow_login(head)
            expected = Expected(
                head.header.correlation_id, decision.slot, partial(self._take_login, head.header, decision)
            )
        elif isinstance(decision, Rewritten):
            expected = Expected(head.header.correlation_id, decision.slot, partial(self._take_rewritten, decision))
            data = decision.data or data
        elif decision.slot is not None:
            find_ending = decision.find_ending
            watch = None if find_ending is None else partial(self._endings.watch, find_ending)
            expected = Expected(head.header.correlation_id, decision.slot, watch=watch)
        self._broker.send_request(expected, data, head.left)
        if head.header.api_key == ApiKey.SASL_HANDSHAKE:
            # What was asked before has gone before it; what is asked from now on waits.
            self.session.login.begin()
            self.rights.forget()
            self._lane.forget()
        self._shared.counters.count_passed(head.header.api_key, now_ns() - came_ns)

    async def _deal(self, waiting: Waiting) -> None:
        """Deal with a piece that had to wait; its bytes are its own."""
        cut, decision, came_ns = waiting
        if isinstance(decision, Rejected):
            await self._reject(decision)
        elif not isinstance(cut, Head):
            await self.wait_until(lambda: self._broker.is_ready)
            assert not isinstance(cut, Rejected), "a rejected piece carries its decision"
            self._broker.send_rest(cut.data, cut.left)
        elif decision is None:
            await self._decide(cut, came_ns)
        elif isinstance(decision, (Relayed, Rewritten, LoggingIn)):
            await self._forward_later(cut, decision, came_ns)
        elif isinstance(decision, (Submitted, Divided)):
            await self._submit_later(cut, decision)
        elif isinstance(decision, Unplaced):
            await self._place(cut, decision, came_ns)
        elif isinstance(decision, NameTaken):
            self._endings.report(self.session.refuse_name(decision, await self.rights.judge_name(decision.group_id)))
            self.flush()

    async def _decide(self, head: Head, came_ns: int) -> None:
        await self.wait_until(self._may_take_more)
        await self.share.calm(head.header.api_key)
        offered = await self._cluster.offered(self.broker_id)
        if offered is None:
            await self._reject(Rejected(CloseReason.UPSTREAM_UNREACHABLE, "its versions could not be asked for"))
        self._shared.counters.count_request(head.header.api_key)
        found = None
        if self.session.is_slow_to_read(head, offered):
            found = await self._shared.read(self.share, len(head.data), partial(self.session.read, head))
        await self._let_in(head, self.session.decide(head, offered, found), came_ns)

    async def _let_in(self, head: Head, decision: Decision, came_ns: int) -> None:
        """What was read of a request counts from now on, and its bytes do not."""
        if isinstance(decision, (Submitted, Divided)):
            self._waiting_bytes -= len(head.data)
        if (waiting := self._carry_out(head, decision, came_ns)) is not None:
            await self._deal(waiting)

    async def _forward_later(self, head: Head, decision: Relayed | Rewritten | LoggingIn, came_ns: int) -> None:
        await self.wait_until(lambda: not self._has_to_wait(decision))
        if isinstance(decision, LoggingIn) and self._login_answers is not None:
            await self._login_answers.answer(head, decision.slot)
            return
        if not await self._broker.be_ready():
            await self._reject(Rejected(CloseReason.UPSTREAM_UNREACHABLE, "the request could not be forwarded"))
        self._forward(head, decision, came_ns)

    async def _submit_later(self, head: Head, submitted: Submitted | Divided) -> None:
        """Submit what had to wait for a broker's word, as far as that lets it be."""
        judged = await self.rights.judge(submitted)
        if isinstance(judged, ErrorCode):
            self._submit(submitted, judged)
        else:
            if isinstance(judged, Submitted) and (grant := self.rights.find_nowait(judged)) is not None:
                self._lane.note_request(head, judged, grant)
            self._submit(judged)
        self.flush()

    async def _place(self, head: Head, unplaced: Unplaced, came_ns: int) -> None:
        """Have it found out where groups live before their request is decided on; who has not logged in asks nothing.

        Where that can't be found out the client is told to come again.
        """
        await self.rights.proof.wait_for()
        refusal = None
        for group_id in (
            await self.rights.claim(head, *unplaced.group_ids) if unplaced.is_unclaimed else unplaced.group_ids
        ):
            refusal = refusal or await self._shared.place(group_id, self.session.identity.client_host)
        offered = await self._cluster.offered(self.broker_id)
        if offered is None:
            await self._reject(Rejected(CloseReason.UPSTREAM_UNREACHABLE, "its versions could not be asked for"))
        if refusal is not None:
            tell_unplaced(self._shared, self.session, unplaced.group_ids[0], refusal)
        await self._let_in(head, await decide_placed(self._shared, self, head, offered, refusal), came_ns)
        self.flush()

    async def _reject(self, rejected: Rejected) -> NoReturn:
        self.close(rejected.reason, rejected.detail)
        await trio.sleep_forever()

    # -------- to the client

    def cork(self) -> None:
        """Let finished answers gather until `uncork`, so that they leave together."""
        self._is_corked = True

    def uncork(self) -> None:
        """Send what is ready."""
        self._is_corked = False
        self.flush()

    def flush(self) -> None:
        """Send all finished answers at the head, unless more may join them or the client is still taking some."""
        if self._is_corked or self._nursery is None:
            return
        if self.session.outbox.head_is_ready and not self.sender.unsent_bytes:
            ready = self.session.outbox.take_ready()
            data = ready[0] if len(ready) == 1 else b"".join(ready)
            self._shared.counters.requests_answered += len(ready)
            self._shared.counters.bytes_to_clients += len(data)
            self.sender.send_nowait(data)
        self.note_held()
        self.change()

    def deliver(self, slot: Slot, road: Road, reply: Reply) -> None:
        """Put what was answered on a road into its slot; it leaves when its turn comes."""
        try:
            merge = self._merges.get(slot.ref) if self._merges else None
            whole = reply if merge is None else merge.take(road, reply)
            if whole is not None:
                self._endings.report(self.session.find_ending(slot, road, whole))
                self.rights.look_at_assignment(slot.asked, whole)
                self._put(slot, whole)
        except Exception as problem:  # noqa: BLE001 - whoever answers serves everybody, and this concerns one
            self.fail(DELIVERY, problem)

    def _put(self, slot: Slot, reply: Reply) -> None:
        self._merges.pop(slot.ref, None)
        if is_large(reply) and self._nursery is not None:
            self.spawn(DELIVERY, partial(self._put_later, slot, reply))
            return
        answer = self.session.encode(slot, reply)
        self._lane.note_answer(slot, reply, answer)
        self.session.outbox.fill(slot, answer)
        self.flush()

    async def _put_later(self, slot: Slot, reply: Reply) -> None:
        answer = await self._shared.beside(partial(self.session.encode, slot, reply))
        if slot.answer is None:
            self.session.outbox.fill(slot, answer)
            self.flush()

    def _drained(self) -> None:
        self.flush()
        if self.closed is not None and self._nursery is not None and not self.sender.unsent_bytes:
            self._nursery.cancel_scope.cancel()

    def _take_rewritten(self, decision: Rewritten, frame: bytes | None) -> None:
        if frame is None:
            return
        slot, hear = decision.slot, decision.hear
        if hear is None:
            frame = bytes(self._cluster.rewritten(slot.api_key, slot.api_version, frame))
        else:
            hear(frame)
        if decision.find_ending is not None:
            self._endings.watch(decision.find_ending, frame)
        self.session.outbox.fill(slot, frame)
        self.flush()

    def _take_login(self, header: RequestHeader, decision: LoggingIn, frame: bytes | None) -> None:
        if frame is None:
            return
        if header.api_key == ApiKey.SASL_AUTHENTICATE:
            self._login.hear(header.api_version, frame)
            self.rights.hear_login(header.api_version, frame)
            self._broker.ask_what_waits()
        self._login.fill(header, decision.slot, frame)
        self.flush()
        self._login.count_steps()

    # -------- BrokerAccess

    def highest_version(self, api_key: int) -> int | None:
        """See `session.contracts.BrokerAccess`."""
        return self._questions.highest_version(api_key)

    def ask(self, ref: RequestRef | None, request: Request, on_answer: OnAnswer, version: int | None = None) -> None:
        """See `session.contracts.BrokerAccess`."""
        if self.closed is None and self._nursery is not None:
            self._questions.ask(ref, request, on_answer, version)
        else:
            on_answer(None)

    def _submit(self, decision: Submitted | Divided, refused: ErrorCode | None = None) -> None:
        """Hand in a request; `refused`: but not the part of it that is guarded, which is answered so."""
        slot = decision.slot
        if isinstance(decision, Submitted):
            self._submit_to(decision.road, slot, decision.request, refused)
            return
        merge = self._merges[slot.ref] = decision.merge
        for road, part in merge.pieces:
            if road is Road.PASS:
                self.ask(slot.ref, part, partial(self._take_part, slot, merge, road))
            else:
                self._submit_to(road, slot, part, refused)

    def _submit_to(self, road: Road, slot: Slot, request: Request, refused: ErrorCode | None) -> None:
        slot.asked = request
        if refused is not None and guarded_in(road, request) is not None:
            self.deliver(slot, road, error_reply(request, refused))
            return
        self._shared.groups[road].submit(slot.ref, self.session.identity, via_of(slot.ref), request)

    def _take_part(self, slot: Slot, merge: Merge, road: Road, reply: Reply | None) -> None:
        if (merged := merge.take(road, reply)) is not None:
            self._put(slot, merged)
