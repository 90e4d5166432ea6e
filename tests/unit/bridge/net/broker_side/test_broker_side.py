"""The broker's half of a connection: opened late, asked between requests, given up once."""

from dataclasses import dataclass
from math import inf

import pytest
import trio
import trio.testing

from bridge.migration.route import Router
from bridge.net.broker_side import (
    PIECE_BYTES,
    PIECES_WITHOUT_CHECKPOINT,
    TURNS_WITHOUT_CHECKPOINT,
    BrokerSide,
    hear_out,
)
from bridge.net.client_connection import ClientConnection
from bridge.net.own_login import Proof
from bridge.net.shared import InFlight, Shared, no_place
from bridge.net.transport import RECEIVE_BYTES, PeerGone, SocketTransport, Transport
from bridge.session.broker_answers import AnswerCutter, Expected
from bridge.session.client_session import ClientSession, Offered, Rules
from bridge.session.close_reasons import CloseReason
from bridge.session.limits import Limits
from bridge.session.outbox import Slot
from bridge.wire.api_versions import ApiVersionsAnswer
from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import Reply, encode_reply, encode_request
from bridge.wire.frames import read_request_header
from bridge.wire.versions import KNOWN
from tests.support.front import front_of, running, settings_for
from tests.support.longest_turn import LongestTurn
from tests.support.proxy import SeenGroups
from tests.support.scripted_broker import LOOPBACK, ScriptedBroker, request
from translators.dialects.classic import Heartbeat, HeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId, RequestRef
from translators.dialects.offsets import FetchedGroup, GroupOffsets, OffsetFetch, OffsetFetchReply

OURS = GroupId("embedded-x")
BEAT = encode_request(ApiKey.HEARTBEAT, 3, 1, "c", Heartbeat(OURS, 1, MemberId("m"), None))
OFFSETS = OffsetFetch(groups=(GroupOffsets(group_id=OURS, topics=None),))
FOUND = OffsetFetchReply(groups=(FetchedGroup(group_id=OURS, topics=()),))
NO_ACKS = b"\xff\xff\x00\x00" + b"lost" * 10
BODIES: dict[int, bytes] = {ApiKey.OFFSET_FETCH: encode_reply(ApiKey.OFFSET_FETCH, 8, 0, FOUND)[9:]}


async def test_connection_to_the_broker_is_opened_when_first_needed() -> None:
    """A client whose requests are answered here, and whose rights are known, costs the broker nothing."""
    broker = ScriptedBroker()
    async with front_of(broker) as front:
        first, client = await front.dial(), await front.dial()
        for number, one in enumerate((first, client)):
            before = len(broker.streams)
            await one.send(BEAT)
            await trio.testing.wait_all_tasks_blocked(0.01)
            assert (len(broker.streams) == before) is (one is client)
            front.reply_routes.deliver(front.groups.submitted[number][0], HeartbeatReply(ErrorCode.NONE))
            assert await one.ids(1) == [1]
        before = len(broker.streams)
        await client.send(request(ApiKey.FETCH, 11, 2))
        assert await client.ids(1) == [2]
        assert len(broker.streams) == before + 1


async def test_question_waits_for_the_end_of_a_request_in_progress() -> None:
    """Nothing is ever written into the middle of a client's frame."""
    broker, got = ScriptedBroker(bodies=BODIES), list[Reply | None]()
    async with front_of(broker) as front:
        client = await front.dial()
        await client.send(BEAT)
        await trio.testing.wait_all_tasks_blocked(0.01)
        ref, _, via, _ = front.groups.submitted[0]
        front.reply_routes.deliver(ref, HeartbeatReply(ErrorCode.NONE))
        fetch = request(ApiKey.FETCH, 11, 2, bytes(1000))
        await client.send(fetch[:500])
        await trio.testing.wait_all_tasks_blocked(0.01)
        via.ask(None, OFFSETS, got.append, 8)
        await trio.testing.wait_all_tasks_blocked(0.01)
        assert got == []
        await client.send(fetch[500:])
        assert await client.ids(2) == [1, 2]
        await trio.testing.wait_all_tasks_blocked(0.01)
    assert got == [FOUND]
    assert [key for key, *_ in broker.requests] == [ApiKey.FETCH, ApiKey.OFFSET_FETCH]


