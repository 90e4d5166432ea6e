"""What load balancers say in front of a connection (PROXY protocol), heard without taking a byte behind it.

What follows is for whoever serves the connection.
"""

import socket
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

import trio

from bridge.session.close_reasons import CloseReason
from bridge.session.requests import Rejected
from bridge.wire.proxy_protocol import (
    LOCAL_HEADER,
    PREFIX_BYTES,
    SIGNATURE,
    MalformedHeader,
    Peer,
    Route,
    header,
    read_prefix,
    read_route,
)


class Origin(NamedTuple):
    """Where a client comes from."""

    host: str
    """For logs, limits and members' hosts."""
    announcement: bytes = b""
    """What brokers are told in front of its connections to them; nothing where they take no such word."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What a balancer said: whom it brings, None where that is itself, or nothing was said where nothing had to be."""

    route: Route | None
    is_said: bool = True
    """Whether there was a header at all."""

    def whom_to_count(self, host: str) -> str | None:
        """Whose new connection this is, at `host` or behind it; None for the balancer's own, of which none count."""
        if self.route is not None:
            return self.route.source.host
        return None if self.is_said else host


async def hear(client: socket.socket, time_max_s: float, *, is_required: bool) -> Heard | Rejected:
    """Read what is said in front of this connection, and nothing behind it; the socket is the caller's.

    A first byte that begins no header is left where it is unless one is required: those of Kafka's requests and of TLS
    are others.
    """
    client.setblocking(False)
    with trio.move_on_after(time_max_s):
        try:
            return await _hear(client, is_required=is_required)
        except MalformedHeader as malformed:
            return Rejected(CloseReason.BAD_ANNOUNCEMENT, str(malformed))
        except _Ended as ended:
            return Rejected(CloseReason.CLIENT_GONE, str(ended))
    return Rejected(CloseReason.SLOW_ANNOUNCEMENT, "")


class _Ended(Exception):
    """The connection ended before everything was said."""


async def _hear(client: socket.socket, *, is_required: bool) -> Heard:
    first = await _receive(client, 1, socket.MSG_PEEK)
    if not is_required and not SIGNATURE.startswith(first):
        return Heard(None, is_said=False)
    data = b""
    # Byte by byte as far as the bytes are right: who sends something else may send less than a header.
    while len(data) < PREFIX_BYTES:
        data += await _receive(client, PREFIX_BYTES - len(data))
        if not data.startswith(SIGNATURE[: len(data)]) and len(data) < PREFIX_BYTES:
            break
    prefix = read_prefix(data)
    rest = b""
    while len(rest) < prefix.rest_bytes:
        rest += await _receive(client, prefix.rest_bytes - len(rest))
    return Heard(read_route(prefix, rest))


async def _receive(client: socket.socket, count: int, flags: int = 0) -> bytes:
    """At least one byte, at most so many."""
    while True:
        await trio.lowlevel.wait_readable(client)
        try:
            data = client.recv(count, flags)
        except BlockingIOError:
            continue
        except OSError as error:
            raise _Ended(str(error)) from error
        if not data:
            raise _Ended("before it said whom it brings")
        return data


def announce(client: socket.socket, heard: Route | None) -> bytes:
    """What brokers are told of this client: where it was heard to come from, else where its connection does."""
    if heard is not None:
        return header(heard)
    with suppress(OSError, ValueError):
        return header(Route(_peer(client.getpeername()), _peer(client.getsockname())))
    # The client has gone already, and its socket has no names any more.
    return LOCAL_HEADER


def _peer(name: tuple[str, int]) -> Peer:
    host, port, *_ = name
    return Peer(host, port)
