"""What all connections hold together, and who may read on."""

from collections.abc import Awaitable, Callable

import pytest
import trio
import trio.testing

from bridge.net.broker_side import PIECES_WITHOUT_CHECKPOINT
from bridge.net.shared import SMALL_BYTES, InFlight, Share
from bridge.net.transport import RECEIVE_BYTES
from bridge.session.limits import KEPT_PARTITION_BYTES, MIB, Limits
from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import encode_request
from tests.support.front import front_of
from tests.support.scripted_broker import RawClient, ScriptedBroker, request
from translators.dialects.classic import SyncGroup, SyncGroupReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId

WANTED = 256 * 1024
PIECE_BYTES, FRAME_BYTES = 100_000, 400_000
AT_REST_S, AT_REST_PASSES = 0.5, 100
"""So long, and with so many turns for everybody, since a busy machine may stand still for as long."""


def test_everybody_reads_while_there_is_room() -> None:
    """What is held is what was said last, for each."""
    ledger = InFlight(1_000)
    ledger.note(1, 900, 900)
    ledger.note(2, 100, 100)
    assert (ledger.total_bytes, ledger.is_over) == (1_000, False)
    assert [ledger.room(number, 900, WANTED) for number in (1, 2, 3)] == [WANTED] * 3
    ledger.note(1, 0, 0)
    assert ledger.total_bytes == 100


def test_beyond_the_limit_the_oldest_frame_goes_on_and_small_requests_come_in() -> None:
    """Who collects waits, but the first of them; a heartbeat needs no turn; answers that wait give nobody a turn."""
    ledger = InFlight(1_000)
    ledger.note(9, 500, 0)
    ledger.note(1, 300, 300)
    ledger.note(2, 9_000, 9_000)
    assert ledger.is_over
    assert ledger.room(1, 300, WANTED) == WANTED
    assert ledger.room(2, 9_000, WANTED) == 0
    assert ledger.room(3, 0, WANTED) == SMALL_BYTES
    assert ledger.room(3, SMALL_BYTES - 1, WANTED) == 1
    ledger.note(1, 0, 0)
    assert ledger.room(2, 9_000, WANTED) == WANTED


def test_somebody_may_always_read() -> None:
    """Also where everything that is held waits for something else than bytes."""
    ledger = InFlight(1_000)
    ledger.note(1, 5_000, 0)
    assert ledger.room(2, 0, WANTED) == WANTED


async def test_who_waits_is_woken_when_it_may_go_on() -> None:
    """By room, and by its turn: nobody is woken for another's."""
    ledger = InFlight(1_000)
    woken: list[int] = []

    async def wait(connection: int) -> None:
        await ledger.changed(connection)
        woken.append(connection)

    async with trio.open_nursery() as nursery:
        for number in (1, 2, 3, 4):
            ledger.note(number, 900, 900)
        for number in (3, 4, 5):
            nursery.start_soon(wait, number)
        await trio.testing.wait_all_tasks_blocked()
        ledger.note(2, 0, 0)
        await trio.testing.wait_all_tasks_blocked()
        assert not woken
        ledger.note(1, 950, 0)
        await trio.testing.wait_all_tasks_blocked()
        assert woken == [3]
        for number in (3, 1):
            ledger.note(number, 0, 0)
        await trio.testing.wait_all_tasks_blocked()
        assert sorted(woken) == [3, 4, 5]
        nursery.start_soon(wait, 6)
        await trio.testing.wait_all_tasks_blocked()
        ledger.note(7, 5_000, 5_000)
        ledger.note(4, 0, 0)
        await trio.testing.wait_all_tasks_blocked()
        assert 6 not in woken
        ledger.note(7, 5_000, 0)
    assert woken[-1] == 6, "where nobody has a turn, everybody may take it"


async def test_wakings_grow_with_those_who_wait() -> None:
    """Of many that wait each was woken by the turn of each: twice as many were four times the wakings."""
    looks = {50: 0, 100: 0}

    async def take_turn(ledger: InFlight, connection: int, connections: int) -> None:
        looks[connections] += 1
        while not ledger.room(connection, 5_000, WANTED):
            await ledger.changed(connection)
            looks[connections] += 1
        ledger.note(connection, 5_000, 0)

    for connections in looks:
        ledger = InFlight(1_000)
        for number in range(connections):
            ledger.note(number, 5_000, 5_000)
        async with trio.open_nursery() as nursery:
            for number in range(connections):
                nursery.start_soon(take_turn, ledger, number, connections)
    assert all(count <= 2 * connections for connections, count in looks.items()), "before its turn and in it"


