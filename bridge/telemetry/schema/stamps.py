"""When and under which name a fact was recorded.

It must not know clocks, nor how an event is written.
"""

from bridge.telemetry.schema.facts import Fact
from bridge.telemetry.schema.making import unguarded


@unguarded()
class Stamp:
    """One event's name and times: the run of the bridge, the position in it, wall and monotonic microseconds."""

    boot: str
    number: int
    wall_us: int
    mono_us: int

    @property
    def event_id(self) -> str:
        """The unique name of the event."""
        return f"{self.boot}-{self.number}"


@unguarded()
class Event:
    """A fact with its stamp."""

    stamp: Stamp
    fact: Fact
