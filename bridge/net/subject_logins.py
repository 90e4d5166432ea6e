"""Clients that show a certificate, logged in at brokers by the bridge with credentials that it keeps for them.

A client's certificate ends at the bridge. A file says whom brokers take its subject for; who is in no line of it is
turned away.
"""

import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Protocol

import trio

from bridge.config.named_files import FileUnreadable, read_text
from bridge.log_lines import RateLimitedLog
from bridge.migration.patterns import make_subject_matcher
from bridge.net.broker_connection import Entered
from bridge.net.broker_side import Cluster
from bridge.net.own_login import OwnLogin, PasswordFile, Proof, SecretUnreadable, TokenFile, read_secret, read_token
from bridge.net.tls import TlsFile, TlsUnusable
from bridge.net.transport import Transport
from bridge.ports import BrokerUnreachable
from bridge.session.client_session import Offered
from bridge.session.close_reasons import CloseReason
from bridge.wire.frames import FrameBytes
from bridge.wire.sasl import Mechanism

ENTRIES_MAX = 10_000
FILE_BYTES_MAX = 16_777_216
FILES_AT_ONCE_MAX = 4
"""Secrets that are read at once, for all clients together."""
ALLOWED = "lines of SUBJECT MECHANISM USERNAME PASSWORD-FILE, or SUBJECT OAUTHBEARER TOKEN-FILE"
TOKEN_WORDS, PASSWORD_WORDS = 3, 4


@dataclass(frozen=True, slots=True)
class SubjectLogin:
    """Whose subject is like this pattern is logged in so; `line` is where that is said."""

    pattern: str
    source: PasswordFile | TokenFile
    line: int

    @property
    def name(self) -> str:
        """The name to log in with; empty where a token tells it."""
        return self.source.username if isinstance(self.source, PasswordFile) else ""


def read_subject_logins(path: Path) -> tuple[SubjectLogin, ...]:
    """The lines of the file, in their order; secrets are looked at, and not kept. Raises TlsUnusable."""
    try:
        text = read_text(path, FILE_BYTES_MAX)
    except FileUnreadable as problem:
        raise _unusable(str(problem)) from None
    entries = tuple(_entries(path, text))
    if not entries or len(entries) > ENTRIES_MAX:
        raise _unusable(f"{path} has {len(entries) or 'no'} lines, {ENTRIES_MAX} are read at most")
    return entries


def _entries(path: Path, text: str) -> Iterator[SubjectLogin]:
    for number, line in enumerate(text.splitlines(), 1):
        try:
            words = shlex.split(line, comments=True)
        except ValueError as problem:
            raise _unusable(f"{path}, line {number} can't be read: {problem}") from None
        if words:
            yield SubjectLogin(words[0], _source(f"{path}, line {number}", words), number)


def _source(place: str, words: list[str]) -> PasswordFile | TokenFile:
    mechanism = words[1] if len(words) > 1 else ""
    is_token = mechanism == Mechanism.OAUTHBEARER
    if mechanism not in set(Mechanism) or len(words) != (TOKEN_WORDS if is_token else PASSWORD_WORDS):
        # What is there may be a password in the wrong place.
        raise _unusable(f"{place} has {len(words)} words, or a mechanism in second place that there is not")
    try:
        if is_token:
            read_token(words[2])
            return TokenFile(words[2])
        read_secret(words[3])
        return PasswordFile(Mechanism(mechanism), words[2], words[3])
    except SecretUnreadable as problem:
        raise _unusable(f"{place}: {problem}") from None


def _unusable(seen: str) -> TlsUnusable:
    return TlsUnusable(TlsFile.CLIENTS, seen, ALLOWED)


class SubjectLogins:
    """Those of the file as it was read last."""

    def __init__(self, entries: tuple[SubjectLogin, ...], log: RateLimitedLog, broker_wait_s: float = inf) -> None:
        """`broker_wait_s`: see `OwnLogin`."""
        self._log = log
        self._broker_wait_s = broker_wait_s
        self._threads = trio.CapacityLimiter(FILES_AT_ONCE_MAX)
        self.use(entries)

    def use(self, entries: tuple[SubjectLogin, ...]) -> None:
        """Take these for connections of clients that come from now on."""
        self._entries = tuple(
            (
                entry,
                make_subject_matcher(entry.pattern),
                OwnLogin(entry.source, self._log, self._threads, self._broker_wait_s),
            )
            for entry in entries
        )

    def find(self, subject: str) -> tuple[str, OwnLogin] | None:
        """The name and login of the first line that means this subject."""
        means = ((entry.name, login) for entry, is_meant, login in self._entries if is_meant(subject))
        return next(means, None)


class EnteredCluster(Cluster, Protocol):
    """The cluster as it is connected to under somebody's name."""

    async def connect_as(self, login: OwnLogin, broker_id: int | None, announcement: bytes = b"") -> Entered | None:
        """A connection that is logged in; None when there is none in time.

        Raises BrokerUnreachable where the broker refuses.
        """
        ...


class MappedCluster:
    """The cluster as a client has it for whom the bridge logs in (`broker_side.Cluster`)."""

    is_open = False
    wants_login = False
    """A login of the client's own would be one too many."""

    def __init__(self, cluster: EnteredCluster, principal: str, login: OwnLogin) -> None:
        self._cluster = cluster
        self.principal = principal
        self._login = login
        self.login_ends_ms = inf
        self.login_proof: Proof | None = None
        self.refused: Callable[[CloseReason, str], None] = lambda _reason, _detail: None
        """Ends the client's connection."""

    @property
    def is_reachable(self) -> bool:
        """See `broker_side.Cluster`."""
        return self._cluster.is_reachable

    def offered_nowait(self, broker_id: int | None) -> Offered | None:
        """See `broker_side.Cluster`."""
        return self._cluster.offered_nowait(broker_id)

    async def offered(self, broker_id: int | None) -> Offered | None:
        """See `broker_side.Cluster`."""
        return await self._cluster.offered(broker_id)

    async def connect(self, broker_id: int | None, announcement: bytes = b"") -> Transport | None:
        """See `broker_side.Cluster`; logged in, or the client's connection is ended with the broker's word."""
        try:
            entered = await self._cluster.connect_as(self._login, broker_id, announcement)
        except BrokerUnreachable as problem:
            self.refused(CloseReason.KEPT_LOGIN_REFUSED, str(problem))
            return None
        if entered is None:
            return None
        transport, self.login_ends_ms, self.login_proof = entered
        return transport

    def rewritten(self, api_key: int, version: int, frame: bytes) -> FrameBytes:
        """See `broker_side.Cluster`."""
        return self._cluster.rewritten(api_key, version, frame)
