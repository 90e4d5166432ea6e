"""Measures group requests from their arrival to their answer, and counts those that wait.

Repeated heartbeats go by unmeasured.
"""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field

from translators.dialects.ids import RequestRef

BOUNDS_US = (100, 250, 500, 1_000, 2_500, 5_000, 10_000, 50_000, 100_000, 500_000, 1_000_000, 5_000_000, 60_000_000)
WAITING_MAX = 200_000
"""Further requests go unmeasured while so many are open."""


@dataclass(slots=True)
class Tally:
    """Requests of one api: how many took at most as long as each bound, the rest last, and all their time."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS_US) + 1))
    total_us: int = 0


class RequestTimes:
    """Every group request that is here, and what those that are answered took."""

    def __init__(self) -> None:
        self._tallies: dict[str, Tally] = {}
        self._waiting: dict[int, dict[RequestRef, tuple[str, int]]] = {}
        self._held = 0

    @property
    def held(self) -> int:
        """Requests that wait for their answer."""
        return self._held

    @property
    def tallies(self) -> Mapping[str, Tally]:
        """What was measured, by api."""
        return self._tallies

    def asked(self, ref: RequestRef, api: str, at_us: int) -> None:
        """A request came; beyond a limit it goes unmeasured."""
        if self._held < WAITING_MAX:
            waiting = self._waiting.setdefault(ref.connection, {})
            self._held += ref not in waiting
            waiting[ref] = (api, at_us)

    def answered(self, ref: RequestRef, at_us: int) -> None:
        """It was answered."""
        waiting = self._waiting.get(ref.connection)
        found = None if waiting is None else waiting.pop(ref, None)
        if waiting is None or found is None:
            return
        if not waiting:
            del self._waiting[ref.connection]
        self._held -= 1
        api, since_us = found
        tally = self._tallies.get(api)
        if tally is None:
            tally = self._tallies[api] = Tally()
        took_us = at_us - since_us
        tally.counts[bisect_left(BOUNDS_US, took_us)] += 1
        tally.total_us += took_us

    def lost(self, connection: int) -> None:
        """A connection is gone, and with it the answers that were to come."""
        self._held -= len(self._waiting.pop(connection, ()))
