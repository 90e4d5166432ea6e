"""Counts for each group what plans judge it by: rebalances, who stood still, what failed, who was lost.

Any thread may read it; it is fed in that of the event log.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bridge.telemetry.event_log.sinks import Fate, Line
from bridge.telemetry.rebalances.rebalance import Rebalance
from bridge.telemetry.schema.facts import CommitPassed, MemberLeft, MemberTold
from bridge.telemetry.schema.terms import Departure, News

GROUPS_MAX = 10_000
"""How many groups are counted; further ones have no figures."""
LOST = frozenset(
    {
        Departure.SESSION_EXPIRED,
        Departure.POLL_TIMED_OUT,
        Departure.REBALANCE_TIMED_OUT,
        Departure.SYNC_TIMED_OUT,
        Departure.CONNECTION_LOST,
        Departure.FENCED,
        Departure.VANISHED,
    }
)
"""How members go that nobody wanted to go."""


@dataclass(slots=True)
class GroupCounts:
    """What a group came to since the start; `stall_us` is of all members together."""

    rebalances: int = 0
    disturbed: int = 0
    stall_us: int = 0
    failed_commits: int = 0
    lost: int = 0
    errors: int = 0


class GroupFigures:
    """Counts rebalances that are over (`rebalance_sink.Taker`), and single events (`event_log.sinks.Sink`)."""

    def __init__(self) -> None:
        self.fate = Fate()
        self._counts: dict[str, GroupCounts] = {}

    def of(self, group_id: str) -> GroupCounts:
        """What a group has come to by now."""
        return self._counts.get(group_id) or GroupCounts()

    def take(self, rebalance: Rebalance) -> None:
        """See `Taker.take`."""
        counts = self._known(rebalance.group_id)
        if counts is not None:
            counts.rebalances += 1
            counts.disturbed += rebalance.disturbed_count
            counts.stall_us += sum(member.stall_us for member in rebalance.touched)

    def write(self, lines: Sequence[Line]) -> None:
        """See `Sink.write`: most lines are of no concern here."""
        for line in lines:
            match line.event.fact:
                case CommitPassed(error=error) as fact if error:
                    self._count(fact.group_id, failed_commits=1)
                case MemberLeft(departure=departure) as fact if departure in LOST:
                    self._count(fact.group_id, lost=1)
                case MemberTold(news=News.FENCED) as fact:
                    self._count(fact.group_id, errors=1)
                case _:
                    continue

    def tend(self) -> None:
        """See `Sink.tend`: nothing is due."""

    def close(self) -> None:
        """See `Sink.close`: nothing is held."""

    def _count(self, group_id: str, *, failed_commits: int = 0, lost: int = 0, errors: int = 0) -> None:
        counts = self._known(group_id)
        if counts is not None:
            counts.failed_commits += failed_commits
            counts.lost += lost
            counts.errors += errors

    def _known(self, group_id: str) -> GroupCounts | None:
        counts = self._counts.get(group_id)
        if counts is None and len(self._counts) < GROUPS_MAX:
            counts = self._counts[group_id] = GroupCounts()
        return counts
