"""Brokers told apart by the host that a client asks for in TLS (SNI), so that one port serves all of them.

It must not know TLS: whoever does the handshake hands in the name.
"""

from dataclasses import dataclass

NODE_ID_MAX = 2**31 - 1
NODE_ID_DIGITS_MAX = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPattern:
    """How the hosts of brokers are called: the id stands between `prefix` and `suffix`."""

    prefix: str
    suffix: str
    port: int = 0
    """What clients are told; 0: the port that is listened at."""

    def host(self, node_id: int) -> str:
        """The host that stands for a broker."""
        return f"{self.prefix}{node_id}{self.suffix}"

    def node_id(self, host: str) -> int | None:
        """The broker that a host stands for, known or not; None where it stands for none."""
        if not host.startswith(self.prefix) or not host.endswith(self.suffix):
            return None
        digits = host[len(self.prefix) : len(host) - len(self.suffix)]
        if not (digits.isascii() and digits.isdecimal() and len(digits) <= NODE_ID_DIGITS_MAX):
            return None
        node_id = int(digits)
        # One name for a broker: certificates and figures know no b01.
        return node_id if str(node_id) == digits and node_id <= NODE_ID_MAX else None


class UnknownHost(Exception):
    """A client asks for a host that stands for nobody; `name` is None where it asks for none."""

    def __init__(self, name: str | None) -> None:
        super().__init__(name)
        self.name = name


@dataclass(frozen=True, slots=True, kw_only=True)
class HostNames:
    """The hosts of one proxy: that of its bootstrap, and those of its brokers."""

    bootstrap: str
    pattern: HostPattern

    def broker_id(self, name: str | None) -> int | None:
        """The broker that a client wants who asks for `name`, None for bootstrap. Raises UnknownHost.

        Hosts are the same in upper and lower case, and with the dot that ends them in DNS.
        """
        if name is None:
            raise UnknownHost(None)
        host = name.removesuffix(".").lower()
        if host == self.bootstrap.removesuffix(".").lower():
            return None
        node_id = self.pattern.node_id(host)
        if node_id is None:
            raise UnknownHost(name)
        return node_id
