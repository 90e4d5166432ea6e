"""What a place that events are written to has to offer, and why one can't be used."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from bridge.telemetry.schema.facts import Event

ClientSetting = str | Callable[[str], tuple[str, float]]
"""A value of a setting of librdkafka; what gives a token says until when (seconds since 1970) it counts."""
TopicAccess = Callable[[], Mapping[str, ClientSetting]]
"""What a client of the topic needs to be let in, read anew for each; raises SinkUnusable."""


class Line(NamedTuple):
    """One event, and the line it is written as, newline included."""

    event: Event
    data: bytes

    @property
    def group_id(self) -> str:
        """The group that it is about, "" for none."""
        return str(getattr(self.event.fact, "group_id", ""))


@dataclass(slots=True)
class Fate:
    """What became of events: written, and lost because there was no room or no way to write them.

    `failures` is how often something made of them failed by a bug.
    """

    written: int = 0
    lost: int = 0
    failures: int = 0


class Sink(Protocol):
    """Where lines go; used from one thread only."""

    fate: Fate

    def write(self, lines: Sequence[Line]) -> None:
        """Write lines in order; what can't be written is counted and given up, never raised."""
        ...

    def tend(self) -> None:
        """Do what is due though nothing came; called every second or so."""
        ...

    def close(self) -> None:
        """Write what is still held, as far as that takes no more than seconds, and let go."""
        ...


class SinkUnusable(Exception):
    """Events can't be written there; the text says what happened and what to do."""
