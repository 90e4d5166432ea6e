"""TLS with those who ask the admin API: hands shaken as with clients, and what certificates allow, by their files."""

import logging
import socket
from functools import partial

from bridge.admin.certificates import CertificateRoles, Shaken
from bridge.app.tls import admin_tls, read_roles
from bridge.config.keys import Settings
from bridge.log_lines import Line, LogFields, RateLimitedLog
from bridge.net.client_handshakes import Handshakes
from bridge.net.clock import now_ms
from bridge.net.expiry import ExpiryWatch
from bridge.net.tls import CertificateFiles, Certificates, ClientTls, TlsContext, client_context
from bridge.net.tls_socket import ONLY_KEYS
from bridge.net.tls_transport import TlsStream
from bridge.session.close_reasons import CloseReason
from bridge.session.limits import Limits
from bridge.session.requests import Rejected

LOG = logging.getLogger("epochbridge.admin")
WHY = {
    CloseReason.NO_CERTIFICATE: (
        "it shows no certificate, as admin.tls.client.auth wants; give it one (--admin-certificate-path of commands)"
    ),
    CloseReason.CERTIFICATE_REFUSED: (
        "its certificate is not accepted; give it a valid one of an authority of admin.tls.trust.path"
    ),
    CloseReason.CERTIFICATE_NOT_TRUSTED: (
        "it does not accept the bridge's certificate; have it trust who signed that (--admin-ca-path of commands), and "
        "ask by a host that the certificate names"
    ),
    CloseReason.NO_TLS: "see admin.tls.version.min and what versions and ciphers it has",
    CloseReason.SLOW_HANDSHAKE: "it did not come about within limits.handshake.ms; see whether the network is slow",
    CloseReason.TOO_MANY_HANDSHAKES: (
        "limits.handshakes.max programs have not got theirs yet; raise it if they are genuine"
    ),
}
"""Of those reasons that there are here; of others nobody needs to hear."""
Read = tuple[TlsContext, CertificateRoles]


class AdminDoor:
    """Shakes hands with programs (`admin.certificates.ShakeHands`)."""

    def __init__(self, tls: ClientTls, limits: Limits) -> None:
        """Raises TlsUnusable."""
        self._tls = tls
        context, self._roles = self._read()
        self._handshakes = Handshakes(context, limits)
        self._log = RateLimitedLog(LOG)

    def _read(self) -> Read:
        clients = self._tls.clients
        return client_context(self._tls), CertificateRoles() if clients is None else read_roles(clients)

    def _use(self, read: Read) -> None:
        context, self._roles = read
        self._handshakes.use(context)

    def files(self) -> CertificateFiles[Read]:
        """What is read again where it has changed."""
        paths = self._tls.paths() | ({self._tls.clients} if self._tls.clients is not None else set())
        return CertificateFiles("admin.tls", paths, self._read, self._use)

    def expiry(self) -> ExpiryWatch:
        """Says when its certificate is over."""
        return ExpiryWatch("admin.tls", self._tls.identity)

    async def shake(self, client: socket.socket, host: str) -> Shaken | None:
        """TLS on an accepted socket, which is taken over; None where it did not come about, and the log says why."""
        found = await self._handshakes.shake(client)
        if isinstance(found, Rejected):
            self._tell(found, host)
            return None
        subject = found.subject
        # By the lines that count when it asks: they may be read again while it is connected.
        tell_empty = partial(self._tell_empty, host)
        return Shaken(TlsStream(found, tell_empty), lambda: self._roles.certify(subject))

    def _tell_empty(self, host: str) -> None:
        told = "%s: a connection of a program at %s that asks the admin API was ended: %s; see who it is"
        code = CloseReason.EMPTY_RECORDS.code
        self._log.write(
            now_ms(), (code, host), Line(logging.WARNING, told, (code, host, ONLY_KEYS), LogFields(client_host=host))
        )

    def _tell(self, rejected: Rejected, host: str) -> None:
        why = WHY.get(rejected.reason)
        if why is None:
            return
        seen = f"; seen: {rejected.detail}" if rejected.detail else ""
        told = "EB-ADMIN-020: no TLS came about with a program at %s that asks the admin API: %s%s"
        line = Line(logging.WARNING, told, (host, why, seen), LogFields(client_host=host))
        self._log.write(now_ms(), (rejected.reason, host), line)


def make_door(settings: Settings) -> AdminDoor | None:
    """The one that is configured, None where the admin API speaks no TLS. Raises ConfigError."""
    tls = admin_tls(settings)
    if tls is None:
        return None
    limits = Limits(handshakes_max=settings.limits_handshakes_max, handshake_time_max_ms=settings.limits_handshake_ms)
    return AdminDoor(tls, limits)


def renewed(door: AdminDoor | None, interval_ms: int) -> Certificates:
    """Looks at the files of the admin API; at nothing where it has none."""
    if door is None:
        return Certificates((), interval_ms)
    return Certificates((door.files(),), interval_ms, (door.expiry(),))
