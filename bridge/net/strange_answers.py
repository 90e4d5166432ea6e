"""What answers, or does not, where a broker was looked for: in a sentence with the likely cause and the next step.

It is given what was raised or what came.
"""

import errno
import socket

from bridge.net.descriptors import causes

_BEGINNINGS = {
    b"HTTP": "an HTTP server",
    b"<htm": "an HTTP server",
    b"<HTM": "an HTTP server",
    b"<!DO": "an HTTP server",
    b"SSH-": "an SSH server",
    b"220 ": "a mail or FTP server",
    b"-ERR": "a Redis server",
}
"""The first bytes of what may listen where a broker was meant, all of them a length beyond any answer's."""
_WAYS = {
    errno.ECONNREFUSED: "nobody listens there: start the broker, or correct host and port",
    errno.ENETUNREACH: "no network leads there: correct the host, or see routes and firewalls",
    errno.EHOSTUNREACH: "no network leads there: correct the host, or see routes and firewalls",
}


def explain_start(start: bytes, bytes_max: int) -> str:
    """What the first bytes of an answer say that can't be its length."""
    kind = _BEGINNINGS.get(start)
    if kind is not None:
        return f"EB-NET-200: what answers is {kind} (it begins with {start!r}); name a listener of a Kafka broker"
    size = int.from_bytes(start, "big", signed=True)
    return (
        f"EB-NET-200: an answer of {size} bytes was announced, at most {bytes_max} are read; most likely no Kafka "
        "broker listens there: name a listener of one"
    )


def explain_silence(seconds: float) -> str:
    """A connection was taken, and nothing came."""
    return (
        f"EB-NET-201: a connection was taken, and nothing answered within {seconds:g} s; the broker hangs, or "
        "something else listens there that waits for other words (TLS: see upstream.tls)"
    )


def explain_end(told: str, *, is_asked_for_login: bool) -> str:
    """A connection was taken and ended; whoever comes without a login has asked whether one is wanted, too."""
    asked = ", and no login is wanted there either" if is_asked_for_login else ""
    return (
        f"EB-NET-202: {told}{asked}; most likely no Kafka broker listens there, or none is left behind a balancer: "
        "name a listener of one"
    )


def why_no_way(error: BaseException) -> str:
    """Why no connection came about, in words instead of a count of tries."""
    for one in causes(error):
        if isinstance(one, socket.gaierror):
            return "no such host is known: correct the name, or see the resolver of this machine"
        if isinstance(one, OSError) and one.errno in _WAYS:
            return _WAYS[one.errno]
    return str(error)
