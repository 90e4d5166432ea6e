"""Whose word on where a client comes from is taken."""

import ipaddress
from dataclasses import dataclass

from bridge.wire.proxy_protocol import plain_address

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True, slots=True, kw_only=True)
class Balancers:
    """Load balancers that say whom they bring, by their own addresses."""

    networks: tuple[Network, ...]
    is_required: bool
    """Nobody may come in another way, and none of them without a word; else both may."""

    def trusts(self, host: str) -> bool:
        """Whether somebody who connects from this address is one of them."""
        address = plain_address(ipaddress.ip_address(host.partition("%")[0]))
        return any(address in network for network in self.networks)
