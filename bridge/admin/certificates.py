"""Who asks the admin API by a certificate: what a subject may do, as a file says it, and where a request tells it.

Whoever shakes hands tells the subject of a certificate that is valid.
"""

import shlex
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from bridge.admin.tokens import Role
from bridge.migration.patterns import Matches, make_subject_matcher

ENTRIES_MAX = 10_000
ALLOWED = "lines of SUBJECT ROLE, where ROLE is read or order"
WORDS = 2
PLACE = "epochbridge.certified"
"""Where the scope of a request holds whose certificate its connection showed."""


class RolesUnreadable(Exception):
    """The text says nothing that could be used; it is for a person."""


@dataclass(frozen=True, slots=True)
class Certified:
    """Whom the certificate of a connection names, and what that one may do; empty and None where none was shown."""

    subject: str = ""
    role: Role | None = None


@dataclass(frozen=True, slots=True)
class CertificateRoles:
    """What is allowed to whom: the first line that means a subject counts. None: no file says it, and all may read."""

    lines: tuple[tuple[Matches, Role], ...] | None = None

    def certify(self, subject: str) -> Certified:
        """Of the subject of a valid certificate, empty where none was shown."""
        if not subject or self.lines is None:
            return Certified(subject, Role.READ if subject else None)
        return Certified(subject, next((role for means, role in self.lines if means(subject)), None))


def parse_roles(text: str) -> CertificateRoles:
    """Lines of a subject, as `make_subject_matcher` reads it, and its role. Raises RolesUnreadable."""
    lines: list[tuple[Matches, Role]] = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            words = shlex.split(line, comments=True)
        except ValueError as problem:
            raise RolesUnreadable(f"line {number} can't be read: {problem}") from None
        if not words:
            continue
        if len(words) != WORDS:
            raise RolesUnreadable(f"line {number} has {len(words)} words; quote a subject that has spaces in it")
        if words[1] not in set(Role):
            raise RolesUnreadable(f"line {number} has {words[1]!r} for a role")
        lines.append((make_subject_matcher(words[0]), Role(words[1])))
    if not lines or len(lines) > ENTRIES_MAX:
        raise RolesUnreadable(f"it has {len(lines) or 'no'} lines, {ENTRIES_MAX} are read at most")
    return CertificateRoles(tuple(lines))


class Connected(Protocol):
    """A connection inside TLS, as hypercorn takes it from trio."""

    async def send_all(self, data: bytes) -> None:
        """Send all of it."""
        ...

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """What came, empty at the end."""
        ...

    async def aclose(self) -> None:
        """Close both directions."""
        ...


@dataclass(frozen=True, slots=True)
class Shaken:
    """A connection inside TLS, and what the certificate that it showed allows by now."""

    stream: Connected
    certify: Callable[[], Certified]


ShakeHands = Callable[[socket.socket, str], Awaitable[Shaken | None]]
"""TLS on an accepted socket of a host, which is taken over; None where it did not come about, which was told."""
