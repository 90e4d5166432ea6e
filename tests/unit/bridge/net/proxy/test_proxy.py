"""What a proxy does with bad input, limits, brokers that come and go, and its own end."""

from contextlib import suppress

import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from bridge.net.cluster import UNREACHED_MS
from bridge.net.proxy import DOUBTED_RETRY_MS
from bridge.session.broker_addresses import NO_PORT
from bridge.session.close_reasons import CloseReason
from bridge.session.limits import Limits
from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import encode_request
from bridge.wire.endpoints import Endpoint, brokers_in
from bridge.wire.frames import response_frame
from tests.support.front import front_of, running, settings_for
from tests.support.ports import free_port
from tests.support.scripted_broker import LOOPBACK, MECHANISMS, ScriptedBroker, dial, request
from translators.dialects.classic import Heartbeat, HeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId

ASK_METADATA = request(ApiKey.METADATA, 1, 1, bytes(4))
BAD_INPUT = {
    "tls hello": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", CloseReason.TLS_ON_PLAIN_PORT),
    "http": (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", CloseReason.HTTP_ON_KAFKA_PORT),
    "2 GB frame": (b"\x7f\xff\xff\xff\x00\x03\x00\x01", CloseReason.FRAME_TOO_LARGE),
    "negative length": (b"\xff\xff\xff\xfe\x00\x03\x00\x01", CloseReason.FRAME_TOO_SHORT),
    "length too short": (b"\x00\x00\x00\x02\x00\x03", CloseReason.FRAME_TOO_SHORT),
    "length cut short": (b"\x00\x00\x00\x0a\x00\x03\x00\x01\x00\x00\x00\x01\x00\x20", CloseReason.MALFORMED_REQUEST),
    "unknown api": (request(9_999, 0, 1), CloseReason.UNKNOWN_API),
    "hidden api": (request(ApiKey.VOTE, 0, 1), CloseReason.UNKNOWN_API),
    "unknown version": (request(ApiKey.FETCH, 99, 1), CloseReason.UNSUPPORTED_VERSION),
    "raw sasl": (request(ApiKey.SASL_HANDSHAKE, 0, 1, b"\x00\x06GSSAPI"), CloseReason.RAW_SASL),
    "malformed heartbeat": (request(ApiKey.HEARTBEAT, 3, 1, b"\x00\x0aembedded-x\x00"), CloseReason.MALFORMED_REQUEST),
    "group id of 2 MB": (
        request(ApiKey.JOIN_GROUP, 6, 1, b"\x80\x80\x80\x01" + bytes(2_000_000)),
        CloseReason.GROUP_FRAME_TOO_LARGE,
    ),
    "tiny members": (
        request(ApiKey.LEAVE_GROUP, 3, 1, b"\x00\x0aembedded-x\x00\x03\x00\x00" + b"\x00\x00\xff\xff" * 0x30000),
        CloseReason.TOO_MANY_ELEMENTS,
    ),
}


@pytest.mark.parametrize("name", BAD_INPUT)
async def test_bad_input_ends_its_connection_counted_and_no_other(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """Each kind of bad input: a counted reason, one log line with its code, no traceback, others untouched."""
    data, reason = BAD_INPUT[name]
    async with front_of(ScriptedBroker()) as front:
        other, bad = await front.dial(), await front.dial()
        await other.send(ASK_METADATA)
        assert await other.ids(1) == [1]
        # What the bridge doesn't read any more may fail to be sent.
        with suppress(trio.BrokenResourceError):
            await bad.send(data)
        assert await bad.is_closed()
        await trio.testing.wait_all_tasks_blocked()
        assert front.proxy.statistics().closed == {reason: 1}
        await other.send(ASK_METADATA)
        assert await other.ids(1) == [1]
        assert front.proxy.statistics().bytes_held_peak <= len(data) + 64 * 1024
    ours = [record for record in caplog.records if record.name == "epochbridge.net" and reason.code in record.message]
    assert len(ours) == 1
    assert ours[0].exc_info is None


async def test_group_id_of_300_kb_is_relayed_or_refused_without_more_memory() -> None:
    """Within the limit it is an ordinary request: of road pass here, so the broker judges."""
    frame = request(ApiKey.DELETE_GROUPS, 2, 1, b"\x02\xe1\xa7\x12" + b"g" * 300_000 + b"\x00")
    broker = ScriptedBroker()
    async with front_of(broker) as front:
        client = await front.dial()
        await client.send(frame)
        with trio.fail_after(60):
            while not front.proxy.statistics().closed and not broker.requests:
                await trio.testing.wait_all_tasks_blocked(0.01)
        assert front.proxy.statistics().bytes_held_peak <= len(frame) + 64 * 1024
        assert sum(front.proxy.statistics().closed.values()) + len(broker.requests) == 1


@given(data=st.binary(min_size=16, max_size=400))
async def test_random_bytes_never_reach_the_broker_unframed(data: bytes) -> None:
    """Whatever comes, the connection ends for a stated reason that isn't a bug, or it waits for more."""
    async with front_of(ScriptedBroker()) as front:
        client = await front.dial()
        await client.send(data)
        await client.stream.send_eof()
        await client.is_closed()
        await trio.testing.wait_all_tasks_blocked()
        closed = front.proxy.statistics().closed
        assert sum(closed.values()) == 1
        assert CloseReason.BUG not in closed


async def test_slow_request_is_closed_in_time(autojump_clock: trio.testing.MockClock) -> None:
    """A slow-loris client: the head of a request must arrive within frame_time_max_ms however it trickles."""
    async with front_of(ScriptedBroker(), Limits(frame_time_max_ms=10_000)) as front:
        client = await front.dial()
        started = trio.current_time()
        with suppress(trio.BrokenResourceError):
            for byte in request(ApiKey.METADATA, 1, 1, bytes(4), client_id="x" * 100):
                await client.send(bytes([byte]))
                await trio.sleep(1)
        assert 10 <= trio.current_time() - started <= 16
        assert front.closed(CloseReason.SLOW_REQUEST) == 1


async def test_idle_connection_is_closed_but_a_parked_one_is_not(autojump_clock: trio.testing.MockClock) -> None:
    """Idle means nothing sent and nothing due: a JoinGroup may be parked for longer than the limit."""
    async with front_of(ScriptedBroker(), Limits(idle_max_ms=60_000)) as front:
        idle, parked = await front.dial(), await front.dial()
        message = Heartbeat(GroupId("embedded-x"), 1, MemberId("m"), None)
        await parked.send(encode_request(ApiKey.HEARTBEAT, 3, 1, "c", message))
        assert await idle.is_closed()
        await trio.sleep(120)
        front.reply_routes.deliver(front.groups.submitted[0][0], HeartbeatReply(ErrorCode.NONE))
        assert await parked.ids(1) == [1]
        assert front.closed(CloseReason.IDLE) == 1


async def test_one_connection_too_many_is_closed_at_once() -> None:
    """At the limit newcomers are refused, and welcome again when somebody left."""
    async with front_of(ScriptedBroker(), Limits(connections_max=1)) as front:
        first, second = await front.dial(), await front.dial()
        assert await second.is_closed()
        await first.send(ASK_METADATA)
        assert await first.ids(1) == [1]
        await first.stream.aclose()
        await trio.testing.wait_all_tasks_blocked()
        third = await front.dial()
        await third.send(ASK_METADATA)
        assert await third.ids(1) == [1]
        assert front.closed(CloseReason.TOO_MANY_CONNECTIONS) == 1


async def test_one_address_opens_so_many_connections_a_second(
    mock_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """One more is closed, counted and told with its address; those that are open stay, and in the next second others
    may come.
    """
    async with front_of(ScriptedBroker(), Limits(new_connections_max=1)) as front:
        first, second = await front.dial(), await front.dial()
        assert await second.is_closed()
        assert front.closed(CloseReason.TOO_MANY_NEW_CONNECTIONS) == 1
        (line,) = [record for record in caplog.records if "EB-NET-027" in record.getMessage()]
        assert LOOPBACK in line.getMessage()
        mock_clock.jump(1)
        third = await front.dial()
        for client in (first, third):
            await client.send(ASK_METADATA)
            assert await client.ids(1) == [1]


async def test_all_together_open_so_many_connections_a_second(
    mock_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """As one address does, whoever they are."""
    async with front_of(ScriptedBroker(), Limits(all_new_connections_max=1)) as front:
        first, second = await front.dial(), await front.dial()
        assert await second.is_closed()
        assert front.closed(CloseReason.TOO_MANY_NEW_IN_ALL) == 1
        assert [record for record in caplog.records if "EB-NET-029" in record.getMessage()]
        mock_clock.jump(1)
        third = await front.dial()
        for client in (first, third):
            await client.send(ASK_METADATA)
            assert await client.ids(1) == [1]


async def test_one_address_has_so_many_connections_open(caplog: pytest.LogCaptureFixture) -> None:
    """A stranger who kept all of limits.connections.max shut everybody out; when one of them ends another may come."""
    async with front_of(ScriptedBroker(), Limits(address_connections_max=2)) as front:
        first, second, third = [await front.dial() for _ in range(3)]
        assert await third.is_closed()
        assert front.closed(CloseReason.TOO_MANY_OF_ADDRESS) == 1
        (line,) = [record for record in caplog.records if "EB-NET-028" in record.getMessage()]
        assert LOOPBACK in line.getMessage()
        await first.stream.aclose()
        await trio.testing.wait_all_tasks_blocked()
        for client in (second, await front.dial()):
            await client.send(ASK_METADATA)
            assert await client.ids(1) == [1]


async def test_two_thousand_connections_at_once() -> None:
    """2,000 connections opened at once are all served (issue 3, speed and memory)."""
    async with front_of(ScriptedBroker()) as front:
        count = 2_000
        clients = [await front.dial() for _ in range(count)]
        for client in clients:
            await client.send(request(ApiKey.API_VERSIONS, 0, 5))
        assert [await client.ids(1) for client in clients] == [[5]] * count
        assert front.proxy.statistics().connections_open == count
        assert sum(front.proxy.bytes_held().values()) == 0


async def test_broker_down_at_start_is_waited_for_then_refused(autojump_clock: trio.testing.MockClock) -> None:
    """Clients wait within upstream_wait_max_ms; then the connection is closed with the reason, without a traceback."""
    broker = ScriptedBroker(port=free_port())
    async with running(settings_for(broker, Limits(upstream_wait_max_ms=5_000))) as front:
        assert not front.proxy.is_ready
        client = await front.dial()
        await client.send(ASK_METADATA)
        assert await client.is_closed()
        assert front.closed(CloseReason.UPSTREAM_UNREACHABLE) == 1


async def test_broker_that_comes_up_late_is_found(autojump_clock: trio.testing.MockClock) -> None:
    """A request that waits is served as soon as the broker is there, and readiness follows."""
    broker = ScriptedBroker(port=free_port())
    async with trio.open_nursery() as nursery, running(settings_for(broker)) as front:
        client = await front.dial()
        await client.send(ASK_METADATA)
        await trio.sleep(2)
        await nursery.start(broker.serve)
        assert await client.ids(1) == [1]
        await trio.sleep(2)
        assert front.proxy.is_ready
        nursery.cancel_scope.cancel()


async def test_lost_broker_ends_busy_clients_after_their_finished_answers() -> None:
    """An answer that is complete still leaves; then the client is told to come again by closing."""
    broker = ScriptedBroker(gate=trio.Event())
    async with front_of(broker) as front:
        client = await front.dial()
        await client.send(request(ApiKey.API_VERSIONS, 0, 1), request(ApiKey.FETCH, 11, 2))
        assert await client.ids(1) == [1]
        await trio.testing.wait_all_tasks_blocked()
        await broker.hang_up()
        assert await client.is_closed()
        assert front.closed(CloseReason.UPSTREAM_LOST) == 1


async def test_client_that_does_not_log_in_is_told_what_to_set(caplog: pytest.LogCaptureFixture) -> None:
    """A broker with SASL closes at whatever else comes first, and the client comes again and again: one line."""
    broker = ScriptedBroker(hangs_up_at=ApiKey.METADATA, bodies={ApiKey.SASL_HANDSHAKE: MECHANISMS})
    with caplog.at_level("WARNING", "epochbridge.net"):
        async with front_of(broker) as front:
            for _ in range(20):
                client = await front.dial()
                await client.send(request(ApiKey.API_VERSIONS, 0, 1), ASK_METADATA)
                assert await client.ids(1) == [1]
                assert await client.is_closed()
            assert front.closed(CloseReason.NO_LOGIN) == 20
    told, counted = (line for line in caplog.messages if line.startswith("EB-NET-204"))
    assert "set security.protocol to SASL_PLAINTEXT (SASL_SSL where listen.tls is true) in the client" in told
    assert counted.endswith("(and 18 times more since this was last said)")


async def test_lost_idle_broker_connection_is_opened_again() -> None:
    """A broker that closes idle connections costs a client nothing."""
    broker = ScriptedBroker()
    async with front_of(broker) as front:
        client = await front.dial()
        for number in range(3):
            await client.send(request(ApiKey.FETCH, 11, number))
            assert await client.ids(1) == [number]
            await broker.hang_up()
            await trio.testing.wait_all_tasks_blocked()


async def test_brokers_with_gaps_get_listeners_before_an_answer_names_them() -> None:
    """Ids need not be consecutive, brokers may appear later, and each has its own listener at once."""
    broker = ScriptedBroker(node_ids=(7, 1001))
    async with front_of(broker) as front:
        client = await front.dial()
        assert set(front.proxy.broker_addresses) == {7, 1001}
        broker.node_ids = (7, 1001, 3)
        await client.send(ASK_METADATA)
        _, body = await client.answer()
        told = {node.node_id: node for node in brokers_in(ApiKey.METADATA, 1, response_frame(3, 1, 1, body))}
        assert {id_: (LOOPBACK, address.port) for id_, address in front.proxy.broker_addresses.items()} == {
            id_: (node.host, node.port) for id_, node in told.items()
        }
        late = await front.dial(told[3].port)
        await late.send(request(ApiKey.FETCH, 11, 4))
        assert await late.ids(1) == [4]


async def test_broker_whose_address_changes_keeps_its_port() -> None:
    """Clients that know a port need not learn another one."""
    first, second = ScriptedBroker(), ScriptedBroker()
    async with trio.open_nursery() as nursery, front_of(first) as front:
        await nursery.start(second.serve)
        before = front.proxy.broker_addresses
        front.proxy.cluster.learn((Endpoint(1, LOOPBACK, second.port),))
        assert front.proxy.broker_addresses == before
        client = await front.dial(before[1].port)
        await client.send(request(ApiKey.FETCH, 11, 4))
        assert await client.ids(1) == [4]
        assert (len(first.requests), len(second.requests)) == (0, 1)
        nursery.cancel_scope.cancel()


async def test_drain_lets_due_answers_out_and_leaves_no_group(autojump_clock: trio.testing.MockClock) -> None:
    """Nobody is accepted, what is in flight finishes, the deadline holds, and no group hears of a lost connection."""
    broker = ScriptedBroker(gate=trio.Event())
    async with front_of(broker) as front:
        idle, busy, stuck = [await front.dial() for _ in range(3)]
        await busy.send(request(ApiKey.FETCH, 11, 1))
        beat = Heartbeat(GroupId("embedded-x"), 1, MemberId("m"), None)
        await stuck.send(encode_request(ApiKey.HEARTBEAT, 3, 1, "c", beat))
        await trio.sleep(1)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(front.proxy.drain, 10)
            assert await idle.is_closed()
            with pytest.raises(OSError, match="127"):
                await dial(front.proxy.bootstrap.port)
            assert broker.gate is not None
            broker.gate.set()
            assert await busy.ids(1) == [1]
            assert await busy.is_closed()
            assert await stuck.is_closed()
        assert front.closed(CloseReason.DRAINED) == 3
        assert front.groups.gone == []
        assert not front.proxy.is_ready


async def test_broker_that_is_learned_while_draining_gets_no_listener() -> None:
    """Nor does one whose listener was opened a moment before: nobody would close it again."""
    async with front_of(ScriptedBroker()) as front:
        cluster = front.proxy.cluster
        cluster.learn((Endpoint(7, LOOPBACK, 9),))
        opened = front.proxy.broker_addresses[7].port
        await front.proxy.drain(0)
        cluster.learn((Endpoint(8, LOOPBACK, 9),))
        assert front.proxy.broker_addresses[8].port == NO_PORT
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(OSError, match="127"):
            await dial(opened)


async def test_client_that_went_behind_a_hung_broker_is_not_kept() -> None:
    """Its second request waits for the answer to the first, which never comes; nobody reads that it has gone."""
    limits = Limits(upstream_wait_max_ms=200, frame_time_max_ms=400)
    broker = ScriptedBroker(gate=trio.Event())
    async with front_of(broker, limits) as front:
        client = await front.dial()
        commit = request(ApiKey.OFFSET_FETCH, 1, 1, b"\x00\x0aembedded-1" + bytes(4))
        await client.send(commit)
        while not front.groups.submitted:  # noqa: ASYNC110 - groups tell nobody
            await trio.sleep(0.01)
        await client.send(request(ApiKey.FETCH, 11, 2, bytes(60)))
        await trio.sleep(0.1)
        await client.stream.aclose()
        with trio.fail_after(30):
            while front.proxy.statistics().connections_open:  # noqa: ASYNC110 - it tells nobody
                await trio.sleep(0.05)
        assert front.closed(CloseReason.CLIENT_GONE) == 1


async def test_cluster_whose_broker_a_client_could_not_reach_is_asked_again_soon(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """It was called there until its brokers were asked for the next time, a minute later as a rule."""
    async with front_of(ScriptedBroker(advertised_port=free_port()), Limits(upstream_wait_max_ms=2_000)) as front:
        cluster = front.proxy.cluster
        await trio.sleep(2 * DOUBTED_RETRY_MS / 1_000)
        assert await cluster.connect(1) is None
        with trio.fail_after(DOUBTED_RETRY_MS / 1_000):
            await cluster.next_look()


async def test_broker_that_is_not_where_the_cluster_says_is_told_of(autojump_clock: trio.testing.MockClock) -> None:
    """Brokers that advertise names of their own network let every client in, and no further; `/readyz` said nothing.

    It is told as long as somebody tries, and no more once one gets through.
    """
    broker = ScriptedBroker(advertised_port=free_port())
    async with front_of(broker, Limits(upstream_wait_max_ms=1_000)) as front:
        cluster = front.proxy.cluster
        assert list(cluster.unreached()) == []
        assert await cluster.connect(1) is None
        (told,) = cluster.unreached()
        assert told.startswith("broker 1 can't be reached where the cluster says that it is (advertised.listeners)")
        assert f"{LOOPBACK}:{broker.advertised_port}: nobody listens there" in told
        await trio.sleep(UNREACHED_MS / 1_000)
        assert list(cluster.unreached()) == []
        assert await cluster.connect(1) is None
        broker.advertised_port = 0
        await cluster.refresh()
        transport = await cluster.connect(1)
        assert transport is not None
        transport.close()
        assert list(cluster.unreached()) == []


async def test_cluster_that_goes_while_nobody_comes_is_asked_again_soon(autojump_clock: trio.testing.MockClock) -> None:
    """Whoever balances loads by /readyz sent clients to a bridge whose brokers had been gone for a minute."""
    broker, life = ScriptedBroker(), trio.CancelScope()

    async def live(task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        with life:
            await broker.serve(task_status=task_status)

    async with trio.open_nursery() as nursery:
        await nursery.start(live)
        async with running(settings_for(broker, Limits(upstream_wait_max_ms=2_000))) as front:
            await trio.sleep(2 * DOUBTED_RETRY_MS / 1_000)
            assert not front.proxy.why_not_ready
            life.cancel()
            await trio.sleep(2 * DOUBTED_RETRY_MS / 1_000)
            assert "nobody listens there" in front.proxy.why_not_ready
