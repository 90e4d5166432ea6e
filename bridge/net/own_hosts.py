"""Which hosts the certificate that clients are shown stands for, as clients find that out: by a handshake in memory.

Python's ssl tells nothing of certificates but by verifying them.
"""

import ssl
from collections.abc import Callable

from bridge.net.tls import ClientTls, TlsIdentity, client_context, own_certificate

_OTHER_HOST = frozenset({62, 64})
_WRONG_PURPOSE = 26
"""OpenSSL's numbers (X509_V_ERR_…)."""
_ROUNDS_MAX = 10
"""A handshake takes two or three."""


def why_refused(identity: TlsIdentity, host: str) -> str:
    """Why clients that ask for a host, and trust who signed it, refuse what they are shown; empty where they take it,
    or where that can't be found out. Raises TlsUnusable.
    """
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # Whoever signed it is trusted in its place.
    client.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        client.load_verify_locations(cadata=own_certificate(identity))
        _shake(client, client_context(ClientTls(identity=identity)), host)
    except ssl.SSLCertVerificationError as problem:
        if problem.verify_code in _OTHER_HOST:
            return f"names other hosts than {host!r}"
        # One that is over has a finding of its own.
        return (
            "is for clients, and not for servers (extended key usage)" if problem.verify_code == _WRONG_PURPOSE else ""
        )
    except (ssl.SSLError, ValueError):
        return ""
    return ""


def _shake(client: ssl.SSLContext, server: ssl.SSLContext, host: str) -> None:
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = (
        client.wrap_bio(to_client, to_server, server_hostname=host),
        server.wrap_bio(to_server, to_client, server_side=True),
    )
    for _ in range(_ROUNDS_MAX):
        if sum(_is_done(end.do_handshake) for end in ends) == len(ends):
            return


def _is_done(step: Callable[[], None]) -> bool:
    try:
        step()
    except ssl.SSLWantReadError:
        return False
    return True
