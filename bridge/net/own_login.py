"""Who the bridge is to the cluster, asked for at every login: what a file holds by then, or what an endpoint gives.

So what is rotated counts without a restart. What it reads is never shown.
"""

import logging
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from math import inf
from typing import Protocol, TypeVar

import trio

from bridge.config import named_files
from bridge.config.named_files import FileUnreadable
from bridge.log_lines import Line, RateLimitedLog
from bridge.net.clock import now_ms
from bridge.ports import BrokerUnreachable
from bridge.wire.sasl import BearerToken, Credentials, Mechanism

WAIT_S, SPARE_WAIT_S = 8.0, 2.0
"""For a file or an endpoint: less than a broker is given to answer, so that it is not blamed for them, and less again
where what was read before still counts.
"""
WAIT_SHARE, SPARE_WAIT_SHARE = 0.8, 0.2
"""And at most so much of what a broker is given, where that is less than ten seconds."""
REFUSED_MS = 10_000
"""So old a token of an endpoint is before another is asked for because a broker refused it: each question of the bridge
is a login, and would else be one for the endpoint, whatever it is refused for.
"""
HUNG_MS = 1_000
"""So long nobody waits again for what has just hung: those who came meanwhile have limits of their own."""
ENDPOINT = "bridge.net.token_endpoint"
RENEWED_SHARE = 0.8
"""After so much of its life an endpoint's token is asked for anew, as Kafka's clients do."""
Proof = Credentials | BearerToken
SecretT = TypeVar("SecretT", str, BearerToken)


class SecretUnreadable(Exception):
    """The file or the endpoint gives nothing that can be used; the text never holds what it gave."""


class NoLogin(BrokerUnreachable):
    """The bridge has nothing to log in with, which says nothing of the broker."""


@dataclass(frozen=True, slots=True)
class PasswordFile:
    """A name, and the file that holds its password."""

    mechanism: Mechanism
    username: str
    path: str


@dataclass(frozen=True, slots=True)
class TokenFile:
    """A file that somebody keeps fresh, with one token."""

    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenEndpoint:
    """Where tokens are given to who shows a client id and its secret (OAuth 2.0, client credentials)."""

    url: str
    client_id: str
    secret_path: str = ""
    secret: str = field(default="", repr=False)
    scope: str = ""
    trust_path: str = ""


LoginSource = Credentials | PasswordFile | TokenFile | TokenEndpoint


@dataclass(frozen=True, slots=True)
class Granted:
    """A token of an endpoint, and how long it lasts."""

    token: BearerToken
    life_s: float


class AskEndpoint(Protocol):
    """See `token_endpoint.ask_endpoint`."""

    def __call__(self, endpoint: TokenEndpoint, secret: str, threads: trio.CapacityLimiter) -> Awaitable[Granted]:
        """Ask once; raises SecretUnreadable."""


def read_secret(path: str) -> str:
    """What a file holds, without its line end. Raises SecretUnreadable."""
    try:
        return named_files.read_secret(path)
    except FileUnreadable as problem:
        raise SecretUnreadable(str(problem)) from None


def check_trust(path: str) -> None:
    """Open the file of authorities that an endpoint is judged by, where one is named. Raises SecretUnreadable."""
    try:
        ssl.create_default_context(cafile=path or None)
    except OSError as problem:
        raise SecretUnreadable(f"{path} can't be used: {problem.strerror or problem}") from None


def is_token(text: str) -> bool:
    """Whether it is one word of ASCII: anything else would break what a login says around it."""
    return bool(text) and text.isascii() and text.isprintable() and " " not in text


def read_token(path: str) -> BearerToken:
    """The token that a file holds. Raises SecretUnreadable."""
    token = read_secret(path).strip()
    if not is_token(token):
        raise SecretUnreadable(f"{path} holds no token: one word of ASCII is one")
    return BearerToken(token)


