"""Certificates of the bridge's own that are over, or soon will be: who renews them hears of it before clients do."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import trio

from bridge.net.clock import wall_ms
from bridge.net.shared import LOG
from bridge.net.tls import TlsFile, TlsIdentity, TlsUnusable, own_certificate
from translators.dialects.counts import counted

SOON = timedelta(days=14)
"""Authorities that renew by themselves do so with a third of the time left: who has two weeks has been forgotten."""
REPEAT_MS = 86_400_000
CODE_SOON = "EB-NET-073"
"""A certificate of the bridge's own will be over in two weeks or less."""
CODE_OVER = "EB-NET-074"
"""A certificate of the bridge's own is over: whoever checks it refuses the connection."""
RENEWAL = "put a new one in its place, which is read without a restart"
VERSION, UTC_TIME = 0xA0, 0x17
"""Tags of DER: of the version, which old certificates leave out, and of a time with two digits for the year."""


@dataclass(frozen=True, slots=True)
class Fading:
    """What is to be said of a certificate: how loud, a stable code, what was seen."""

    level: int
    code: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Expiry:
    """Until when a certificate is valid."""

    path: Path
    over: datetime

    def seen_at(self, now_ms: int) -> Fading | None:
        """What is to be said of it at a time, in milliseconds since 1970; None while all is well."""
        left = self.over - datetime.fromtimestamp(now_ms / 1000, UTC)
        until = f"{self.over:%Y-%m-%d %H:%M} UTC"
        if left <= timedelta():
            sentence = f"{self.path} was valid until {until}: whoever checks it refuses the connection"
            return Fading(logging.ERROR, CODE_OVER, sentence)
        if left > SOON:
            return None
        sentence = f"{self.path} is valid until {until}, {counted(left.days, 'day')} from now"
        return Fading(logging.WARNING, CODE_SOON, sentence)


def expiry_of(identity: TlsIdentity) -> Expiry:
    """Of the certificate that is shown. Raises TlsUnusable."""
    try:
        return Expiry(identity.certificate, over_of(own_certificate(identity)))
    except (IndexError, ValueError):
        seen = f"{identity.certificate} does not say until when it is valid"
        raise TlsUnusable(TlsFile.CERTIFICATE, seen, "a certificate with its times, as X.509 has them") from None


def over_of(der: bytes) -> datetime:
    """The end of a certificate's validity (RFC 5280, 4.1); Python's ssl tells it of the certificates of others only.

    Raises IndexError or ValueError where the bytes are no certificate.
    """
    _, at, _ = _value(der, 0)
    _, at, _ = _value(der, at)
    tag, _, end = _value(der, at)
    if tag == VERSION:
        at = end
    for _ in ("serial number", "signature algorithm", "issuer"):
        _, _, at = _value(der, at)
    _, at, _ = _value(der, at)
    _, _, at = _value(der, at)  # Since when it is valid.
    tag, begin, end = _value(der, at)
    form = "%y%m%d%H%M%SZ" if tag == UTC_TIME else "%Y%m%d%H%M%SZ"
    return datetime.strptime(der[begin:end].decode("ascii"), form).replace(tzinfo=UTC)


def _value(der: bytes, at: int) -> tuple[int, int, int]:
    """The tag of what begins there, and where its content begins and ends."""
    tag, length, begin = der[at], der[at + 1], at + 2
    if length >= 0x80:
        count = length - 0x80
        length, begin = int.from_bytes(der[begin : begin + count]), begin + count
    return tag, begin, begin + length


@dataclass(slots=True)
class ExpiryWatch:
    """Says of the certificate of one side, which begins its keys' names, that it is over or soon will be: at the start,
    once a day, and when it was read anew.
    """

    name: str
    identity: TlsIdentity
    now_ms: Callable[[], int] = wall_ms
    _next_ms: int = field(default=0, init=False)

    async def look(self, *, is_new: bool = False) -> None:
        """Say what there is to say, if it is time for it; of a file that can't be read others tell."""
        now_ms = self.now_ms()
        if now_ms < self._next_ms and not is_new:
            return
        self._next_ms = now_ms + REPEAT_MS
        # A disk may never answer, and who stops the bridge does not wait for it.
        fading = await trio.to_thread.run_sync(fading_of, self.identity, now_ms, abandon_on_cancel=True)
        if fading is not None:
            key = f"{self.name}.{TlsFile.CERTIFICATE.value}"
            LOG.log(fading.level, "%s: %s: %s; %s", fading.code, key, fading.sentence, RENEWAL)


def fading_of(identity: TlsIdentity, now_ms: int) -> Fading | None:
    """What is to be said of the certificate that is shown; nothing where its file can't be read."""
    try:
        return expiry_of(identity).seen_at(now_ms)
    except TlsUnusable:
        return None
