"""Who logs in at the bridge itself, out of the configuration, and the lines of the file that says it."""

from collections.abc import Iterator
from pathlib import Path
from secrets import token_bytes

from bridge.config.faults import FaultCode, error_of
from bridge.config.keys import Settings
from bridge.net.kept_logins import KeptLogins, read_users
from bridge.net.tls import TlsUnusable
from bridge.session.kept_users import user_line
from bridge.wire.sasl import Mechanism
from bridge.wire.scram import make_keys

MECHANISMS, CLIENTS, SESSION = "listen.sasl.mechanisms", "listen.sasl.clients.path", "listen.sasl.session.ms"
TAKEN = (Mechanism.PLAIN, Mechanism.SCRAM_SHA_256, Mechanism.SCRAM_SHA_512)
SALT_BYTES = 24
ITERATIONS = 8_192
"""Kafka's own tool makes 4,096 unless told otherwise; PLAIN has them made at each login."""


def read_kept_logins(settings: Settings) -> KeptLogins | None:
    """Whom the bridge lets in, None where that is for brokers. Raises ConfigError for what is missing, is read by
    nothing, can't be read now, or can't go together.
    """
    if not settings.listen_sasl_mechanisms:
        for key, value in ((CLIENTS, settings.listen_sasl_clients_path), (SESSION, settings.listen_sasl_session_ms)):
            if value:
                seen = f"{value!r} is given, and nothing reads it"
                raise error_of(key, seen, f"{MECHANISMS} beside it", FaultCode.CONTRADICTION)
        return None
    strange = [name for name in settings.listen_sasl_mechanisms if name not in TAKEN]
    if strange:
        raise error_of(MECHANISMS, f"{strange[0]!r} is none of them", ", ".join(TAKEN), FaultCode.WRONG_KIND)
    if settings.upstream_sasl_mechanism != "off":
        seen = "upstream.sasl.mechanism is given, too, so the cluster has logins of its own"
        raise error_of(
            MECHANISMS, seen, "nothing: clients log in at brokers, through the bridge", FaultCode.CONTRADICTION
        )
    if settings.listen_tls_clients_path:
        seen = "listen.tls.clients.path is given, too, by which the bridge logs in at brokers for clients"
        raise error_of(MECHANISMS, seen, "one of both", FaultCode.CONTRADICTION)
    if not settings.listen_sasl_clients_path:
        raise error_of(CLIENTS, "nothing is given", "the file of those who may log in", FaultCode.MISSING)
    path = Path(settings.listen_sasl_clients_path)
    try:
        read_users(path)
    except TlsUnusable as problem:
        raise error_of(CLIENTS, problem.seen, problem.allowed, FaultCode.WRONG_KIND) from None
    mechanisms = tuple(Mechanism(name) for name in settings.listen_sasl_mechanisms)
    return KeptLogins(path, mechanisms, settings.listen_sasl_session_ms)


def make_lines(name: str, password: str) -> Iterator[str]:
    """A user's lines for the file, one for each mechanism of SCRAM; either is enough for PLAIN."""
    for mechanism in (Mechanism.SCRAM_SHA_256, Mechanism.SCRAM_SHA_512):
        yield user_line(name, make_keys(mechanism, password, token_bytes(SALT_BYTES), ITERATIONS))
