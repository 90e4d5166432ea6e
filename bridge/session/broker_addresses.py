"""Which brokers the cluster has, where they are, and which port of ours stands for each; ports once given are kept.

It must not know sockets: whether a port is free is for the caller to find out.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from bridge.wire.endpoints import Endpoint


class Address(NamedTuple):
    """Where somebody listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Advertised:
    """What clients are told: the host, and ports by node id where they are fixed; others are counted up."""

    host: str
    first_port: int
    ports: Mapping[int, int]


class Directory:
    """Broker addresses as last heard, and our own address for each broker that has a listener."""

    def __init__(self, advertised: Advertised) -> None:
        self._advertised = advertised
        self._brokers: dict[int, Address] = {}
        self._ours: dict[int, Address] = {}
        self._next_port = advertised.first_port

    @property
    def brokers(self) -> Mapping[int, Address]:
        """Node id -> where the broker itself is."""
        return self._brokers

    @property
    def ours(self) -> Mapping[int, Address]:
        """Node id -> what clients are told instead."""
        return self._ours

    def learn(self, brokers: Iterable[Endpoint]) -> tuple[int, ...]:
        """Take in an answer's brokers; returns the ids that have no listener yet, lowest first.

        A broker whose address changed keeps its port. Negative ids (a coordinator that isn't there) are passed over.
        """
        for broker in brokers:
            if broker.node_id >= 0 and broker.host:
                self._brokers[broker.node_id] = Address(broker.host, broker.port)
        return tuple(sorted(self._brokers.keys() - self._ours.keys()))

    def is_settled(self, brokers: Iterable[Endpoint]) -> bool:
        """Whether these brokers are known at these addresses and have their listeners."""
        known, ours = self._brokers, self._ours
        return all(
            broker.node_id < 0
            or not broker.host
            or (broker.node_id in ours and known[broker.node_id] == (broker.host, broker.port))
            for broker in brokers
        )

    def port_to_try(self, node_id: int) -> int:
        """The port for a broker's listener: the configured one, else the next in the count (0 counts as any)."""
        fixed = self._advertised.ports.get(node_id)
        if fixed is not None:
            return fixed
        port = self._next_port
        if port:
            self._next_port += 1
        return port

    def is_fixed(self, node_id: int) -> bool:
        """Whether a broker's port was configured, so that no other may be taken."""
        return node_id in self._advertised.ports

    def settle(self, node_id: int, port: int) -> None:
        """The broker's listener is open on `port`."""
        self._ours[node_id] = Address(self._advertised.host, port)
