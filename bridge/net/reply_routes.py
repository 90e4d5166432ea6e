"""Finds the connection of a reply, or of a `Via`; made before the proxy, so that those who answer can be, too."""

from collections.abc import Callable, Hashable
from typing import Protocol

from bridge.migration.route import Road
from bridge.session.client_session import ClientSession
from bridge.session.contracts import BrokerAccess, NoAccess
from bridge.session.counters import Counters
from bridge.session.outbox import Slot
from bridge.wire.codec.registry import Reply
from translators.dialects.ids import RequestRef, Via


class Known(Protocol):
    """What brokers say of the client of a connection, as far as others share it."""

    @property
    def principal(self) -> Hashable | None:
        """Whom its broker takes the client for; None: nobody here can say."""
        ...


class Deliverable(BrokerAccess, Protocol):
    """A connection as far as replies go."""

    session: ClientSession

    @property
    def rights(self) -> Known:
        """Who the client is to its broker."""
        ...

    def deliver(self, slot: Slot, road: Road, reply: Reply) -> None:
        """Put what was answered on a road into its slot."""
        ...


_NO_ACCESS = NoAccess()


class ReplyRoutes:
    """Connections by their number."""

    def __init__(self, counters: Counters, node: int = 0) -> None:
        self.deliver_elsewhere: Callable[[RequestRef, Reply, Road], None] = self._drop
        """Takes replies to connections of other nodes."""
        self._counters = counters
        self._node = node
        self._lines: dict[int, Deliverable] = {}

    def add(self, connection: int, line: Deliverable) -> None:
        """From now on replies to `connection` go to `line`."""
        self._lines[connection] = line

    def remove(self, connection: int) -> None:
        """The connection is gone; replies to it are dropped and counted."""
        self._lines.pop(connection, None)

    def access(self, via: Via) -> BrokerAccess:
        """The connection's own way to the broker; none where it is gone, or another node has it."""
        line = self._lines.get(via.connection) if via.node == self._node else None
        return _NO_ACCESS if line is None else line

    def principal_of(self, via: Via) -> Hashable | None:
        """Equal for connections whose clients their broker takes for the same one; None: nobody here can say."""
        line = self._lines.get(via.connection) if via.node == self._node else None
        return None if line is None else line.rights.principal

    def deliver(self, ref: RequestRef, reply: Reply, road: Road = Road.EMBEDDED) -> None:
        """Send what was answered on a road on its way; a reply that comes too late or twice is counted and dropped."""
        if ref.node != self._node:
            self.deliver_elsewhere(ref, reply, road)
            return
        line = self._lines.get(ref.connection)
        slot = None if line is None else line.session.outbox.find(ref)
        if line is None or slot is None or slot.answer is not None:
            self._counters.late_replies += 1
            return
        line.deliver(slot, road, reply)

    def _drop(self, ref: RequestRef, reply: Reply, road: Road) -> None:
        del ref, reply, road
        self._counters.late_replies += 1
