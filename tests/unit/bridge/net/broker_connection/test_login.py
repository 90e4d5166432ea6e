"""The bridge logs in to a broker; with real ones in tests/endtoend/test_sasl.py."""

import pytest
import trio

from bridge.net.broker_connection import LoginRefused, connect, log_in
from bridge.session.broker_addresses import Address
from bridge.wire.apis import ApiKey
from bridge.wire.sasl import Credentials, Mechanism
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
            await log_in(transport, credentials(mechanism), "client")
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
