"""The bridge's own short talks with a broker."""

import pytest
import trio

from bridge.net.broker_connection import connect, exchange
from bridge.ports import BrokerUnreachable
from bridge.session.broker_addresses import Address
from bridge.wire.apis import ApiKey
from bridge.wire.proxy_protocol import LOCAL_HEADER
from tests.support.ports import free_port
from tests.support.scripted_broker import LOOPBACK, ScriptedBroker, request


async def test_one_request_one_answer() -> None:
    """The whole answer frame comes back, however large."""
    broker = ScriptedBroker(bodies={ApiKey.FETCH: bytes(300_000)})
    async with trio.open_nursery() as nursery:
        await nursery.start(broker.serve)
        transport = await connect(Address(LOOPBACK, broker.port), 5)
        frame = await exchange(transport, request(ApiKey.FETCH, 4, 3), 1_000_000)
        assert (len(frame), frame[4:8]) == (300_008, b"\x00\x00\x00\x03")
        with pytest.raises(BrokerUnreachable, match="at most 1000 are read"):
            await exchange(transport, request(ApiKey.FETCH, 4, 3), 1_000)
        transport.close()
        nursery.cancel_scope.cancel()


async def test_nobody_there_and_nobody_answering_say_so() -> None:
    """One kind of failure for the caller, with the address or what happened in its text."""
    port = free_port()
    with pytest.raises(BrokerUnreachable, match=str(port)):
        await connect(Address(LOOPBACK, port), 5)

    async def hang_up(stream: trio.SocketStream) -> None:
        await stream.receive_some()
        await stream.aclose()

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(trio.serve_tcp, hang_up, 0)
        transport = await connect(Address(LOOPBACK, listeners[0].socket.getsockname()[1]), 5)
        with pytest.raises(BrokerUnreachable, match="instead of answering"):
            await exchange(transport, request(ApiKey.METADATA, 1, 1), 100)
        transport.close()
        nursery.cancel_scope.cancel()


async def test_broker_that_hangs_up_before_it_hears_whose_the_connection_is_is_not_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A proxy with no broker left behind it resets connections; whoever asks tries again, and nothing stays open."""
    streams: list[trio.SocketStream] = []

    async def reset(stream: trio.SocketStream, data: bytes) -> None:
        streams.append(stream)
        raise trio.BrokenResourceError("socket connection broken: [Errno 104] Connection reset by peer")

    monkeypatch.setattr(trio.SocketStream, "send_all", reset)
    broker = ScriptedBroker()
    async with trio.open_nursery() as nursery:
        await nursery.start(broker.serve)
        with pytest.raises(BrokerUnreachable, match="before it heard whose it is"):
            await connect(Address(LOOPBACK, broker.port), 5, announcement=LOCAL_HEADER)
        nursery.cancel_scope.cancel()
    assert [stream.socket.fileno() for stream in streams] == [-1]


async def test_listener_with_tls_is_told_from_a_broker_that_answers() -> None:
    """Its certificate would be asked for: nothing is asked of such a cluster, and nothing served."""

    async def alert(stream: trio.SocketStream) -> None:
        await stream.receive_some()
        await stream.send_all(b"\x15\x03\x03\x00\x02\x02\x0a")
        await stream.aclose()

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(trio.serve_tcp, alert, 0)
        transport = await connect(Address(LOOPBACK, listeners[0].socket.getsockname()[1]), 5)
        with pytest.raises(BrokerUnreachable, match="EB-NET-043"):
            await exchange(transport, request(ApiKey.METADATA, 1, 1), 100)
        transport.close()
        nursery.cancel_scope.cancel()
