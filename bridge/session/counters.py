"""What connections count, as plain integers, and a frozen picture of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from bridge.migration.route import Road
from bridge.session.close_reasons import CloseReason
from bridge.session.fatal_answers import Ended
from bridge.wire.apis import ApiKey
from translators.dialects.errors import ErrorCode


@dataclass(frozen=True, slots=True)
class ApiFigures:
    """One api at one moment: requests that came, those that went on to a broker, and how long they were inside."""

    requests: int
    passed: int
    inside_ns: int


@dataclass(slots=True)
class ApiCount:
    """The same while it is counted."""

    requests: int = 0
    passed: int = 0
    inside_ns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """All counters at one moment; `closed` has one entry per reason that occurred, `apis` one per api key."""

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
    apis: Mapping[int, ApiFigures] = field(default_factory=dict)
    brokers_without_port: int = 0
    endings: Mapping[tuple[Road, int, ErrorCode], int] = field(default_factory=dict)


@dataclass(slots=True)
class Counters:
    """Counters of one proxy, bumped where things happen.

    `bytes_held_peak` is the most that any single connection held; `beats` are heartbeats, and
    `native_beats` ConsumerGroupHeartbeats, that were answered as the last one was: they are counted here and nowhere
    else.
    """

    connections_open: int = 0
    connections_accepted: int = 0
    requests: int = 0
    beats: int = 0
    native_beats: int = 0
    requests_relayed: int = 0
    requests_answered: int = 0
    bytes_from_clients: int = 0
    bytes_to_clients: int = 0
    late_replies: int = 0
    bytes_held_peak: int = 0
    brokers_without_port: int = 0
    """Brokers that clients can't reach, for their port could not be had."""
    closed: dict[CloseReason, int] = field(default_factory=dict)
    apis: dict[int, ApiCount] = field(default_factory=dict)
    endings: dict[tuple[Road, int, ErrorCode], int] = field(default_factory=dict)
    """Answers that ended a client, by road, api and code."""

    def count_request(self, api_key: int) -> None:
        """A request came whose header was read."""
        self.requests += 1
        count = self.apis.get(api_key)
        if count is None:
            count = self.apis.setdefault(api_key, ApiCount())
        count.requests += 1

    def count_passed(self, api_key: int, inside_ns: int) -> None:
        """A request, counted before, goes on to a broker after so long."""
        count = self.apis[api_key]
        count.passed += 1
        count.inside_ns += inside_ns

    def count_close(self, reason: CloseReason) -> None:
        """One connection was closed for `reason`."""
        self.closed[reason] = self.closed.get(reason, 0) + 1

    def count_ending(self, ended: Ended) -> None:
        """A client was told what it does not live through."""
        key = ended.road, ended.api_key, ended.code
        self.endings[key] = self.endings.get(key, 0) + 1

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
            brokers_without_port=self.brokers_without_port,
            closed=dict(self.closed),
            apis=self._figures(),
            endings=dict(self.endings),
        )

    def _figures(self) -> dict[int, ApiFigures]:
        figures = {key: ApiFigures(one.requests, one.passed, one.inside_ns) for key, one in self.apis.items()}
        calm = {ApiKey.HEARTBEAT: self.beats, ApiKey.CONSUMER_GROUP_HEARTBEAT: self.native_beats}
        for key, count in calm.items():
            if count:
                before = figures.get(key, ApiFigures(0, 0, 0))
                figures[key] = replace(before, requests=before.requests + count)
        return figures
