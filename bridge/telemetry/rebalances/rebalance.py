"""One rebalance as a value: what it came to, and the story of every member that it touched."""

from dataclasses import dataclass
from typing import Self

from bridge.telemetry.cause.waits import Span, union_us
from bridge.telemetry.schema.disturbance import IDLE
from bridge.telemetry.schema.facts import RebalanceExplained
from bridge.telemetry.schema.terms import Departure, Outcome, Phase, Protocol, Road

UNKNOWN_COUNT = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A phase of a member, in microseconds from the beginning of the rebalance; before it they are negative."""

    phase: Phase
    begin_us: int
    end_us: int
    waits_on: tuple[str, ...] = ()
    is_whole: bool = True

    @classmethod
    def of(cls, span: Span, origin_us: int) -> Self:
        """A span seen from the beginning of the rebalance."""
        return cls(
            phase=span.phase,
            begin_us=span.begin_us - origin_us,
            end_us=span.end_us - origin_us,
            waits_on=span.waits_on,
            is_whole=span.has_begin and span.has_end,
        )

    @property
    def duration_us(self) -> int:
        """How long it lasted."""
        return self.end_us - self.begin_us


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberStory:
    """What a rebalance was for one member. Times count from its beginning; None where the log does not say.

    `is_newcomer`: it joined for this rebalance. `is_counted`: it was there when partitions were shared out.
    `is_disturbed`: see `schema.disturbance`; what the next rebalance gives back is not known when this one ends.
    """

    member_id: str
    instance_id: str | None
    protocol: Protocol
    client_id: str
    client_host: str
    library: str
    library_version: str
    member_epoch: int
    generation: int
    stretches: tuple[Stretch, ...]
    gained: tuple[str, ...]
    lost: tuple[str, ...]
    is_newcomer: bool
    is_disturbed: bool
    departure: Departure | None
    told_us: int | None
    first_fetch_us: int | None
    first_commit_us: int | None
    commit_on_revoke_us: int | None
    is_counted: bool = True

    @property
    def stall_us(self) -> int:
        """How long it stood still: joining, syncing, giving up, or without a Fetch for what it had been given."""
        busy = (stretch for stretch in self.stretches if stretch.phase not in IDLE)
        return union_us((stretch.begin_us, stretch.end_us) for stretch in busy)

    @property
    def is_touched(self) -> bool:
        """Whether the rebalance was more to it than a new epoch."""
        is_idle = all(stretch.phase is Phase.STABLE for stretch in self.stretches)
        changed = self.gained or self.lost or self.departure is not None
        return bool(self.is_newcomer or self.is_disturbed or changed or not is_idle)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebalance:
    """One rebalance. `began_wall_us` places it, `duration_us` is of the monotonic clock; `outcome` None: the log ends
    before it did. `moved` and the counts are -1 where no target is known.
    """

    rebalance_id: str
    group_id: str
    road: Road
    epoch: int
    boot: str
    began_wall_us: int
    duration_us: int
    outcome: Outcome | None
    supersedes: str
    superseded_by: str
    explained: RebalanceExplained
    assignor: str
    moved: int
    forced_minimum: int
    member_count: int
    partition_count: int
    members: tuple[MemberStory, ...]

    @property
    def ended_wall_us(self) -> int:
        """When it ended, on the clock that placed its beginning."""
        return self.began_wall_us + self.duration_us

    @property
    def touched(self) -> tuple[MemberStory, ...]:
        """The members to which it was more than a new epoch."""
        return tuple(member for member in self.members if member.is_touched)

    @property
    def untouched_count(self) -> int:
        """Members of the group to which it was nothing but a new epoch; 0 if the size of the group is not known."""
        counted = sum(member.is_counted for member in self.touched)
        return max(0, self.member_count - counted) if self.member_count >= 0 else 0

    @property
    def disturbed_count(self) -> int:
        """Members that were told to stop something."""
        return sum(member.is_disturbed for member in self.members)
