"""What happened to a group from outside, as values: who came, changed, left or fell silent, and what topics became."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bridge.telemetry.schema.terms import Cause
from translators.dialects.ids import ClientIdentity, GroupId, InstanceId, MemberId, TopicName

USUAL_SESSION_MS, USUAL_REBALANCE_MS = 45_000, 300_000
"""What clients take for session.timeout.ms and max.poll.interval.ms unless told otherwise (ConsumerConfig)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """What a member's client is and wants; timeouts in milliseconds, -1 where it does not say."""

    member_id: MemberId
    identity: ClientIdentity
    instance_id: InstanceId | None = None
    topics: tuple[TopicName, ...] = ()
    pattern: str | None = None
    assignors: tuple[str, ...] = ()
    session_timeout_ms: int = -1
    rebalance_timeout_ms: int = -1
    rack_id: str | None = None
    is_classic: bool = True

    @property
    def session_ms(self) -> int:
        """Its session timeout, or the usual one: of consumer members only the broker knows it (KIP-848)."""
        return self.session_timeout_ms if self.session_timeout_ms > 0 else USUAL_SESSION_MS

    @property
    def rebalance_ms(self) -> int:
        """Its rebalance timeout, or the usual one."""
        return self.rebalance_timeout_ms if self.rebalance_timeout_ms > 0 else USUAL_REBALANCE_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """Where an input stands in the record: its time (microseconds since 1970), its event, and the rebalance that the
    event names, "" for none.
    """

    at_us: int
    event_id: str = ""
    rebalance_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Came(Occurrence):
    """A client joined; `former_id` had its static seat before, "" for nobody."""

    client: Client
    former_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed(Occurrence):
    """A client wants something else."""

    client: Client


@dataclass(frozen=True, slots=True, kw_only=True)
class Left(Occurrence):
    """A member left for good, by itself or because an operator removed it."""

    member_id: MemberId


@dataclass(frozen=True, slots=True, kw_only=True)
class Vacated(Occurrence):
    """A static member left its seat for a while (member epoch -2)."""

    member_id: MemberId


@dataclass(frozen=True, slots=True, kw_only=True)
class FellSilent(Occurrence):
    """A member's last sign of life was before this; nobody was told."""

    member_id: MemberId


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicsBecame(Occurrence):
    """Topics have these partition counts now, 0 for one that is gone."""

    counts: Mapping[TopicName, int]


Input = Came | Changed | Left | Vacated | FellSilent | TopicsBecame


@dataclass(frozen=True, slots=True, kw_only=True)
class ReactionTimes:
    """How long a client takes, in microseconds: to give partitions up, and to fetch from those it was given."""

    revoke_us: int
    fetch_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A rebalance of the record: its id, when it began, and what its explanation says: the cause, and its evidence."""

    rebalance_id: str
    began_us: int
    cause: Cause = Cause.UNKNOWN
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Everything that a group was given, from `begins_us` on.

    `founders` are members already there when it begins, `reaction` that of members that `reactions` does not name,
    `is_classic` says that the group was a classic one. `set_aside` counts rebalances before the beginning, of a time
    that can't be played because nothing is known of some member.
    """

    group_id: GroupId
    begins_us: int
    topics: Mapping[TopicName, int]
    founders: tuple[Client, ...] = ()
    inputs: tuple[Input, ...] = ()
    recorded: tuple[Recorded, ...] = ()
    reaction: ReactionTimes
    reactions: Mapping[MemberId, ReactionTimes] = field(default_factory=dict)
    is_classic: bool = False
    set_aside: int = 0
