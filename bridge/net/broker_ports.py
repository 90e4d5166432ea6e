"""A port for each broker: opened where it belongs or not at all, and tried again where it could not be had."""

import logging
import socket
from collections.abc import Callable, Iterable

from bridge.log_lines import Line, RateLimitedLog
from bridge.net.clock import now_ms
from bridge.net.listener import CannotListen, bound_port, listen
from bridge.net.shared import LOG
from bridge.session.broker_addresses import Address, Directory
from bridge.session.counters import Counters


class NoBrokerPort(CannotListen):
    """The port that stands for a broker can't be had; no other is taken in its place, as clients keep to ports.

    At the start that ends the bridge. For a broker that comes later it is said and tried again with every answer that
    names the broker; until then clients are told port 0 for it, where nobody listens.
    """

    code = "EB-NET-150"


class BrokerPorts:
    """The listeners of one proxy that stand for brokers; `accept` gets each with its broker's id."""

    def __init__(
        self,
        directory: Directory,
        host: str,
        accept: Callable[[socket.socket, int], None],
        counters: Counters,
        log: RateLimitedLog,
    ) -> None:
        self._directory = directory
        self._host = host
        self._accept = accept
        self._counters = counters
        self._log = log
        self._faults: dict[int, NoBrokerPort] = {}
        self._ours: dict[int, str] = {}

    def begin(self, bootstrap_port: int, node_ids: Iterable[int]) -> None:
        """Open those that are given, whether their brokers are known or not."""
        self._ours[bootstrap_port] = "bootstrap (listen)"
        for node_id in sorted(node_ids):
            self.open(node_id)

    def open(self, node_id: int) -> bool:
        """Open the listener that stands for a broker; False where its port can't be had, which is told."""
        wanted = self._directory.port(node_id)
        try:
            sock = listen(Address(self._host, wanted))
        except CannotListen as error:
            self._note(node_id, NoBrokerPort(self._explain(node_id, wanted, error)))
            return False
        if self._faults.pop(node_id, None) is not None:
            self._counters.brokers_without_port = len(self._faults)
        port = bound_port(sock)
        self._ours[port] = f"broker {node_id}"
        self._directory.settle(node_id, port)
        LOG.info(
            "broker %d at %s is reached by port %d",
            *(node_id, self._directory.brokers.get(node_id, "an address not known yet"), port),
        )
        self._accept(sock, node_id)
        return True

    def require_all(self) -> None:
        """Raises NoBrokerPort where a port could not be had so far."""
        for _, fault in sorted(self._faults.items()):
            raise fault

    def _note(self, node_id: int, fault: NoBrokerPort) -> None:
        self._faults[node_id] = fault
        self._counters.brokers_without_port = len(self._faults)
        self._directory.pass_over(node_id)
        told = "%s; it is tried again, and other brokers are served"
        self._log.write(now_ms(), (NoBrokerPort, node_id), Line(logging.ERROR, told, (fault,)))

    def _explain(self, node_id: int, port: int, error: CannotListen) -> str:
        holder = self._ours.get(port)
        why = str(error).removeprefix(f"{error.code}: ")
        if holder is not None:
            why = f"port {port}, which is its own, is that of {holder} in this bridge"
        return (
            f"{NoBrokerPort.code}: broker {node_id} can't be reached by clients: {why}; or give this broker another "
            f"port: listen.ports: [{node_id}=PORT]"
        )
