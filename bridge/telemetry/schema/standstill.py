"""When partitions of a group stand still, on one line of time through all runs of the bridge: for reports and replays.

The tables of `bridge.analytics` say the same in columns; a test holds both to each other.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bridge.telemetry.schema.facts import (
    Event,
    Fact,
    MemberFact,
    PartitionsAssigned,
    PartitionsFetched,
    PartitionsReleased,
    PartitionsTold,
)

Move = PartitionsTold | PartitionsReleased | PartitionsAssigned | PartitionsFetched


@dataclass(frozen=True, slots=True)
class Stall:
    """A partition that nobody read, from its last owner's end (microseconds since 1970) to its next one's first Fetch;
    `dealt_by` is the rebalance that gave it to that one, "" for none.
    """

    partition: str
    dealt_by: str
    began_us: int
    lasted_us: int


def on_one_line(events: Iterable[Event]) -> Iterator[tuple[int, Event]]:
    """Events in the order of the log with their times: the monotonic clock within a run, the wall clock between runs.

    Time never goes back between two runs, whatever the wall clock does.
    """
    boot, base_us, latest_us = "", 0, 0
    for event in events:
        stamp = event.stamp
        if stamp.boot != boot:
            boot, base_us = stamp.boot, max(stamp.wall_us, latest_us) - stamp.mono_us
        at_us = base_us + stamp.mono_us
        latest_us = max(latest_us, at_us)
        yield at_us, event


def stalls_of(moments: Iterable[tuple[int, Fact]]) -> Iterator[Stall]:
    """All stalls of one group that ended, from its facts with their times, in order."""
    courses: defaultdict[str, PartitionCourse] = defaultdict(PartitionCourse)
    for place, (at_us, fact) in enumerate(moments):
        if not isinstance(fact, PartitionsTold | PartitionsReleased | PartitionsAssigned | PartitionsFetched):
            continue
        for name in fact.partitions:
            course = courses[name]
            since_us, dealt_by = course.since_us, fact.rebalance_id or course.rebalance_id
            if course.take(fact, at_us, place):
                yield Stall(name, dealt_by, since_us, at_us - since_us)


@dataclass(slots=True)
class PartitionCourse:
    """One partition: who was told last to give it up or gave it up or got it, and the stall that may be open.

    Places are those in the order of events, -1 for none yet.
    """

    told: str = ""
    is_fresh: bool = True
    holder: str = ""
    since_us: int = 0
    rebalance_id: str = ""
    start: int = -1
    assigned: int = -1
    fetched: int = -1

    def begin(self, fact: MemberFact, at_us: int, place: int) -> None:
        """It stands still from here on, perhaps."""
        self.holder, self.since_us, self.rebalance_id, self.start = fact.member_id, at_us, fact.rebalance_id, place

    def is_ended_by(self, member_id: str) -> bool:
        """Whether a fetch of this member ends a stall: one has begun, and the partition was given to somebody since."""
        is_open = self.start >= 0 and self.start >= self.fetched
        return is_open and (self.assigned > self.start or member_id != self.holder)

    def take(self, fact: Move, at_us: int, place: int) -> bool:
        """One event of the partition; gives whether it ends a stall.

        Who is told may fetch until it hears, so its stall begins with its last fetch; who is gone has used nothing
        since its connection was lost. What a member is given again in its generation, unused, it has had all along.
        """
        was_told = self.told == fact.member_id
        match fact:
            case PartitionsTold():
                if self.is_fresh:
                    self.begin(fact, at_us, place)
                self.told, self.is_fresh = fact.member_id, False
            case PartitionsReleased():
                if self.is_fresh and not was_told:
                    self.begin(fact, at_us - fact.idle_us, place)
                self.told, self.is_fresh = "", False
            case PartitionsAssigned(is_again=False):
                self.told, self.assigned = "", place
            case PartitionsAssigned():
                # Its client was told so before.
                pass
            case PartitionsFetched():
                is_ended = self.is_ended_by(fact.member_id)
                if was_told:
                    self.begin(fact, at_us, place)
                self.is_fresh, self.fetched = True, place
                return is_ended
        return False
