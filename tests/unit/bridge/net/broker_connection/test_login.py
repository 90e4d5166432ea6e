"""The bridge logs in to a broker; with real ones in tests/endtoend/test_sasl.py."""

import pytest
import trio

from bridge.net.broker_connection import LoginConnection, LoginRefused, connect, log_in
from bridge.session.broker_addresses import Address
from bridge.wire.apis import ApiKey
from bridge.wire.sasl import BearerToken, Credentials, Mechanism
from tests.support.scripted_broker import LOOPBACK, ScriptedBroker

WORD = "never-shown"
TAKEN = b"\x00\x00\x00\x00\x00\x01\x00\x05PLAIN"
LET_IN = b"\x00\x00\xff\xff\x00\x00\x00\x00"


def credentials(mechanism: Mechanism = Mechanism.PLAIN) -> Credentials:
    """The bridge's."""
    return Credentials(mechanism=mechanism, username="bridge", password=WORD)


async def log_in_at(broker: ScriptedBroker, mechanism: Mechanism = Mechanism.PLAIN) -> None:
    """Log in once, and let the broker go."""
    async with trio.open_nursery() as nursery:
        await nursery.start(broker.serve)
        transport = await connect(Address(LOOPBACK, broker.port), 5)
        try:
            await log_in(LoginConnection(transport, "client"), credentials(mechanism))
        finally:
            transport.close()
            nursery.cancel_scope.cancel()


async def refused(broker: ScriptedBroker, mechanism: Mechanism = Mechanism.PLAIN) -> str:
    """What is said of a login that is refused; never the password."""
    with pytest.raises(ExceptionGroup) as found:
        await log_in_at(broker, mechanism)
    (problem,) = found.value.exceptions
    assert isinstance(problem, LoginRefused)
    assert WORD not in str(problem)
    return str(problem)


async def test_plain_login_is_a_handshake_and_one_token() -> None:
    """Then the connection is the bridge's to ask on."""
    broker = ScriptedBroker(bodies={ApiKey.SASL_HANDSHAKE: TAKEN, ApiKey.SASL_AUTHENTICATE: LET_IN})
    await log_in_at(broker)
    assert [key for key, _, _ in broker.requests] == [ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE]


async def test_mechanism_that_the_broker_does_not_take_is_told_with_those_it_takes() -> None:
    """A listener without SASL offers none, and says ILLEGAL_SASL_STATE."""
    told = await refused(ScriptedBroker(bodies={ApiKey.SASL_HANDSHAKE: b"\x00\x21" + TAKEN[2:]}))
    assert told.startswith("EB-NET-041: the broker does not take PLAIN (UNSUPPORTED_SASL_MECHANISM); it offers PLAIN")
    told = await refused(ScriptedBroker(bodies={ApiKey.SASL_HANDSHAKE: b"\x00\x22\x00\x00\x00\x00"}))
    assert "is this a listener without SASL?" in told


async def test_wrong_password_is_told_in_the_brokers_words() -> None:
    """And where to look."""
    no = b"\x00\x3a\x00\x02no\x00\x00\x00\x00"
    told = await refused(ScriptedBroker(bodies={ApiKey.SASL_HANDSHAKE: TAKEN, ApiKey.SASL_AUTHENTICATE: no}))
    assert told.startswith("EB-NET-042: the broker refuses the bridge (SASL_AUTHENTICATION_FAILED: no); see upstream")


async def test_broker_that_proves_nothing_is_told() -> None:
    """SCRAM goes both ways."""
    broker = ScriptedBroker(bodies={ApiKey.SASL_HANDSHAKE: TAKEN, ApiKey.SASL_AUTHENTICATE: LET_IN})
    assert (await refused(broker, Mechanism.SCRAM_SHA_256)).startswith("EB-NET-040: the login as 'bridge' failed: ")


TOKEN = BearerToken("a.token")


async def show(broker: ScriptedBroker, version: int = 1) -> int:
    """How long the login by a token lasts."""
    async with trio.open_nursery() as nursery:
        await nursery.start(broker.serve)
        transport = await connect(Address(LOOPBACK, broker.port), 5)
        try:
            return await log_in(LoginConnection(transport, "client", version), TOKEN)
        finally:
            transport.close()
            nursery.cancel_scope.cancel()


async def test_login_by_a_token_lasts_as_long_as_the_broker_says() -> None:
    """One step, where the broker takes it."""
    let_in = LET_IN + (60_000).to_bytes(8, "big")
    broker = ScriptedBroker(bodies={ApiKey.SASL_HANDSHAKE: TAKEN, ApiKey.SASL_AUTHENTICATE: let_in})
    assert await show(broker) == 60_000
    assert [key for key, _, _ in broker.requests] == [ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE]


async def test_token_that_the_broker_gives_reasons_against_is_refused() -> None:
    """They are acknowledged (RFC 7628), whereupon the broker ends it, or has to be taken at its word."""
    reasons = b"\x00\x00\xff\xff\x00\x00\x00\x02{}" + bytes(8)
    broker = ScriptedBroker(bodies={ApiKey.SASL_HANDSHAKE: TAKEN, ApiKey.SASL_AUTHENTICATE: reasons})
    with pytest.raises(ExceptionGroup) as found:
        await show(broker)
    (problem,) = found.value.exceptions
    assert str(problem).startswith("EB-NET-042: the broker does not take the bridge's token; see what upstream.sasl.to")
    assert TOKEN.token not in str(problem)
    assert [key for key, _, _ in broker.requests] == [ApiKey.SASL_HANDSHAKE, *[ApiKey.SASL_AUTHENTICATE] * 2]