@pytest.mark.parametrize("is_woken", [False, True])
async def test_who_hangs_up_as_it_is_woken_keeps_nobody_waiting(is_woken: bool) -> None:
    """Each wakes the next, also one that reads no more."""
    ledger, woken = InFlight(1_000), list[int]()

    async def wait(connection: int, scope: trio.CancelScope) -> None:
        with scope:
            await ledger.changed(connection)
            woken.append(connection)

    ledger.note(9, 5_000, 5_000)
    scopes = [trio.CancelScope() for _ in range(3)]
    async with trio.open_nursery() as nursery:
        for number, scope in enumerate(scopes):
            nursery.start_soon(wait, number, scope)
            await trio.testing.wait_all_tasks_blocked()
        if not is_woken:
            scopes[0].cancel()
            await trio.testing.wait_all_tasks_blocked()
        ledger.note(9, 0, 0)
        scopes[0].cancel()
    assert woken[-2:] == [1, 2]


async def looks_of(connections: int, asks: Callable[[InFlight, int], Awaitable[int]]) -> int:
    """How often so many connections look whether they may read on, all together, until each has had what it wanted;
    beside the little that each may hold four frames fit.
    """
    ledger, looks = InFlight(connections * SMALL_BYTES + 4 * FRAME_BYTES), 0

    async def ask(connection: int) -> None:
        nonlocal looks
        own = await asks(ledger, connection)
        looks += own

    async with trio.open_nursery() as nursery:
        for number in range(connections):
            nursery.start_soon(ask, number)
    assert ledger.total_bytes == 0
    return looks


async def collect(ledger: InFlight, connection: int) -> int:
    """Read a frame in pieces, and be done with it."""
    collected, looks, share = 0, 0, Share(ledger, connection)
    while collected < FRAME_BYTES:
        while not (room := share.room_nowait(collected, FRAME_BYTES - collected)):
            looks += 1
            await ledger.changed(connection)
        looks += 1
        collected += min(room, PIECE_BYTES)
        share.note(collected, collected)
        await trio.lowlevel.checkpoint()
    share.end()
    return looks


async def tell_at_length(ledger: InFlight, connection: int) -> int:
    """Hold an answer until it is taken, and wait for calm before the next."""
    looks, share = 0, Share(ledger, connection)
    for _ in range(3):
        while ledger.is_over:
            looks += 1
            await ledger.calmed(connection)
        looks += 1
        share.note(FRAME_BYTES, 0)
        await trio.lowlevel.checkpoint()
        await trio.lowlevel.checkpoint()
        share.note(0, 0)
    share.end()
    return looks


async def collect_or_tell(ledger: InFlight, connection: int) -> int:
    """Some of both."""
    return await (collect if connection % 2 else tell_at_length)(ledger, connection)


@pytest.mark.parametrize("asks", [collect, tell_at_length, collect_or_tell], ids=["frames", "answers", "both"])
async def test_wakings_for_what_gets_free_grow_with_those_who_wait(
    asks: Callable[[InFlight, int], Awaitable[int]],
) -> None:
    """Whenever one of 10,000 was done there was room for one more, and all were woken to look for it."""
    looks = [await looks_of(connections, asks) for connections in (100, 200, 400)]
    assert looks[1] < 2.5 * looks[0]
    assert looks[2] < 2.5 * looks[1]


async def until(holds: Callable[[], bool]) -> None:
    """Look again and again."""
    while not holds():  # noqa: ASYNC110 - the proxy tells nobody what it holds
        await trio.sleep(0.02)


def commit(size: int) -> bytes:
    """A commit of a group that the bridge answers for: it is held whole. Its topics have long metadata."""
    name, metadata = b"embedded-1", b"m" * 4_000
    topic = b"\x00\x01t" + (1).to_bytes(4) + bytes(12) + len(metadata).to_bytes(2) + metadata
    count = size // len(topic)
    start = len(name).to_bytes(2) + name + (-1).to_bytes(4, signed=True) + b"\x00\x00" + bytes(8)
    return request(ApiKey.OFFSET_COMMIT, 2, 7, start + count.to_bytes(4) + topic * count)


async def test_connections_together_stay_within_the_limit_and_all_come_to_their_end() -> None:
    """Twelve large requests at once, of which four fit, and none ends before all have begun: what is held is bounded,
    small requests pass all the while, and each commit is read in its turn.
    """
    frame, limit = commit(2 * MIB), 8 * MIB
    async with front_of(ScriptedBroker(), Limits(all_inflight_bytes_max=limit)) as front:
        clients = [await front.dial() for _ in range(12)]
        may_end = trio.Event()

        async def send(client: RawClient) -> None:
            await client.send(frame[:-1])
            await may_end.wait()
            await client.send(frame[-1:])

        async with trio.open_nursery() as nursery:
            for client in clients:
                nursery.start_soon(send, client)
            with trio.fail_after(60):
                await until(lambda: front.proxy.statistics().bytes_held > limit)
                for _ in range(20):
                    asking = await front.dial()
                    await asking.send(request(ApiKey.API_VERSIONS, 0, 1))
                    assert (await asking.answer())[0] == 1
                    held = front.proxy.statistics().bytes_held
                    assert limit < held <= limit + len(frame) + 32 * SMALL_BYTES + RECEIVE_BYTES
                may_end.set()
                await until(lambda: len(front.groups.submitted) == len(clients))
        for client in front.clients:
            await client.stream.aclose()
        with trio.fail_after(30):
            await until(lambda: not front.proxy.statistics().connections_open)


