"""Who owned which partition when, rebuilt from rebalance callbacks; owned twice and owned by nobody follow from it.

Owned = from the end of the assigned callback to the start of the revoked or lost callback or the death of the process.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bridge.demo.events import Assigned, Mode, Partition, RebalanceEvent
from bridge.demo.judge_evidence import ClientLog

Owned = frozenset[Partition]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ownership:
    """`who` owned `partition` from `began_ns` (included) to `until_ns` (not included)."""

    who: str
    partition: Partition
    began_ns: int
    until_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """Two processes owned one partition at once."""

    partition: Partition
    first: str
    second: str
    began_ns: int
    until_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stall:
    """Nobody owned the partition."""

    partition: Partition
    began_ns: int
    until_ns: int

    @property
    def length_ms(self) -> float:
        """How long, in milliseconds."""
        return (self.until_ns - self.began_ns) / 1_000_000


def owned_after(owned: Owned, event: RebalanceEvent) -> Owned:
    """What a member owns after a callback: an eager assignment replaces, everything else is a difference."""
    listed = frozenset(event.partitions)
    if not isinstance(event, Assigned):
        return owned - listed
    return listed if event.mode is Mode.EAGER else owned | listed


def owned_at(log: ClientLog, at_ns: int) -> Owned:
    """What the process owned at an instant; nothing once it is dead."""
    if log.died_ns is not None and log.died_ns <= at_ns:
        return frozenset()
    owned: Owned = frozenset()
    for event in log.rebalances():
        if event.at_ns > at_ns:
            break
        owned = owned_after(owned, event)
    return owned


def ownerships_of(log: ClientLog, horizon_ns: int) -> tuple[Ownership, ...]:
    """Every time of ownership of one process; one that runs on ends at its death or at `horizon_ns`."""
    began: dict[Partition, int] = {}
    ownerships: list[Ownership] = []
    owned: Owned = frozenset()
    for event in log.rebalances():
        after = owned_after(owned, event)
        ownerships += [_ownership(log, partition, began.pop(partition), event.at_ns) for partition in owned - after]
        began.update(dict.fromkeys(after - owned, event.at_ns))
        owned = after
    end_ns = horizon_ns if log.died_ns is None else log.died_ns
    ownerships += [_ownership(log, partition, at_ns, max(at_ns, end_ns)) for partition, at_ns in began.items()]
    return tuple(ownerships)


def _ownership(log: ClientLog, partition: Partition, began_ns: int, until_ns: int) -> Ownership:
    return Ownership(who=log.who, partition=partition, began_ns=began_ns, until_ns=until_ns)


def by_partition(ownerships: Iterable[Ownership]) -> Mapping[Partition, Sequence[Ownership]]:
    """The ownerships of each partition in order of their begin."""
    found: dict[Partition, list[Ownership]] = defaultdict(list)
    for ownership in sorted(ownerships, key=lambda one: (one.partition, one.began_ns, one.until_ns)):
        found[ownership.partition].append(ownership)
    return found


def overlaps_in(ownerships: Iterable[Ownership]) -> tuple[Overlap, ...]:
    """Every pair of ownerships of one partition that share an instant, in order of partition and begin."""
    overlaps: list[Overlap] = []
    for partition, ordered in by_partition(ownerships).items():
        running: list[Ownership] = []
        for later in ordered:
            running = [earlier for earlier in running if earlier.until_ns > later.began_ns]
            overlaps += [
                Overlap(
                    partition=partition,
                    first=earlier.who,
                    second=later.who,
                    began_ns=later.began_ns,
                    until_ns=min(earlier.until_ns, later.until_ns),
                )
                for earlier in running
                if later.until_ns > later.began_ns
            ]
            running.append(later)
    return tuple(overlaps)


def stalls_in(ownerships: Iterable[Ownership], until_ns: int) -> tuple[Stall, ...]:
    """Every gap in a partition's ownership between its first owner and `until_ns`."""
    stalls: list[Stall] = []
    for partition, ordered in by_partition(ownerships).items():
        covered_ns = ordered[0].began_ns
        for ownership in ordered:
            stalls += _gap(partition, covered_ns, min(ownership.began_ns, until_ns))
            covered_ns = max(covered_ns, ownership.until_ns)
        stalls += _gap(partition, covered_ns, until_ns)
    return tuple(stalls)


def _gap(partition: Partition, began_ns: int, until_ns: int) -> list[Stall]:
    return [Stall(partition=partition, began_ns=began_ns, until_ns=until_ns)] if until_ns > began_ns else []
