"""Measures group requests from their arrival to their answer, and counts those that wait.

It must not know what a request says, nor clocks; repeated heartbeats go by unmeasured.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from bridge.session.contracts import Groups
from bridge.telemetry.observing import Deliver
from bridge.wire.codec.registry import Reply, Request
from translators.dialects.classic import Heartbeat
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.ids import ClientIdentity, RequestRef, Via

BOUNDS_US = (100, 250, 500, 1_000, 2_500, 5_000, 10_000, 50_000, 100_000, 500_000, 1_000_000, 5_000_000, 60_000_000)
WAITING_MAX = 200_000


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


class TimedGroups:
    """The embedded groups, measured (`session.contracts.Groups`)."""

    def __init__(self, groups: Groups, times: RequestTimes, now_us: Callable[[], int]) -> None:
        self._groups = groups
        self._times = times
        self._now_us = now_us
        self.beat: Callable[[ClientIdentity, Heartbeat | ConsumerGroupHeartbeat], bool] = groups.beat
        """See `session.contracts.Groups`; at no cost."""

    def submit(self, ref: RequestRef, client: ClientIdentity, via: Via, request: Request) -> None:
        """See `session.contracts.Groups`."""
        self._times.asked(ref, type(request).__name__, self._now_us())
        self._groups.submit(ref, client, via, request)

    def disconnected(self, connection: int) -> None:
        """See `session.contracts.Groups`."""
        self._times.lost(connection)
        self._groups.disconnected(connection)


def time_answers(deliver: Deliver, times: RequestTimes, now_us: Callable[[], int]) -> Deliver:
    """Answers of embedded groups on their way to the clients, measured."""

    def deliver_timed(ref: RequestRef, reply: Reply) -> None:
        times.answered(ref, now_us())
        deliver(ref, reply)

    return deliver_timed
