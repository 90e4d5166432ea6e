"""Finds the connection of a reply; made before the proxy, so that those who answer can be made before it too.

It must not know sockets or groups.
"""

from typing import Protocol

from bridge.session.client_session import ClientSession
from bridge.session.counters import Counters
from bridge.session.outbox import Slot
from bridge.wire.codec.registry import Reply
from translators.dialects.ids import RequestRef


class Deliverable(Protocol):
    """A connection as far as replies go."""

    session: ClientSession

    def deliver(self, slot: Slot, reply: Reply) -> None:
        """Put a reply into its slot."""
        ...


class Switchboard:
    """Connections by their number."""

    def __init__(self, counters: Counters) -> None:
        self._counters = counters
        self._lines: dict[int, Deliverable] = {}

    def plug(self, connection: int, line: Deliverable) -> None:
        """From now on replies to `connection` go to `line`."""
        self._lines[connection] = line

    def unplug(self, connection: int) -> None:
        """The connection is gone; replies to it are dropped and counted."""
        self._lines.pop(connection, None)

    def deliver(self, ref: RequestRef, reply: Reply) -> None:
        """Send a reply on its way; one that comes too late or twice is counted and dropped."""
        line = self._lines.get(ref.connection)
        slot = None if line is None else line.session.outbox.find(ref)
        if line is None or slot is None or slot.answer is not None:
            self._counters.late_replies += 1
            return
        line.deliver(slot, reply)
