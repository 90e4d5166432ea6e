"""What is held for clients that have not logged in, and how long they may try, has bounds of its own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio
import trio.testing

from bridge.session.close_reasons import CloseReason
from bridge.session.limits import Limits
from bridge.wire.apis import ApiKey
from tests.support.front import Front, front_of
from tests.support.scripted_broker import MECHANISMS, RawClient, ScriptedBroker, request

FRAME_BYTES_MAX = 20_000
LARGER = request(ApiKey.JOIN_GROUP, 5, 9, bytes(FRAME_BYTES_MAX))
ACCEPTED = bytes(2) + b"\xff\xff" + bytes(4)
REFUSED = b"\x00\x3a\xff\xff" + bytes(4)
CHALLENGE = bytes(2) + b"\xff\xff" + b"\x00\x00\x00\x04r=ns"
TAKEN = bytes(2) + bytes(4)
RAW_PLAIN = request(ApiKey.SASL_HANDSHAKE, 0, 1, b"\x00\x05PLAIN")
RAW_SCRAM = request(ApiKey.SASL_HANDSHAKE, 0, 1, b"\x00\x0dSCRAM-SHA-256")
BARE_TOKEN = b"\x00\x00\x00\x05\x00me\x00x"


@asynccontextmanager
async def closed_cluster(limits: Limits, word: bytes = ACCEPTED, taken: bytes = MECHANISMS) -> AsyncIterator[Front]:
    """A proxy before a cluster that wants logins, and answers each handshake with `taken`, each step with `word`."""
    broker = ScriptedBroker()
    async with front_of(broker, limits) as front:
        broker.hangs_up_at = ApiKey.METADATA
        broker.bodies = {ApiKey.SASL_HANDSHAKE: MECHANISMS, ApiKey.SASL_AUTHENTICATE: word}
        await front.proxy.cluster.refresh()
        broker.bodies[ApiKey.SASL_HANDSHAKE] = taken
        broker.hangs_up_at = None
        yield front


async def log_in(client: RawClient) -> None:
    """As far as the broker is concerned."""
    await client.send(request(ApiKey.SASL_HANDSHAKE, 1, 1), request(ApiKey.SASL_AUTHENTICATE, 0, 2))
    assert await client.ids(2) == [1, 2]


async def receive(client: RawClient, size: int) -> bytes:
    """So many bytes, whatever they are."""
    received = bytearray()
    while len(received) < size:
        chunk = await client.stream.receive_some(size - len(received))
        assert chunk
        received += chunk
    return bytes(received)


async def ends(client: RawClient, front: Front, reason: CloseReason) -> None:
    """Return once its connection was closed for this reason."""
    assert await client.is_closed()
    with trio.fail_after(60):
        while not front.closed(reason):
            await trio.testing.wait_all_tasks_blocked(0.01)


@pytest.mark.parametrize("word", [REFUSED, CHALLENGE])
async def test_large_request_before_a_login_ends_its_connection(word: bytes, caplog: pytest.LogCaptureFixture) -> None:
    """Also in the middle of a login: nothing is proven by a name."""
    limits = Limits(unauthenticated_frame_bytes_max=FRAME_BYTES_MAX)
    async with closed_cluster(limits, word) as front:
        for logs_in in (False, True):
            client = await front.dial()
            if logs_in:
                await log_in(client)
            await client.send(LARGER[:1_000])
            await ends(client, front, CloseReason.UNAUTHENTICATED_FRAME)
        assert caplog.text.count(CloseReason.UNAUTHENTICATED_FRAME.code) == 1, "one line a minute"


async def test_who_has_logged_in_may_send_what_others_may(caplog: pytest.LogCaptureFixture) -> None:
    """Large requests, and as many bytes as anybody."""
    limits = Limits(unauthenticated_frame_bytes_max=FRAME_BYTES_MAX, unauthenticated_bytes_max=1)
    async with closed_cluster(limits) as front:
        client = await front.dial()
        await log_in(client)
        await client.send(LARGER[:-1])
        await trio.testing.wait_all_tasks_blocked(0.01)
        assert front.proxy.statistics().bytes_held >= FRAME_BYTES_MAX
        assert front.proxy.statistics().closed == {}
    assert "EB-NET-15" not in caplog.text


async def test_open_cluster_knows_no_such_bounds() -> None:
    """There is nothing to wait for."""
    limits = Limits(unauthenticated_frame_bytes_max=FRAME_BYTES_MAX, unauthenticated_bytes_max=1)
    async with front_of(ScriptedBroker(), limits) as front:
        client = await front.dial()
        await client.send(LARGER[:-1])
        await trio.testing.wait_all_tasks_blocked(0.01)
        assert front.proxy.statistics().closed == {}


async def test_clients_before_their_login_hold_so_much_in_all() -> None:
    """Who comes with more is closed, who holds a little goes on, and what is over counts no more."""
    async with closed_cluster(Limits(unauthenticated_bytes_max=2 * len(LARGER) + 2_000)) as front:
        first, second, third, small = [await front.dial() for _ in range(4)]
        for client in (first, second):
            await client.send(LARGER[:-100])
        await trio.testing.wait_all_tasks_blocked(0.01)
        await third.send(LARGER[:-100])
        await ends(third, front, CloseReason.UNAUTHENTICATED_BYTES)
        await small.send(LARGER[:1_000])
        await trio.testing.wait_all_tasks_blocked(0.01)
        assert front.proxy.statistics().closed == {CloseReason.UNAUTHENTICATED_BYTES: 1}
        await trio.aclose_forcefully(first.stream)
        await trio.testing.wait_all_tasks_blocked(0.01)
        again = await front.dial()
        await again.send(LARGER[:-100])
        await trio.testing.wait_all_tasks_blocked(0.01)
        assert front.closed(CloseReason.UNAUTHENTICATED_BYTES) == 1


@pytest.mark.parametrize("word", [REFUSED, CHALLENGE])
async def test_one_connection_does_not_try_for_ever(word: bytes) -> None:
    """Kafka closes at the first refusal; other brokers need not."""
    async with closed_cluster(Limits(login_steps_max=4), word) as front:
        client = await front.dial()
        for _ in range(2):
            await log_in(client)
        await client.send(request(ApiKey.SASL_HANDSHAKE, 1, 3))
        assert await client.ids(1) == [3], "the broker's word is handed on before"
        await ends(client, front, CloseReason.TOO_MANY_LOGIN_STEPS)


async def test_client_that_logs_in_again_and_again_goes_on() -> None:
    """As KIP-368 has it."""
    async with closed_cluster(Limits(login_steps_max=2)) as front:
        client = await front.dial()
        for _ in range(5):
            await log_in(client)
        assert front.proxy.statistics().closed == {}


async def test_login_of_bare_tokens_lets_in() -> None:
    """kafka-python 2.0 and sarama by default send SaslHandshake 0: the bridge hung up on them (decision 831)."""
    limits = Limits(unauthenticated_frame_bytes_max=FRAME_BYTES_MAX)
    async with closed_cluster(limits, taken=TAKEN) as front:
        client = await front.dial()
        await client.send(RAW_PLAIN)
        assert await client.ids(1) == [1]
        await client.send(BARE_TOKEN)
        assert await receive(client, 4) == bytes(4)
        await client.send(request(ApiKey.API_VERSIONS, 0, 2), LARGER[:-1])
        assert await client.ids(1) == [2]
        await trio.testing.wait_all_tasks_blocked(0.01)
        assert front.proxy.statistics().closed == {}


async def test_bare_tokens_are_answered_as_bare() -> None:
    """As many as the mechanism has; a broker's challenge goes through as it is."""
    async with closed_cluster(Limits(), CHALLENGE, TAKEN) as front:
        client = await front.dial()
        await client.send(RAW_SCRAM + BARE_TOKEN + BARE_TOKEN + request(ApiKey.API_VERSIONS, 0, 2))
        assert await client.ids(1) == [1]
        assert await receive(client, 16) == b"\x00\x00\x00\x04r=ns" * 2
        assert await client.ids(1) == [2]


async def test_bare_token_that_is_refused_hears_the_end_alone(caplog: pytest.LogCaptureFixture) -> None:
    """As from a broker; the log says more, and nothing of the token."""
    async with closed_cluster(Limits(), REFUSED, TAKEN) as front:
        client = await front.dial()
        await client.send(RAW_PLAIN)
        assert await client.ids(1) == [1]
        await client.send(BARE_TOKEN)
        await ends(client, front, CloseReason.RAW_LOGIN_REFUSED)
    assert "\x00me" not in caplog.text
    assert "\\x00me" not in caplog.text


async def test_frames_follow_a_raw_handshake_that_was_refused() -> None:
    """A broker may leave the connection open, as on a listener without logins."""
    async with closed_cluster(Limits()) as front:
        client = await front.dial()
        await client.send(RAW_PLAIN)
        assert await client.ids(1) == [1]
        await client.send(request(ApiKey.API_VERSIONS, 0, 2))
        assert await client.ids(1) == [2]
        assert front.proxy.statistics().closed == {}
