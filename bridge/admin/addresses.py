"""Addresses of the admin API: how HOST:PORT is read and shown, and whether a host is this machine alone."""

import ipaddress

from bridge.admin.contracts import AdminError
from translators.dialects.counts import read_count

PORT_MAX = 65_535


def parse_address(address: str) -> tuple[str, int]:
    """Host and port of `HOST:PORT`, with `[…]` around an IPv6 host; raises AdminError (EB-ADMIN-002)."""
    host, colon, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    number = read_count(port, PORT_MAX)
    if not colon or not host or number is None:
        raise AdminError(
            "EB-ADMIN-002", f"admin.listen is {address!r}, which is not HOST:PORT; give 127.0.0.1:9190, or off for none"
        )
    return host, number


def show_address(host: str, port: int) -> str:
    """`HOST:PORT`, with `[…]` around an IPv6 host."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def is_loopback(host: str) -> bool:
    """Whether a host, by name or address, is this machine alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
