"""Which records were lost or read twice, and whether commits equal what was processed."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bridge.demo.events import Committed, Consumed, Partition, Produced
from bridge.demo.judge_evidence import ClientLog

Interval = tuple[int, int]
"""First and last offset, both included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordCount:
    """Records over all partitions; a record read three times counts as two duplicates."""

    produced: int
    lost: int
    duplicated: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitMismatch:
    """A committed offset that is not the one after the last processed record (None: nothing was processed)."""

    who: str
    partition: Partition
    committed: int
    processed: int | None


def count_records(produced: Iterable[Produced], consumed: Iterable[Consumed]) -> RecordCount:
    """Compare what was acknowledged to producers with what any member processed."""
    written, read = _by_partition(produced), _by_partition(consumed)
    produced_count = lost = duplicated = 0
    for partition, intervals in written.items():
        wanted, got = _merged(intervals), _merged(read.get(partition, []))
        produced_count += _length(wanted)
        lost += _length(wanted) - _common(wanted, got)
    for intervals in read.values():
        duplicated += _length(intervals) - _length(_merged(intervals))
    return RecordCount(produced=produced_count, lost=lost, duplicated=duplicated)


def commit_mismatches(logs: Iterable[ClientLog], offsets: Mapping[Partition, int] | None) -> tuple[CommitMismatch, ...]:
    """Every commit that differs from its member's progress, and every partition whose last commit is not its end.

    `offsets`: what the broker has, if it was asked; then it is compared too.
    """
    kept = tuple(logs)
    mismatches = [mismatch for log in kept for mismatch in _own_mismatches(log)]
    processed = _furthest(kept)
    last = _last_commits(kept)
    mismatches += _against(processed, last, "last commit")
    if offsets is not None:
        mismatches += _against(processed, offsets, "broker")
    return tuple(mismatches)


def _own_mismatches(log: ClientLog) -> Iterable[CommitMismatch]:
    position: dict[Partition, int] = {}
    for event in log.events:
        if isinstance(event, Consumed):
            position[event.partition] = event.last + 1
        elif isinstance(event, Committed):
            yield from _against({p: position.get(p) for p, _ in event.offsets}, dict(event.offsets), log.who)


def _against(
    processed: Mapping[Partition, int | None], committed: Mapping[Partition, int], who: str
) -> list[CommitMismatch]:
    return [
        CommitMismatch(who=who, partition=partition, committed=committed.get(partition, -1), processed=offset)
        for partition, offset in sorted(processed.items())
        if committed.get(partition) != offset
    ]


def _furthest(logs: Iterable[ClientLog]) -> Mapping[Partition, int]:
    furthest: dict[Partition, int] = {}
    for event in (event for log in logs for event in log.events):
        if isinstance(event, Consumed):
            furthest[event.partition] = max(event.last + 1, furthest.get(event.partition, 0))
    return furthest


def _last_commits(logs: Iterable[ClientLog]) -> Mapping[Partition, int]:
    commits = [event for log in logs for event in log.events if isinstance(event, Committed)]
    return dict(pair for commit in sorted(commits, key=lambda one: one.at_ns) for pair in commit.offsets)


def _by_partition(spans: Iterable[Produced] | Iterable[Consumed]) -> Mapping[Partition, list[Interval]]:
    found: dict[Partition, list[Interval]] = defaultdict(list)
    for span in spans:
        found[span.partition].append((span.first, span.last))
    return found


def _merged(intervals: Iterable[Interval]) -> list[Interval]:
    merged: list[Interval] = []
    for first, last in sorted(intervals):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return merged


def _length(intervals: Iterable[Interval]) -> int:
    return sum(last - first + 1 for first, last in intervals)


def _common(left: list[Interval], right: list[Interval]) -> int:
    """How many offsets two merged lists share; both are walked once."""
    common = i = j = 0
    while i < len(left) and j < len(right):
        common += max(0, min(left[i][1], right[j][1]) - max(left[i][0], right[j][0]) + 1)
        if left[i][1] < right[j][1]:
            i += 1
        else:
            j += 1
    return common
