"""Which brokers the cluster has, where they are, and which port or host of ours stands for each: always the same."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from bridge.wire.endpoints import Endpoint

# --------------------------------------------------------------------------------------- host names
# Brokers told apart by the host that a client asks for in TLS (SNI), so that one port serves all of them.
#
# Whoever does the handshake hands in the name.

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


# --------------------------------------------------------------------------------- broker addresses
# Whether a port is free is for the caller to find out.


class Address(NamedTuple):
    """Where somebody listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Advertised:
    """What clients are told: the host, and a port for each broker by its id."""

    host: str
    first_port: int
    """That of broker 0; broker N has the one N further on. 0: each gets any that is free."""
    ports: Mapping[int, int]
    """Ports by node id that are others than those."""
    pattern: HostPattern | None = None
    """Brokers have hosts by this pattern and share its port; None: they have ports and share the host."""


NO_PORT = 0
"""Told to clients for a broker whose port could not be had: nobody listens there, so they try again, as with a broker
that is down, and reach nobody else by it.
"""


BROKERS_MAX = 2_000
"""How many brokers are known at once: each has a listener, and an answer may name as many as it likes."""


class Directory:
    """Broker addresses as last heard, and our own address for each broker that has a listener."""

    def __init__(self, advertised: Advertised) -> None:
        self._advertised = advertised
        self._brokers: dict[int, Address] = {}
        self._ours: dict[int, Address] = {}
        self._ports: dict[int, int] = {}

    @property
    def brokers(self) -> Mapping[int, Address]:
        """Node id -> where the broker itself is."""
        return self._brokers

    @property
    def ours(self) -> Mapping[int, Address]:
        """Node id -> what clients are told instead, of brokers that are known."""
        return self._ours

    def learn(self, brokers: Iterable[Endpoint]) -> tuple[int, ...]:
        """Take in an answer's brokers; returns the ids that have no listener yet, lowest first.

        A broker whose address changed keeps its port. Negative ids (a coordinator that isn't there) are passed over,
        and so is who is one too many.
        """
        for broker in brokers:
            has_room = broker.node_id in self._brokers or len(self._brokers) < BROKERS_MAX
            if broker.node_id >= 0 and broker.host and has_room:
                self._brokers[broker.node_id] = Address(broker.host, broker.port)
                self._name(broker.node_id)
        return () if self._advertised.pattern is not None else tuple(sorted(self._brokers.keys() - self._ports.keys()))

    def left_out(self, brokers: Iterable[Endpoint]) -> int:
        """How many of these brokers are not known, because there are too many."""
        return sum(1 for one in brokers if one.node_id >= 0 and one.host and one.node_id not in self._brokers)

    def is_settled(self, brokers: Iterable[Endpoint]) -> bool:
        """Whether these brokers are known at these addresses and have their listeners."""
        known, placed = self._brokers, self._ports if self._advertised.pattern is None else self._ours
        return all(
            broker.node_id < 0
            or not broker.host
            or (broker.node_id in placed and known.get(broker.node_id) == (broker.host, broker.port))
            for broker in brokers
        )

    def port(self, node_id: int) -> int:
        """The port of a broker's listener, whether the broker is known or not: the one given for it, else by its id."""
        given = self._advertised.ports.get(node_id)
        if given is not None:
            return given
        return self._advertised.first_port and self._advertised.first_port + node_id

    def settle(self, node_id: int, port: int) -> None:
        """The broker's listener is open on `port`; clients are told so once the broker is known."""
        self._ports[node_id] = port
        self._name(node_id)

    def pass_over(self, node_id: int) -> None:
        """The broker's port could not be had: others are reached all the same."""
        self._ours[node_id] = Address(self._advertised.host, NO_PORT)

    def _name(self, node_id: int) -> None:
        pattern = self._advertised.pattern
        if pattern is not None:
            self._ours[node_id] = Address(pattern.host(node_id), pattern.port)
        elif node_id in self._brokers and node_id in self._ports:
            self._ours[node_id] = Address(self._advertised.host, self._ports[node_id])