class OwnLogin:
    """The bridge's own, whatever it is made of; None: it has none."""

    def __init__(
        self,
        source: LoginSource | None,
        log: RateLimitedLog,
        threads: trio.CapacityLimiter | None = None,
        broker_wait_s: float = inf,
    ) -> None:
        """`threads` are those that read: what hangs holds up no others, and the journal's least of all.

        `broker_wait_s` is how long a broker is given for a login, this included.
        """
        self.source = source
        self._broker_wait_s = broker_wait_s
        self._threads = threads or trio.CapacityLimiter(1)
        self._hung_until_ms = -inf
        self._log = log
        self._last: Proof | None = None
        self._granted_ms = -inf
        self._good_until_ms = -inf
        self._ends_ms = -inf
        self._turn = trio.Lock()

    async def proof(self) -> Proof:
        """What to log in with now. Raises NoLogin where there was never anything."""
        source = self.source
        assert source is not None, "there is a login"
        if isinstance(source, Credentials):
            return source
        async with self._turn:
            try:
                self._last = await self._get_in_time(source)
            except SecretUnreadable as problem:
                if self._last is None or now_ms() >= self._ends_ms:
                    raise NoLogin(f"EB-NET-205: the bridge has nothing to log in with: {problem}") from None
                told = "EB-NET-206: what the bridge logs in with can't be had anew, what it has counts on: %s"
                self._log.write(now_ms(), "own login", Line(logging.WARNING, told, (problem,)))
            return self._last

    def forget(self) -> None:
        """It was refused: an endpoint is asked anew, though not at once; a file is read anew at every login anyway."""
        self._good_until_ms = min(self._good_until_ms, self._granted_ms + REFUSED_MS)

    async def _get_in_time(self, source: PasswordFile | TokenFile | TokenEndpoint) -> Proof:
        wait_s = min(WAIT_S, self._broker_wait_s * WAIT_SHARE)
        if self._last is not None and now_ms() < self._ends_ms:
            wait_s = min(SPARE_WAIT_S, self._broker_wait_s * SPARE_WAIT_SHARE)
        if now_ms() >= self._hung_until_ms:
            with trio.move_on_after(wait_s):
                return await self._get(source)
            self._hung_until_ms = now_ms() + HUNG_MS
        place = source.url if isinstance(source, TokenEndpoint) else source.path
        raise SecretUnreadable(f"nothing came of {place} within {wait_s:g} s")

    async def _get(self, source: PasswordFile | TokenFile | TokenEndpoint) -> Proof:
        if isinstance(source, TokenEndpoint):
            return await self._ask(source)
        self._ends_ms = inf
        if isinstance(source, TokenFile):
            return await self._read(partial(read_token, source.path))
        password = await self._read(partial(read_secret, source.path))
        return Credentials(mechanism=source.mechanism, username=source.username, password=password)

    async def _ask(self, endpoint: TokenEndpoint) -> Proof:
        if self._last is not None and now_ms() < self._good_until_ms:
            return self._last
        secret = endpoint.secret or await self._read(partial(read_secret, endpoint.secret_path))
        # The client library is loaded where there is an endpoint.
        ask: AskEndpoint = import_module(ENDPOINT).ask_endpoint
        granted = await ask(endpoint, secret, self._threads)
        self._granted_ms = now_ms()
        self._good_until_ms = self._granted_ms + granted.life_s * RENEWED_SHARE * 1_000
        self._ends_ms = self._granted_ms + granted.life_s * 1_000
        return granted.token

    async def _read(self, read: Callable[[], SecretT]) -> SecretT:
        """In a thread: a disk may sleep, and who stops the bridge does not wait for it."""
        return await trio.to_thread.run_sync(read, abandon_on_cancel=True, limiter=self._threads)


class RenewedLogin:
    """The bridge's login at one connection that may outlive it (KIP-368)."""

    def __init__(self, enter: Callable[[], Awaitable[float]]) -> None:
        """`enter` logs in and gives when that has to be done again, on the clock of `now_ms`."""
        self._enter = enter
        self._again_ms = -inf

    async def be_in(self) -> None:
        """Log in if that was not done or will soon have run out. Raises BrokerUnreachable."""
        if now_ms() >= self._again_ms:
            self._again_ms = await self._enter()