async def test_question_opens_the_connection_and_may_be_repeated() -> None:
    """Asked as often as it takes in the place of one request, the client's later ones wait behind."""
    broker, got = ScriptedBroker(bodies=BODIES), list[Reply | None]()
    async with front_of(broker) as front:
        client = await front.dial()
        await client.send(encode_request(ApiKey.OFFSET_FETCH, 8, 1, "c", OFFSETS), request(ApiKey.FETCH, 11, 2))
        await trio.testing.wait_all_tasks_blocked(0.01)
        ref, message, via, _ = front.groups.submitted[0]
        for _ in range(2):
            via.ask(ref, message, got.append)
            await trio.testing.wait_all_tasks_blocked(0.01)
        assert got == [FOUND, FOUND]
        front.reply_routes.deliver(ref, FOUND)
        assert await client.ids(2) == [1, 2]
    assert [key for key, *_ in broker.requests] == [ApiKey.OFFSET_FETCH, ApiKey.OFFSET_FETCH, ApiKey.FETCH]


async def test_unreadable_answer_to_a_question_is_none_and_ends_the_connection() -> None:
    """Whoever asked hears of it; the client comes again."""
    broker, got = ScriptedBroker(bodies={ApiKey.OFFSET_FETCH: b"\xff"}), list[Reply | None]()
    async with front_of(broker) as front:
        client = await front.dial()
        await client.send(encode_request(ApiKey.OFFSET_FETCH, 8, 1, "c", OFFSETS))
        await trio.testing.wait_all_tasks_blocked(0.01)
        ref, message, via, _ = front.groups.submitted[0]
        via.ask(ref, message, got.append)
        assert await client.is_closed()
    assert got == [None]


async def test_broker_that_is_gone_when_a_request_is_sent_is_no_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker hangs up on acks=0 that it can't serve: who listens for answers is woken, and the next request connects
    again.
    """
    try_send = SocketTransport.try_send

    def send_or_fail(transport: SocketTransport, data: bytes | memoryview) -> int:
        if NO_ACKS in bytes(data):
            raise PeerGone("broken pipe")
        return try_send(transport, data)

    broker = ScriptedBroker()
    async with front_of(broker) as front:
        client = await front.dial()
        await client.send(request(ApiKey.FETCH, 11, 1))
        assert await client.ids(1) == [1]
        before = len(broker.streams)
        monkeypatch.setattr(SocketTransport, "try_send", send_or_fail)
        await client.send(request(ApiKey.PRODUCE, 7, 2, NO_ACKS))
        await trio.testing.wait_all_tasks_blocked(0.01)
        await client.send(request(ApiKey.FETCH, 11, 3))
        assert await client.ids(1) == [3]
        assert len(broker.streams) == before + 1
        assert front.closed(CloseReason.BUG) == 0


async def test_broker_that_half_closes_while_a_request_waits_to_be_sent_ends_one_connection() -> None:
    """It takes nothing any more and says that it is done, as a balancer does: this ended the whole process."""
    async with trio.open_nursery() as nursery:
        listeners = await trio.open_tcp_listeners(0, host=LOOPBACK)
        broker = HalfClosing(ScriptedBroker(port=listeners[0].socket.getsockname()[1]))
        nursery.start_soon(trio.serve_listeners, broker.talk, listeners)
        async with running(settings_for(broker.script)) as front:
            client, other = await front.dial(), await front.dial()
            with pytest.raises(trio.BrokenResourceError):
                await client.send(*(request(ApiKey.PRODUCE, 7, number, PIECE) for number in range(PIECES)))
            await other.send(request(ApiKey.API_VERSIONS, 2, 5))
            assert await other.ids(1) == [5]
            assert front.closed(CloseReason.UPSTREAM_LOST) == 1
            assert front.closed(CloseReason.BUG) == 0
        nursery.cancel_scope.cancel()


async def test_bug_of_who_waits_for_an_answer_ends_its_connection_and_keeps_nobody_from_hearing() -> None:
    """The broker is lost with two questions open; the first one's asker fails."""
    broker, got = ScriptedBroker(gate=trio.Event()), list[Reply | None]()

    def fail(_: Reply | None) -> None:
        raise ValueError("a bug")

    async with front_of(broker) as front:
        client, other = await front.dial(), await front.dial()
        await client.send(encode_request(ApiKey.OFFSET_FETCH, 8, 1, "c", OFFSETS))
        await trio.testing.wait_all_tasks_blocked(0.01)
        _, _, via, _ = front.groups.submitted[0]
        via.ask(None, OFFSETS, fail, 8)
        via.ask(None, OFFSETS, got.append, 8)
        await trio.testing.wait_all_tasks_blocked(0.01)
        await broker.hang_up()
        assert await client.is_closed()
        await other.send(request(ApiKey.API_VERSIONS, 2, 5))
        assert await other.ids(1) == [5]
        assert (got, front.closed(CloseReason.BUG)) == ([None], 1)


