"""What connections count, as plain integers, and a frozen picture of it.

It must not know who asks or how it is shown.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bridge.session.close_reasons import CloseReason


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """All counters at one moment; `closed` has one entry per reason that occurred."""

    connections_open: int
    connections_accepted: int
    requests: int
    requests_relayed: int
    requests_answered: int
    bytes_from_clients: int
    bytes_to_clients: int
    late_replies: int
    bytes_held: int
    bytes_held_peak: int
    closed: Mapping[CloseReason, int]


@dataclass(slots=True)
class Counters:
    """Counters of one proxy, bumped where things happen.

    `bytes_held_peak` is the most that any single connection held.
    """

    connections_open: int = 0
    connections_accepted: int = 0
    requests: int = 0
    requests_relayed: int = 0
    requests_answered: int = 0
    bytes_from_clients: int = 0
    bytes_to_clients: int = 0
    late_replies: int = 0
    bytes_held_peak: int = 0
    closed: dict[CloseReason, int] = field(default_factory=dict)

    def count_close(self, reason: CloseReason) -> None:
        """One connection was closed for `reason`."""
        self.closed[reason] = self.closed.get(reason, 0) + 1

    def note_held(self, bytes_held: int) -> None:
        """A connection holds this much while it waits."""
        self.bytes_held_peak = max(self.bytes_held_peak, bytes_held)

    def picture(self, bytes_held: int) -> Statistics:
        """The counters as a value, with what is held in buffers at this moment."""
        return Statistics(
            connections_open=self.connections_open,
            connections_accepted=self.connections_accepted,
            requests=self.requests,
            requests_relayed=self.requests_relayed,
            requests_answered=self.requests_answered,
            bytes_from_clients=self.bytes_from_clients,
            bytes_to_clients=self.bytes_to_clients,
            late_replies=self.late_replies,
            bytes_held=bytes_held,
            bytes_held_peak=self.bytes_held_peak,
            closed=dict(self.closed),
        )
