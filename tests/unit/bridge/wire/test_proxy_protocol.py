"""Headers of the PROXY protocol, version 2: what is written is read, and what is wrong is told in a sentence."""

import ipaddress
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.wire.proxy_protocol import (
    LOCAL_HEADER,
    PREFIX_BYTES,
    REST_BYTES_MAX,
    SIGNATURE,
    MalformedHeader,
    Peer,
    Route,
    header,
    read_prefix,
    read_route,
)

PORTS = st.integers(0, 65_535)
IPV4 = st.builds(Peer, st.ip_addresses(v=4).map(str), PORTS)
IPV6 = st.builds(
    Peer, st.ip_addresses(v=6).filter(lambda one: getattr(one, "ipv4_mapped", None) is None).map(str), PORTS
)
BY_HAPROXY = bytes.fromhex("0d0a0d0a000d0a515549540a 21 11 000c 0a000001 c0a80002 8ca0 2384")
"""As version 2.6 sends it for 10.0.0.1:36000 that came to 192.168.0.2:9092."""


def read(data: bytes) -> Route | None:
    """A whole header."""
    prefix = read_prefix(data[:PREFIX_BYTES])
    assert len(data) == PREFIX_BYTES + prefix.rest_bytes
    return read_route(prefix, data[PREFIX_BYTES:])


@given(st.one_of(st.tuples(IPV4, IPV4), st.tuples(IPV6, IPV6), st.tuples(IPV4, IPV6), st.tuples(IPV6, IPV4)))
def test_what_is_written_is_read(ends: tuple[Peer, Peer]) -> None:
    """Of both kinds, and where the ends are of two: hosts are then the same inside IPv6."""
    assert read(header(Route(*ends))) == Route(*ends)


def test_header_is_the_one_that_haproxy_sends() -> None:
    """Byte for byte."""
    route = Route(Peer("10.0.0.1", 36_000), Peer("192.168.0.2", 9092))
    assert read(BY_HAPROXY) == route
    assert header(route) == BY_HAPROXY


def test_hosts_of_sockets_of_both_kinds_are_plain() -> None:
    """IPv4 inside IPv6 is IPv4, and a scope is left out."""
    route = Route(Peer("::ffff:10.0.0.1", 1), Peer("::ffff:10.0.0.2", 2))
    assert read(header(route)) == Route(Peer("10.0.0.1", 1), Peer("10.0.0.2", 2))
    assert read(header(Route(Peer("fe80::1%eth0", 1), Peer("fe80::2", 2)))) == Route(
        Peer("fe80::1", 1), Peer("fe80::2", 2)
    )


def test_balancer_may_bring_nobody() -> None:
    """Its own look (LOCAL), whatever follows, and what it does not know (UNSPEC)."""
    assert read(LOCAL_HEADER) is None
    assert read(SIGNATURE + b"\x20\x11\x00\x03abc") is None
    assert read(SIGNATURE + b"\x21\x00\x00\x00") is None
    assert read(SIGNATURE + b"\x21\x00\x00\x02zz") is None


def test_fields_behind_the_addresses_are_passed_over() -> None:
    """ALPN, a checksum, what clouds tell; an empty one, too."""
    fields = b"\x01\x00\x02h2" + b"\x03\x00\x04\x00\x00\x00\x00" + b"\xea\x00\x00"
    rest = BY_HAPROXY[PREFIX_BYTES:] + fields
    assert read(BY_HAPROXY[:14] + len(rest).to_bytes(2, "big") + rest) == read(BY_HAPROXY)


@pytest.mark.parametrize(
    ("data", "seen"),
    [
        (b"", "no header: nothing"),
        (b"PROXY TCP4 10.0.", "a header of version 1"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\x00\x00\x00\x00\x00", "no header: 16 03 01"),
        (SIGNATURE + b"\x21\x11", "no header: 0d 0a"),
        (SIGNATURE + b"\x11\x11\x00\x0c", "version 1"),
        (SIGNATURE + b"\x22\x11\x00\x0c", "command 2"),
        (SIGNATURE + b"\x21\x11\xff\xff", "65535 bytes"),
    ],
)
def test_what_is_no_header_is_told(data: bytes, seen: str) -> None:
    """With what was seen."""
    with pytest.raises(MalformedHeader, match=seen):
        read_prefix(data)


@pytest.mark.parametrize(
    ("kind", "rest", "seen"),
    [
        (0x11, b"short", "5 bytes of addresses, not 12"),
        (0x21, bytes(12), "12 bytes of addresses, not 36"),
        (0x12, bytes(12), "UDP over IPv4"),
        (0x31, bytes(216), "a Unix socket"),
        (0x41, bytes(36), "kind 0x41"),
        (0x11, bytes(12) + b"\x01\x00", "a field of type 0x01"),
        (0x11, bytes(12) + b"\xea\x00\x04abc", "a field of type 0xea"),
    ],
)
def test_addresses_that_can_t_be_read_are_told(kind: int, rest: bytes, seen: str) -> None:
    """Also where the fields behind them go beyond the end."""
    with pytest.raises(MalformedHeader, match=seen):
        read(SIGNATURE + bytes((0x21, kind)) + len(rest).to_bytes(2, "big") + rest)


@given(st.binary(max_size=80), st.booleans())
def test_any_bytes_are_read_or_told_and_nothing_else(data: bytes, begins_well: bool) -> None:
    """No other exception, no more bytes wanted than the limit."""
    data = SIGNATURE + data if begins_well else data
    with suppress(MalformedHeader):
        prefix = read_prefix(data[:PREFIX_BYTES])
        assert prefix.rest_bytes <= REST_BYTES_MAX
        route = read_route(prefix, data[PREFIX_BYTES:])
        assert route is None or str(ipaddress.ip_address(route.source.host)) == route.source.host