PIECE = b"\xff\xff\x00\x01" + bytes(50_000)
"""So small that it is copied, not spliced."""
PIECES = 400
FILLED_S = 0.2


class HalfClosing:
    """Answers what a proxy asks at its start; of a connection with anything else it reads a little and is done."""

    def __init__(self, script: ScriptedBroker) -> None:
        self.script = script

    async def talk(self, stream: trio.SocketStream) -> None:
        """Serve one connection."""
        received = bytearray()
        async for chunk in stream:
            received += chunk
            while (header := read_request_header(received)) is not None:
                if header.api_key == ApiKey.PRODUCE:
                    # What it does not read fills the sockets, so that the proxy waits to send more.
                    await trio.sleep(FILLED_S)
                    await stream.send_eof()
                    await trio.sleep_forever()
                if len(received) < header.frame_bytes:
                    break
                del received[: header.frame_bytes]
                await self.script.answer(stream, header)


class Pieces:
    """A transport that gives what a broker sent in pieces, and keeps what a client was sent."""

    is_plain = False
    read_bytes = RECEIVE_BYTES
    fault = ""

    def __init__(self, *pieces: bytes) -> None:
        self.sent: list[bytes] = []
        self.rooms: list[int] = []
        self._pieces = list(pieces)

    def recv_into(self, buffer: memoryview) -> int | None:
        """The next piece, or as much of it as fits."""
        self.rooms.append(len(buffer))
        if not self._pieces:
            return None
        piece = self._pieces.pop(0)
        if len(piece) > len(buffer):
            self._pieces.insert(0, piece[len(buffer) :])
        count = min(len(piece), len(buffer))
        buffer[:count] = piece[:count]
        return count

    def try_send(self, data: bytes | memoryview) -> int:
        """Everything is taken."""
        self.sent.append(bytes(data))
        return len(data)

    def fileno(self) -> int | None:
        """No kernel knows of it."""
        return None

    def has_hung_up(self) -> bool:
        """Never."""
        return False

    async def wait_readable(self) -> None:
        """While there are pieces left."""
        if not self._pieces:
            await trio.sleep_forever()

    async def wait_writable(self) -> None:
        """Always."""

    def close(self) -> None:
        """Nothing to close."""


@dataclass(slots=True)
class Reached:
    """A cluster whose only broker is at the other end of this."""

    broker: Transport
    is_open: bool = True
    wants_login: bool = False
    is_reachable: bool = True
    login_ends_ms: float = inf
    login_proof: Proof | None = None

    async def connect(self, broker_id: int | None, announcement: bytes = b"") -> Transport | None:
        """See `broker_side.Cluster`."""
        assert not announcement
        return self.broker

    def offered_nowait(self, broker_id: int | None) -> Offered | None:
        """See `broker_side.Cluster`."""
        return Offered(broker=KNOWN, answer=ApiVersionsAnswer(versions=KNOWN))

    async def offered(self, broker_id: int | None) -> Offered | None:
        """See `broker_side.Cluster`."""
        return self.offered_nowait(broker_id)

    def rewritten(self, api_key: int, version: int, frame: bytes) -> bytes:
        """See `broker_side.Cluster`."""
        return frame


def answer(correlation_id: int, body: bytes) -> bytes:
    """Of a Fetch v11, whatever it says."""
    return (4 + len(body)).to_bytes(4) + correlation_id.to_bytes(4) + body


def connection_between(asking: Pieces, broker: Transport, limits: Limits) -> ClientConnection:
    """A client's connection whose groups pass, with nothing around it."""
    rules = Rules(limits=limits, router=Router(()))
    in_flight = InFlight(1 << 20)
    shared = Shared(
        rules=rules,
        groups={},
        passing=SeenGroups(),
        place=no_place,
        in_flight=in_flight,
        unauthenticated=in_flight,
    )
    return ClientConnection(shared, Reached(broker), ClientSession(rules, 1, "10.0.0.9", shared.passing), asking, None)


@pytest.mark.parametrize("cut_at", [0, 3, 9, 21, 33, 40])
async def test_small_answers_that_come_together_leave_together(cut_at: int, nursery: trio.Nursery) -> None:
    """One call for all of them, however they are cut: at most one more for the answer that a cut goes through."""
    answers = b"".join(answer(number, b"twelve bytes") for number in (1, 2, 3))
    broker = Pieces(*(piece for piece in (answers[:cut_at], answers[cut_at:]) if piece))
    asking = Pieces(b"".join(request(ApiKey.FETCH, 11, number) for number in (1, 2, 3)))
    nursery.start_soon(connection_between(asking, broker, Limits()).run)
    await trio.testing.wait_all_tasks_blocked()
    assert b"".join(asking.sent) == answers
    assert len(asking.sent) <= (2 if cut_at else 1)


