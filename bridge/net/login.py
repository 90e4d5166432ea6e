"""The bridge logs in to a broker on a connection of its own, before it asks anything.

It must not know what is asked then, nor clients, which log in by themselves.
"""

from secrets import token_urlsafe

import trio

from bridge.net.broker_connection import exchange
from bridge.net.transport import Transport
from bridge.ports import BrokerUnreachable
from bridge.wire.errors import MalformedFrame
from bridge.wire.sasl import (
    AuthenticateAnswer,
    Credentials,
    Mechanism,
    authenticate_request,
    handshake_request,
    plain_token,
    read_authenticate,
    read_handshake,
)
from bridge.wire.scram import ScramFailed, check_server, first_message, prove
from translators.dialects.errors import ErrorCode

NONCE_BYTES = 24
ANSWER_BYTES_MAX = 65_536


class LoginRefused(BrokerUnreachable):
    """The broker does not let the bridge in; the text says why and what to change, never a secret.

    `is_brokers_word` tells whether the broker itself refused: what can't be read proves nothing of it.
    """

    def __init__(self, text: str, *, is_brokers_word: bool = False) -> None:
        super().__init__(text)
        self.is_brokers_word = is_brokers_word


async def log_in(transport: Transport, credentials: Credentials, client_id: str) -> None:
    """Say who the bridge is. Raises LoginRefused, and BrokerUnreachable when the connection ends."""
    try:
        await _shake_hands(transport, credentials.mechanism, client_id)
        if credentials.mechanism is Mechanism.PLAIN:
            await _authenticate(transport, plain_token(credentials), client_id)
        else:
            await _prove(transport, credentials, client_id)
    except (MalformedFrame, ScramFailed) as problem:
        raise LoginRefused(f"EB-NET-040: the login as {credentials.username!r} failed: {problem}") from problem


async def _shake_hands(transport: Transport, mechanism: Mechanism, client_id: str) -> None:
    answer = read_handshake(await exchange(transport, handshake_request(mechanism, client_id), ANSWER_BYTES_MAX))
    if answer.error is ErrorCode.NONE:
        return
    offered = ", ".join(answer.mechanisms) or "none: is this a listener without SASL?"
    raise LoginRefused(
        f"EB-NET-041: the broker does not take {mechanism.value} ({answer.error.name}); it offers {offered}; "
        "see upstream.sasl.mechanism",
        is_brokers_word=answer.error is ErrorCode.UNSUPPORTED_SASL_MECHANISM and bool(answer.mechanisms),
    )


async def _prove(transport: Transport, credentials: Credentials, client_id: str) -> None:
    nonce = token_urlsafe(NONCE_BYTES)
    first = await _authenticate(transport, first_message(credentials, nonce), client_id)
    proof = await trio.to_thread.run_sync(prove, credentials, nonce, first.token)
    final = await _authenticate(transport, proof.message, client_id)
    check_server(final.token, proof)


async def _authenticate(transport: Transport, token: bytes, client_id: str) -> AuthenticateAnswer:
    answer = read_authenticate(await exchange(transport, authenticate_request(token, client_id), ANSWER_BYTES_MAX))
    if answer.error is ErrorCode.NONE:
        return answer
    raise LoginRefused(
        f"EB-NET-042: the broker refuses the bridge ({answer.error.name}: {answer.message or 'no reason given'}); "
        "see upstream.sasl.username and the file of upstream.sasl.password.path",
        is_brokers_word=True,
    )
