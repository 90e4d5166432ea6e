"""The PROXY protocol's version 2: how a load balancer says in front of a connection whom it brings, read and written.

Specified by HAProxy (proxy-protocol.txt). Pure; whoever has the socket hands in as many bytes as are asked for.
"""

import ipaddress
from dataclasses import dataclass
from typing import NamedTuple

SIGNATURE = b"\r\n\r\n\x00\r\nQUIT\n"
PREFIX_BYTES = 16
REST_BYTES_MAX = 4_096
"""The most that is read behind the prefix: addresses have 36 bytes, what else balancers tell (type, length, value) some
hundred."""
VERSION_1 = b"PROXY "
_VERSION_2 = 0x20
_LOCAL, _PROXY = 0x0, 0x1
_COMMANDS = frozenset({_LOCAL, _PROXY})
_UNSPECIFIED = 0x00
_TCP4, _TCP6 = 0x11, 0x21
_KINDS = {_TCP4: 4, _TCP6: 16}
"""Bytes of an address by the byte of family and transport."""
_KIND_NAMES = {0x12: "UDP over IPv4", 0x22: "UDP over IPv6", 0x31: "a Unix socket", 0x32: "a Unix datagram"}
_PORT_BYTES = 2
_FIELD_PREFIX_BYTES = 3


class MalformedHeader(Exception):
    """Bytes that are no header of version 2; says what was seen."""


class Peer(NamedTuple):
    """One end of a connection; the host is an address."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Route:
    """Who connected to the balancer, and where."""

    source: Peer
    destination: Peer


@dataclass(frozen=True, slots=True)
class Prefix:
    """What the first bytes say: whether a client is brought, by what, and how many bytes follow."""

    is_local: bool
    kind: int
    rest_bytes: int


def read_prefix(data: bytes) -> Prefix:
    """The first PREFIX_BYTES of a header. Raises MalformedHeader."""
    if data.startswith(VERSION_1):
        raise MalformedHeader("a header of version 1 (text)")
    if not data.startswith(SIGNATURE) or len(data) < PREFIX_BYTES:
        raise MalformedHeader(f"no header: {data[:PREFIX_BYTES].hex(' ') or 'nothing'}")
    version, command = data[12] & 0xF0, data[12] & 0x0F
    if version != _VERSION_2:
        raise MalformedHeader(f"version {version >> 4}")
    if command not in _COMMANDS:
        raise MalformedHeader(f"command {command}, which is neither LOCAL nor PROXY")
    rest_bytes = int.from_bytes(data[14:PREFIX_BYTES], "big")
    if rest_bytes > REST_BYTES_MAX:
        raise MalformedHeader(f"{rest_bytes} bytes behind the first {PREFIX_BYTES}, of which {REST_BYTES_MAX} are read")
    return Prefix(is_local=command == _LOCAL, kind=data[13], rest_bytes=rest_bytes)


def read_route(prefix: Prefix, rest: bytes) -> Route | None:
    """Whom the balancer brings, None where it brings nobody (its own look) or does not know. Raises MalformedHeader.

    `rest` are the `rest_bytes` behind the prefix. What else it tells is passed over, once it is whole.
    """
    if prefix.is_local:
        return None
    if prefix.kind == _UNSPECIFIED:
        return None
    address_bytes = _KINDS.get(prefix.kind)
    if address_bytes is None:
        raise MalformedHeader(f"addresses of {_KIND_NAMES.get(prefix.kind, f'kind 0x{prefix.kind:02x}')}, not of TCP")
    ports = 2 * address_bytes
    end = ports + 2 * _PORT_BYTES
    if len(rest) < end:
        raise MalformedHeader(f"{len(rest)} bytes of addresses, not {end}")
    _pass_over_fields(rest[end:])
    return Route(
        source=Peer(_host(rest[:address_bytes]), int.from_bytes(rest[ports : ports + _PORT_BYTES], "big")),
        destination=Peer(_host(rest[address_bytes:ports]), int.from_bytes(rest[ports + _PORT_BYTES : end], "big")),
    )


def _pass_over_fields(data: bytes) -> None:
    """Type, length and value, one after the other to the end."""
    position = 0
    while position < len(data):
        value = position + _FIELD_PREFIX_BYTES
        end = value + int.from_bytes(data[position + 1 : value], "big")
        if value > len(data) or end > len(data):
            raise MalformedHeader(f"a field of type 0x{data[position]:02x} that goes beyond the header's end")
        position = end


def _host(packed: bytes) -> str:
    """An address as text; IPv4 inside IPv6 is IPv4."""
    return str(plain_address(ipaddress.ip_address(packed)))


def plain_address(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """The same address, without the IPv6 around IPv4 that sockets of both kinds show."""
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


LOCAL_HEADER = SIGNATURE + bytes((_VERSION_2 | _LOCAL, _UNSPECIFIED, 0, 0))
"""For connections that bring nobody."""


def header(route: Route) -> bytes:
    """What to say in front of a connection that brings somebody; both ends of one kind, IPv6 where one of them is."""
    ends = [ipaddress.ip_address(peer.host.partition("%")[0]) for peer in (route.source, route.destination)]
    plain = [plain_address(end) for end in ends]
    is_ipv4 = all(isinstance(end, ipaddress.IPv4Address) for end in plain)
    packed = b"".join(end.packed if is_ipv4 else _in_ipv6(end) for end in plain)
    ports = b"".join(peer.port.to_bytes(_PORT_BYTES, "big") for peer in (route.source, route.destination))
    rest = packed + ports
    kind = _TCP4 if is_ipv4 else _TCP6
    return SIGNATURE + bytes((_VERSION_2 | _PROXY, kind)) + len(rest).to_bytes(2, "big") + rest


def _in_ipv6(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bytes:
    if isinstance(address, ipaddress.IPv6Address):
        return address.packed
    return bytes(10) + b"\xff\xff" + address.packed