async def test_however_many_answers_come_at_once_others_have_their_turn(
    nursery: trio.Nursery, autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker that was busy for a while sends them in one go, as a client does its requests."""
    count, longest = 2_000, LongestTurn(monkeypatch, AnswerCutter, "cut")
    answers = b"".join(answer(number, b"twelve bytes") for number in range(count))
    broker = Pieces(answers)
    asking = Pieces(b"".join(request(ApiKey.FETCH, 11, number) for number in range(count)))
    connection = connection_between(asking, broker, Limits(inflight_requests_max=count + 1))
    with longest:
        nursery.start_soon(connection.run)
        await trio.testing.wait_all_tasks_blocked()
    assert b"".join(asking.sent) == answers
    assert 0 < longest.most <= PIECES_WITHOUT_CHECKPOINT + 1


@pytest.mark.parametrize("is_answer", [True, False], ids=["answer", "request"])
async def test_what_is_long_and_moved_by_no_kernel_lets_others_have_their_turn(
    nursery: trio.Nursery, autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch, *, is_answer: bool
) -> None:
    """As in TLS, from an end that is faster than the bridge to one that takes everything."""
    longest = LongestTurn(monkeypatch, Pieces, "recv_into")
    whole = answer(1, bytes(6_000_000)) if is_answer else request(ApiKey.FETCH, 11, 1, bytes(6_000_000))
    long = Pieces(*(whole[at : at + 60_000] for at in range(0, len(whole), 60_000)))
    asking, broker = (Pieces(request(ApiKey.FETCH, 11, 1)), long) if is_answer else (long, Pieces())
    with longest:
        nursery.start_soon(connection_between(asking, broker, Limits()).run)
        await trio.testing.wait_all_tasks_blocked()
    assert b"".join(asking.sent if is_answer else broker.sent) == whole
    # The other side reads in the same turn.
    assert 0 < longest.most <= TURNS_WITHOUT_CHECKPOINT + 2


@pytest.mark.parametrize("is_answer", [True, False], ids=["answer", "request"])
async def test_no_more_is_read_at_once_than_the_other_end_is_read_best_by(
    nursery: trio.Nursery, *, is_answer: bool
) -> None:
    """What TLS gave was collected by the quarter megabyte, and had left the processor's caches when it was sent on."""
    whole = answer(1, bytes(300_000)) if is_answer else request(ApiKey.FETCH, 11, 1, bytes(300_000))
    long = Pieces(whole)
    long.read_bytes = 50_000
    asking, broker = (Pieces(request(ApiKey.FETCH, 11, 1)), long) if is_answer else (long, Pieces())
    nursery.start_soon(connection_between(asking, broker, Limits()).run)
    await trio.testing.wait_all_tasks_blocked()
    sent = asking.sent if is_answer else broker.sent
    assert b"".join(sent) == whole
    assert max(map(len, sent)) == max(long.rooms) == 50_000


async def test_large_answers_to_questions_count_by_their_size(
    nursery: trio.Nursery, autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is read here, partition by partition."""
    count, heard, longest = 200, list[bytes | None](), LongestTurn(monkeypatch, AnswerCutter, "cut")
    one = answer(7, bytes(12_800))
    broker = Pieces(*(one * 20 for _ in range(count // 20)))
    connection = connection_between(Pieces(), broker, Limits())
    side = BrokerSide(connection._shared, Reached(broker), connection, None)
    with longest:
        nursery.start_soon(connection.run)
        await trio.testing.wait_all_tasks_blocked()
        for _ in range(count):
            side.ask(Expected(7, None, heard.append), b"question")
        await trio.testing.wait_all_tasks_blocked()
    assert heard == [one] * count
    assert 0 < longest.most <= 1 + PIECES_WITHOUT_CHECKPOINT * PIECE_BYTES / len(one) + 1


async def test_broker_is_heard_out_a_piece_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client is gone, and an answer of a gigabyte may come before the one that somebody waits for."""
    longest = LongestTurn(monkeypatch, Pieces, "recv_into")
    answers, heard = AnswerCutter(1 << 20), list[bytes | None]()
    answers.expect(Expected(1, Slot(RequestRef(0, 1, 1), ApiKey.FETCH, 11, 1)))
    answers.expect(Expected(2, None, heard.append))
    whole = answer(1, bytes(500_000)) + answer(2, b"over")
    with longest:
        await hear_out(Pieces(*(whole[at : at + 10_000] for at in range(0, len(whole), 10_000))), answers)
    assert heard == [answer(2, b"over")]
    assert longest.most == 1
