"""What the judge is shown: the event logs of all client processes, and when each step of the story began and ended."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bridge.demo.events import Event, Partition, Produced, RebalanceEvent, Started


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientLog:
    """One client process: what it wrote, and when it died (None: it still runs).

    `number` counts the processes of a fleet in start order.
    """

    seat: str
    number: int
    events: tuple[Event, ...]
    died_ns: int | None

    @property
    def who(self) -> str:
        """The seat and the number of its process, for reports."""
        return f"{self.seat}#{self.number}"

    @property
    def started(self) -> Started | None:
        """The client's own introduction; None when it wrote none."""
        return next((event for event in self.events if isinstance(event, Started)), None)

    def rebalances(self) -> Iterator[RebalanceEvent]:
        """Its rebalance callbacks, in order."""
        return (event for event in self.events if isinstance(event, RebalanceEvent))

    def alive_throughout(self, began_ns: int, ended_ns: int) -> bool:
        """Whether the process ran from before `began_ns` until after `ended_ns`."""
        started = self.started
        return started is not None and started.at_ns <= began_ns and (self.died_ns is None or self.died_ns >= ended_ns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of the story, such as a member's roll; the fleet is settled at both ends.

    With `is_unnoticed` it promises that no client's rebalance callback is called.
    """

    name: str
    began_ns: int
    ended_ns: int
    is_unnoticed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Everything measured. `offsets` is what the broker says is committed, when it was asked."""

    producers: tuple[ClientLog, ...]
    members: tuple[ClientLog, ...]
    steps: tuple[Step, ...]
    offsets: Mapping[Partition, int] | None = None

    def produced(self) -> Iterator[Produced]:
        """Every acknowledged span of every producer."""
        return (event for log in self.producers for event in log.events if isinstance(event, Produced))

    @property
    def measured_until_ns(self) -> int:
        """The end of the last step; without steps, the last event of any member."""
        if self.steps:
            return max(step.ended_ns for step in self.steps)
        return max((event.at_ns for log in self.members for event in log.events), default=0)
