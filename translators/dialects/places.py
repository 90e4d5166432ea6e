"""Where a client comes from, as far as its address tells whose it is: what one may have is counted by that."""

from ipaddress import IPv6Address, ip_address, ip_network

NETWORK_BITS = 64
"""Of an IPv6 address tell whose it is; the others are its owner's to choose, who has 2 to the power of 64 of them."""


def place_of(host: str) -> str:
    """The address, of IPv6 its network; what is no address is a place of its own."""
    if ":" not in host:
        return host
    plain = host.partition("%")[0]
    try:
        address = ip_address(plain)
    except ValueError:
        return host
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        # A socket of both kinds shows one of IPv4 so.
        return str(address.ipv4_mapped)
    return str(ip_network((plain, NETWORK_BITS), strict=False))
