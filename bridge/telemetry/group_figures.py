"""Counts for each group what plans judge it by: rebalances, who stood still, what failed, who was lost; and keeps for
the judge of canaries how long each member waited in a rebalance, until a plan has looked.

Any thread may read it; it is fed in that of the event log.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bridge.telemetry.event_log.sinks import Fate, Line
from bridge.telemetry.rebalances.rebalance import MemberStory, Rebalance
from bridge.telemetry.schema.disturbance import IDLE
from bridge.telemetry.schema.facts import CommitPassed, MemberLeft, MemberTold
from bridge.telemetry.schema.terms import Departure, News, Outcome
from translators.dialects.kept_names import kept_name

GROUPS_MAX = 10_000
"""How many groups are counted; further ones have no figures."""
MEMBERS_MAX = 10_000
"""A rebalance of so many members that wait is over, though another one cut it short: a group may never come to rest."""
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


@dataclass(frozen=True, slots=True)
class GroupWaits:
    """One rebalance, with those that it cut short: when the first of them began (microseconds since 1970), and how long
    each member waited in all of them, for as much as every road shows. Who is not named did not wait.

    Group and members go by their `kept_name`: 2,000 rebalances of groups with names of 32 kB were 64 MB.
    """

    group_id: str
    began_wall_us: int
    waited_us: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _CutShort:
    """A rebalance that another one superseded, which is not over yet."""

    rebalance_id: str
    waits: GroupWaits


class GroupFigures:
    """Counts rebalances that are over (`rebalances.gathering.Taker`), and single events (`event_log.sinks.Sink`).

    At most `waits_max` rebalances are kept until somebody takes them; then the oldest go.
    """

    def __init__(self, waits_max: int = 0) -> None:
        self.fate = Fate()
        self._counts: dict[str, GroupCounts] = {}
        self._waits: deque[GroupWaits] = deque(maxlen=waits_max)
        self._cut_short: dict[str, _CutShort] = {}

    def of(self, group_id: str) -> GroupCounts | None:
        """What a group has come to by now; None where nobody counts it, because there are too many groups."""
        counts = self._counts.get(kept_name(group_id))
        return GroupCounts() if counts is None and len(self._counts) < GROUPS_MAX else counts

    def take_waits(self, most: int) -> Sequence[GroupWaits]:
        """Rebalances that nobody has taken yet, in the order in which they were over."""
        return [self._waits.popleft() for _ in range(min(most, len(self._waits)))]

    def take(self, rebalance: Rebalance) -> None:
        """See `Taker.take`."""
        counts = self._known(rebalance.group_id)
        if counts is not None:
            self._keep_waits(rebalance)
            counts.rebalances += 1
            counts.disturbed += rebalance.disturbed_count
            counts.stall_us += sum(member.stall_us for member in rebalance.touched)

    def _keep_waits(self, rebalance: Rebalance) -> None:
        """What one rebalance cuts short is one wait to a member."""
        name = kept_name(rebalance.group_id)
        waits = GroupWaits(name, rebalance.began_wall_us, _waited_us(rebalance.members))
        cut_short = self._cut_short.pop(name, None)
        if cut_short is not None and cut_short.rebalance_id == rebalance.supersedes:
            waits = _together(cut_short.waits, waits)
        elif cut_short is not None:
            self._waits.append(cut_short.waits)
        if rebalance.outcome is Outcome.SUPERSEDED and len(waits.waited_us) < MEMBERS_MAX:
            self._cut_short[name] = _CutShort(rebalance.rebalance_id, waits)
        else:
            self._waits.append(waits)

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
        name = kept_name(group_id)
        counts = self._counts.get(name)
        if counts is None and len(self._counts) < GROUPS_MAX:
            counts = self._counts[name] = GroupCounts()
        return counts


def _waited_us(members: Sequence[MemberStory]) -> Mapping[str, int]:
    """Who waited, and how long; `awaiting-release` counts for nobody, because road `pass` does not show it."""
    waited = {
        kept_name(member.member_id): sum(
            stretch.duration_us for stretch in member.stretches if stretch.phase not in IDLE
        )
        for member in members
    }
    return {member_id: duration_us for member_id, duration_us in waited.items() if duration_us > 0}


def _together(first: GroupWaits, second: GroupWaits) -> GroupWaits:
    both = {
        member_id: first.waited_us.get(member_id, 0) + second.waited_us.get(member_id, 0)
        for member_id in (*first.waited_us, *second.waited_us)
    }
    return GroupWaits(first.group_id, first.began_wall_us, both)