async def test_what_a_client_leaves_behind_is_given_back_at_once() -> None:
    """A half request goes with its connection, though what else belonged to that waits for the collector of cycles."""
    async with front_of(ScriptedBroker()) as front:
        client = await front.dial()
        await client.send(commit(MIB)[:-1])
        with trio.fail_after(30):
            await until(lambda: front.proxy.statistics().bytes_held >= MIB // 2)
            (connection,) = front.proxy._connections.values()
            await client.stream.aclose()
            await until(lambda: not front.proxy.statistics().connections_open)
        assert connection.bytes_held == 0


async def test_who_takes_no_answers_is_given_none_more_while_all_hold_too_much() -> None:
    """Each of 10,000 clients that never read could have had 8 MiB of answers kept: 80 GB, whatever the limit."""
    count, limits = 4, Limits(all_inflight_bytes_max=2 * MIB)
    asked = SyncGroup(group_id=GroupId("embedded-1"), generation=1, member_id=MemberId("m"), instance_id=None)
    questions = encode_request(ApiKey.SYNC_GROUP, 3, 1, "c", asked) * 4_000
    reply = SyncGroupReply(error=ErrorCode.NONE, assignment=bytes(8_000))
    async with (
        front_of(ScriptedBroker(), limits) as front,
        trio.open_nursery() as nursery,
    ):
        for _ in range(count):
            client = await front.dial()
            nursery.start_soon(client.send, questions)
        last_asked_s, quiet_passes = trio.current_time(), 0
        while quiet_passes < AT_REST_PASSES or trio.current_time() - last_asked_s < AT_REST_S:
            # Not a moment more: what is asked meanwhile is let in, whatever its answers weigh (three turns in 10 ms).
            await trio.lowlevel.checkpoint()
            quiet_passes += 1
            while front.groups.submitted:
                last_asked_s, quiet_passes = trio.current_time(), 0
                front.reply_routes.deliver(front.groups.submitted.pop()[0], reply)
        asking = await front.dial()
        await asking.send(request(ApiKey.API_VERSIONS, 0, 1))
        assert (await asking.answer())[0] == 1
        # Of each that is there, too, what it had sent before that was said: a turn before the loop above and one behind
        # it. Less than a quarter of what those that never read could have had without this limit.
        two_turns = 2 * PIECES_WITHOUT_CHECKPOINT * (len(reply.assignment) + 100) + RECEIVE_BYTES
        assert limits.all_inflight_bytes_max < front.proxy.statistics().bytes_held
        most = limits.all_inflight_bytes_max + count * two_turns
        assert front.proxy.statistics().bytes_held < most < count * limits.inflight_bytes_max
        nursery.cancel_scope.cancel()


async def test_requests_that_wait_count_as_what_they_take() -> None:
    """A thousand commits that a hung broker did not answer, of 200 partitions each, counted for nothing, and took 80
    MB once they were read; of another client small requests are taken all the same.
    """
    partitions, limit = 200, 4 * MIB
    name, item = b"embedded-1", bytes(12) + b"\xff\xff"
    start = len(name).to_bytes(2) + name + (-1).to_bytes(4, signed=True) + b"\x00\x00" + bytes(8)
    body = start + (1).to_bytes(4) + b"\x00\x01t" + partitions.to_bytes(4) + item * partitions
    async with (
        front_of(ScriptedBroker(), Limits(all_inflight_bytes_max=limit)) as front,
        trio.open_nursery() as nursery,
    ):
        client = await front.dial()
        nursery.start_soon(client.send, request(ApiKey.OFFSET_COMMIT, 2, 7, body) * 1_000)
        with trio.fail_after(60):
            await until(lambda: front.proxy.statistics().bytes_held > limit)
            for number in range(20):
                asking = await front.dial()
                await asking.send(request(ApiKey.API_VERSIONS, 0, number))
                assert (await asking.answer())[0] == number
        taken = limit // (partitions * KEPT_PARTITION_BYTES)
        assert taken <= len(front.groups.submitted) <= taken + PIECES_WITHOUT_CHECKPOINT
        nursery.cancel_scope.cancel()
