"""How long partitions stood still in a story: by the clients' own diaries, and by the bridge's log.

A client uses a partition from the end of its assigned callback to the start of its revoked or lost one, to the death of
its process, or to the moment from which it was made to use nothing: it was frozen, or polled no more.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from bridge.demo.judge_evidence import ClientLog
from bridge.demo.judge_ownership import Ownership, by_partition, ownerships_of
from bridge.telemetry.schema.facts import Event
from bridge.whatif.measures import measure, summed
from bridge.whatif.timed_events import on_one_timeline

FOREVER_NS = 10**18
NS_PER_US = 1_000
EACH_US = 1_500_000
"""What a heartbeat, and a Fetch that is under way until the new owner's may be sent, come to, and a busy machine."""
SHARE = 0.35


@dataclass(frozen=True, slots=True)
class Standstill:
    """How many partitions changed hands, and how long they stood still, all together."""

    count: int = 0
    us: int = 0

    def __str__(self) -> str:
        """For people."""
        return f"{self.count} for {self.us / 1_000_000:.1f} s"


@dataclass(frozen=True, slots=True)
class Accounts:
    """Both sides of a story."""

    felt: Standstill = Standstill()
    told: Standstill = Standstill()

    @property
    def is_equal(self) -> bool:
        """As many partitions, and times that differ by no more than what a proxy can't see."""
        most_us = max(self.felt.count * EACH_US, int(self.felt.us * SHARE))
        return self.felt.count == self.told.count and abs(self.felt.us - self.told.us) <= most_us

    def __str__(self) -> str:
        """For people."""
        return f"{self.felt}, told {self.told}"


def felt(diaries: Sequence[ClientLog], idle_ns: Mapping[str, int], since_ns: int) -> Standstill:
    """By the diaries: what was taken over since a moment; `idle_ns` is from when seats were made to use nothing.

    Only the first time of a partition at such a seat ends there: when its process goes on it is a member like others.
    """
    every = [one for log in diaries for one in _used(log, idle_ns.get(log.seat))]
    handed = [pair for ordered in by_partition(every).values() for pair in pairwise(ordered)]
    gaps = [max(0, later.began_ns - earlier.until_ns) for earlier, later in handed if later.began_ns > since_ns]
    return Standstill(len(gaps), sum(gaps) // NS_PER_US)


def told(events: Iterable[Event], since_us: int) -> Standstill:
    """By the log: what stood still for rebalances that began since a moment (wall clock)."""
    total = summed([one for one in measure(on_one_timeline(list(events))) if one.began_us >= since_us])
    return Standstill(total.stalls, total.stall_us)


def _used(log: ClientLog, idle_ns: int | None) -> Iterator[Ownership]:
    for one in ownerships_of(log, FOREVER_NS):
        is_cut = idle_ns is not None and one.began_ns < idle_ns < one.until_ns
        until_ns = idle_ns if is_cut and idle_ns is not None else one.until_ns
        yield Ownership(who=one.who, partition=one.partition, began_ns=one.began_ns, until_ns=until_ns)
