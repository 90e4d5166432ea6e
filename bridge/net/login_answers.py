"""Logins that the bridge itself answers, on one connection: each in its turn, refusals late, as brokers say them.

What is said is decided in `bridge.session.bridge_login`.
"""

from collections.abc import Callable
from contextlib import suppress
from secrets import token_urlsafe
from typing import NoReturn, Protocol

import trio

from bridge.net.clock import now_ms
from bridge.net.login_bounds import LoginBounds
from bridge.net.transport import PeerGone, Transport
from bridge.session.bridge_login import BridgeLogin, Said
from bridge.session.client_session import ClientSession
from bridge.session.close_reasons import CloseReason
from bridge.session.outbox import Slot
from bridge.session.raw_login import BareToken
from bridge.session.requests import Head
from bridge.wire.apis import ApiKey
from bridge.wire.errors import MalformedFrame
from bridge.wire.frames import RequestHeader
from bridge.wire.sasl import authenticate_answer, handshake_answer, read_mechanism, read_token
from translators.dialects.errors import ErrorCode

REFUSED_AFTER_S = 0.1
"""As connection.failed.authentication.delay.ms: who guesses passwords waits for each word."""
HEARD_WITHIN_S = 1.0
"""So long a refusal is left alone, or until its client hangs up: kafka-python 3.0 looks at the end only where it finds
an answer and the end of the connection together, and tells of no error 58.
"""
PASSWORDS_AT_ONCE_MAX = 2
NONCE_BYTES = 24
_threads = trio.CapacityLimiter(PASSWORDS_AT_ONCE_MAX)
"""Those in which passwords are judged, for all connections: whoever floods them waits for others of the kind."""


class Served(Protocol):
    """The connection whose logins these are."""

    transport: Transport

    def flush(self) -> None:
        """Send what is ready."""
        ...

    def close(self, reason: CloseReason, detail: str) -> None:
        """End it, once what was said has left."""
        ...


class LoginAnswers:
    """Those of one connection; where logins are the brokers', connections have none."""

    __slots__ = ("_client", "_login", "_session", "_wants_login")

    def __init__(
        self, session: ClientSession, client: Served, login: LoginBounds, wants_login: Callable[[], bool]
    ) -> None:
        """`wants_login` tells whether the cluster has logins of its own."""
        self._session, self._client, self._login, self._wants_login = session, client, login, wants_login

    async def answer(self, head: Head, slot: Slot) -> None:
        """Answer a step of a login; never returns where that ends the connection, so that nothing behind it is read."""
        login = self._session.bridge_login
        assert login is not None, "whoever asks has looked"
        if self._wants_login():
            await self._end(CloseReason.LOGIN_TWICE, "")
        try:
            said, frame = await self._say(login, head)
        except MalformedFrame as error:
            await self._end(CloseReason.MALFORMED_REQUEST, str(error))
        if said.principal is not None:
            self._session.name(said.principal)
            if login.lifetime_ms:
                # Also for those who can't be told: versions of SaslAuthenticate before 1 have no place for it.
                self._session.login.end_in(login.lifetime_ms, now_ms())
        if said.code is not ErrorCode.NONE:
            await trio.sleep(REFUSED_AFTER_S)
        if said.code is ErrorCode.NONE or not isinstance(head.header, BareToken):
            self._login.fill(head.header, slot, frame)
        self._client.flush()
        self._login.count_steps()
        if said.code is not ErrorCode.NONE:
            with suppress(PeerGone), trio.move_on_after(HEARD_WITHIN_S):
                await self._client.transport.wait_readable()
            await self._end(CloseReason.LOGIN_REFUSED, said.seen)

    async def _say(self, login: BridgeLogin, head: Head) -> tuple[Said, bytes]:
        """What is said to a step, and its frame. Raises MalformedFrame."""
        header = head.header
        if header.api_key == ApiKey.SASL_HANDSHAKE:
            mechanism = read_mechanism(header, head.data)
            self._session.login.begin()
            said = login.begin(mechanism, now_ms())
            return said, handshake_answer(header, said.code, login.mechanisms)
        token = read_token(header, head.data)
        if login.is_slow and _threads.statistics().tasks_waiting >= self._session.limits.logins_waiting_max:
            # Without a word: an error of authentication ends clients, and this one may be let in a moment later.
            await self._end(CloseReason.TOO_MANY_LOGINS, f"client {header.client_id!r}")
        said = await _judge(login, token)
        frame = _frame(header, login, said)
        self._login.hear(header.api_version, frame)
        return said, frame

    async def _end(self, reason: CloseReason, detail: str) -> NoReturn:
        self._client.close(reason, detail)
        await trio.sleep_forever()


async def _judge(login: BridgeLogin, token: bytes) -> Said:
    nonce = token_urlsafe(NONCE_BYTES)
    if not login.is_slow:
        return login.judge(token, nonce)
    return await trio.to_thread.run_sync(login.judge, token, nonce, limiter=_threads, abandon_on_cancel=True)


def _frame(header: RequestHeader, login: BridgeLogin, said: Said) -> bytes:
    lifetime_ms = login.lifetime_ms if said.principal is not None else 0
    return authenticate_answer(header, said.code, said.message, said.token, lifetime_ms)
