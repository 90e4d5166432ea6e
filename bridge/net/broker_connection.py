"""The bridge's own short talks with a broker: connect, log in, one request, one answer."""

import socket
import ssl
from dataclasses import dataclass
from secrets import token_urlsafe
from typing import NamedTuple

import trio

from bridge.net.descriptors import ADVICE, is_used_up
from bridge.net.own_login import Proof
from bridge.net.strange_answers import explain_start, why_no_way
from bridge.net.tls_faults import explain_broker
from bridge.net.tls_socket import ONLY_KEYS
from bridge.net.tls_transport import shake_hands
from bridge.net.transport import PeerGone, SocketTransport, Transport, send_all
from bridge.ports import BrokerUnreachable
from bridge.session.broker_addresses import Address
from bridge.wire.errors import MalformedFrame
from bridge.wire.frames import (
    LENGTH_BYTES,
    REQUEST_CORRELATION_END,
    REQUEST_CORRELATION_OFFSET,
    RESPONSE_CORRELATION_END,
    RESPONSE_CORRELATION_OFFSET,
)
from bridge.wire.sasl import (
    AUTHENTICATE_VERSION,
    BEARER_GIVES_UP,
    AuthenticateAnswer,
    BearerToken,
    Credentials,
    Mechanism,
    authenticate_request,
    bearer_token,
    handshake_request,
    plain_token,
    read_authenticate,
    read_handshake,
)
from bridge.wire.scram import ScramFailed, check_server, first_message, prove
from translators.dialects.errors import ErrorCode

NONCE_BYTES = 24
OF_PASSWORDS = (
    "see upstream.sasl.username, what upstream.sasl.password.path or .variable names, and whether the brokers have "
    "that user by this mechanism"
)
OF_TOKENS = (
    "see what upstream.sasl.token.path holds, or upstream.sasl.token.endpoint gives, whether its time is over by the "
    "broker's clock, and who the broker trusts"
)
ANSWER_BYTES_MAX = 65_536


class Entered(NamedTuple):
    """A connection that is logged in, when that has to be done again, and by what it was done."""

    transport: Transport
    ends_ms: float
    proof: Proof


class LoginRefused(BrokerUnreachable):
    """The broker does not let the bridge in; the text says why and what to change, never a secret.

    `is_brokers_word` tells whether the broker itself refused: what can't be read proves nothing of it.
    """

    def __init__(self, text: str, *, is_brokers_word: bool = False) -> None:
        super().__init__(text)
        self.is_brokers_word = is_brokers_word


@dataclass(frozen=True, slots=True)
class LoginConnection:
    """Who logs in at a connection, and by which version of SaslAuthenticate."""

    transport: Transport
    client_id: str
    version: int = AUTHENTICATE_VERSION


async def log_in(connection: LoginConnection, proof: Credentials | BearerToken) -> int:
    """Say who the bridge is; gives how long that lasts, in ms, 0 for ever (KIP-368).

    Raises LoginRefused, and BrokerUnreachable when the connection ends.
    """
    name = repr(proof.username) if isinstance(proof, Credentials) else "whom its token names"
    try:
        if isinstance(proof, BearerToken):
            await _shake_hands(connection, Mechanism.OAUTHBEARER)
            return await _show_token(connection, proof)
        await _shake_hands(connection, proof.mechanism)
        if proof.mechanism is Mechanism.PLAIN:
            return (await _authenticate(connection, plain_token(proof))).lifetime_ms
        return await _prove(connection, proof)
    except (MalformedFrame, ScramFailed) as problem:
        raise LoginRefused(f"EB-NET-040: the login as {name} failed: {problem}") from problem


async def _shake_hands(connection: LoginConnection, mechanism: Mechanism) -> None:
    request = handshake_request(mechanism, connection.client_id)
    answer = read_handshake(await exchange(connection.transport, request, ANSWER_BYTES_MAX))
    if answer.error is ErrorCode.NONE:
        return
    offered = ", ".join(answer.mechanisms) or "none: is this a listener without SASL?"
    raise LoginRefused(
        f"EB-NET-041: the broker does not take {mechanism.value} ({answer.error.name}); it offers {offered}; "
        "see upstream.sasl.mechanism",
        is_brokers_word=answer.error is ErrorCode.UNSUPPORTED_SASL_MECHANISM and bool(answer.mechanisms),
    )


async def _prove(connection: LoginConnection, credentials: Credentials) -> int:
    nonce = token_urlsafe(NONCE_BYTES)
    first = await _authenticate(connection, first_message(credentials, nonce))
    proof = await trio.to_thread.run_sync(prove, credentials, nonce, first.token)
    final = await _authenticate(connection, proof.message)
    check_server(final.token, proof)
    return final.lifetime_ms


async def _show_token(connection: LoginConnection, proof: BearerToken) -> int:
    answer = await _authenticate(connection, bearer_token(proof), OF_TOKENS)
    if answer.token:
        # The broker gives its reasons, and refuses once they are acknowledged.
        await _authenticate(connection, BEARER_GIVES_UP, OF_TOKENS)
        told = f"EB-NET-042: the broker does not take the bridge's token; {OF_TOKENS}"
        raise LoginRefused(told, is_brokers_word=True)
    return answer.lifetime_ms


async def _authenticate(connection: LoginConnection, token: bytes, advice: str = OF_PASSWORDS) -> AuthenticateAnswer:
    request = authenticate_request(token, connection.client_id, connection.version)
    answer = read_authenticate(await exchange(connection.transport, request, ANSWER_BYTES_MAX), connection.version)
    if answer.error is ErrorCode.NONE:
        return answer
    raise LoginRefused(
        f"EB-NET-042: the broker refuses the bridge ({answer.error.name}: {answer.message or 'no reason given'}); "
        f"{advice}",
        is_brokers_word=True,
    )


READ_BYTES = 64 * 1024
_ASKED = slice(REQUEST_CORRELATION_OFFSET, REQUEST_CORRELATION_END)
_ANSWERED = slice(RESPONSE_CORRELATION_OFFSET, RESPONSE_CORRELATION_END)
TLS_ALERT = b"\x15\x03"
"""How a TLS listener begins its answer to what is no TLS; as the length of an answer it would be 352 MB."""


class BrokerClosed(BrokerUnreachable):
    """The connection ended before the answer did."""


async def connect(
    address: Address, timeout_s: float, tls: ssl.SSLContext | None = None, announcement: bytes = b""
) -> SocketTransport:
    """Open a connection, inside TLS where there is a context for it; `announcement` is said in front of everything.

    Raises BrokerUnreachable.
    """
    is_there = False
    try:
        with trio.fail_after(timeout_s):
            stream = await trio.open_tcp_stream(address.host, address.port)
            is_there = True
            if announcement:
                await _announce(stream, announcement, address)
            sock = socket.socket(fileno=stream.socket.detach())
            return SocketTransport(sock) if tls is None else await shake_hands(sock, tls, address.host)
    except trio.TooSlowError as error:
        told = f"{address} did not take a connection within {timeout_s} s"
        if is_there:
            told = (
                f"EB-NET-047: {address} took a connection, but no TLS within {timeout_s} s; it hangs, or its listener "
                "is of another kind: check it, and upstream.tls"
            )
        raise BrokerUnreachable(told) from error
    except (OSError, ValueError) as error:
        if is_there:
            raise BrokerUnreachable(explain_broker(address.host, str(address), error)) from error
        why = f"EB-NET-025: no file descriptor is left for it; {ADVICE}" if is_used_up(error) else why_no_way(error)
        raise BrokerUnreachable(f"{address}: {why}") from error


async def _announce(stream: trio.SocketStream, announcement: bytes, address: Address) -> None:
    """Say whose the connection is, or close it. Raises BrokerUnreachable."""
    is_said = False
    try:
        await stream.send_all(announcement)
        is_said = True
    except trio.BrokenResourceError as error:
        told = f"{address} ended the connection before it heard whose it is; is a broker left behind it?"
        raise BrokerUnreachable(told) from error
    finally:
        if not is_said:
            await trio.aclose_forcefully(stream)


async def exchange(transport: Transport, request: bytes, answer_bytes_max: int) -> bytes:
    """Send one request frame and return the one answer frame. Raises BrokerUnreachable."""
    try:
        await send_all(transport, request)
    except PeerGone as error:
        raise _closed(transport, f"the broker ended the connection: {error}") from error
    start = await _receive(transport, LENGTH_BYTES)
    if start.startswith(TLS_ALERT):
        raise BrokerUnreachable(
            "EB-NET-043: the broker speaks TLS, and upstream.tls is false; set it to true, or name a listener without "
            "TLS in bootstrap"
        )
    size = int.from_bytes(start, "big", signed=True)
    if not 0 < size <= answer_bytes_max:
        raise BrokerUnreachable(explain_start(start, answer_bytes_max))
    answer = start + await _receive(transport, size)
    if answer[_ANSWERED] != request[_ASKED]:
        # What is read as an answer to this may be one to an earlier question that was given twice.
        raise BrokerUnreachable("EB-NET-071: the broker answered something that was not asked; it is asked anew")
    return answer


def _closed(transport: Transport, told: str) -> BrokerUnreachable:
    """The connection has ended; one that was refused inside TLS was none, and says nothing of logins."""
    if not transport.fault:
        return BrokerClosed(told)
    if transport.fault == ONLY_KEYS:
        return BrokerUnreachable(
            f"EB-NET-069: the bridge ended its connection to the broker: {ONLY_KEYS}, which cost much and mean "
            "nothing; see whether it is a broker that listens there, and what is in between"
        )
    return BrokerUnreachable(
        f"EB-NET-046: the broker refused the connection in TLS: {transport.fault}; see upstream.tls.certificate.path, "
        "and the broker's ssl.client.auth and ssl.truststore"
    )


async def _receive(transport: Transport, count: int) -> bytes:
    received = bytearray()
    while len(received) < count:
        view = memoryview(bytearray(min(READ_BYTES, count - len(received))))
        got = transport.recv_into(view)
        if got is None:
            await transport.wait_readable()
        elif got == 0:
            raise _closed(transport, "the broker closed the connection instead of answering")
        else:
            received += view[:got]
            if got == READ_BYTES:
                # Of a large answer the next piece is there already: others have their turn.
                await trio.lowlevel.checkpoint()
    return bytes(received)
