"""The values that groups are made of: subscriptions, current assignments, asks; classic members and phases."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import NamedTuple

from bridge.engine.commands import Speaks
from translators.dialects.classic import Protocol
from translators.dialects.ids import (
    NO_MEMBER_ID,
    ClientIdentity,
    GroupId,
    InstanceId,
    MemberId,
    ReplyTo,
    TopicIdPartition,
    TopicName,
)

FIRST_GROUP_EPOCH = 1
"""A new consumer group starts here, so that its first subscribed member gets epoch 2 (K11.4 on 2.15)."""


class MemberState(IntEnum):
    """Where a member stands between what it holds and its target; the values are those of Kafka's records (K2.31)."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2


class DeadlineKind(IntEnum):
    """What is due when a deadline passes."""

    SESSION = 0
    REBALANCE = 1
    INITIAL_DELAY = 2
    TARGET = 3
    CLASSIC_SESSION = 4
    CLASSIC_JOIN = 5
    CLASSIC_SYNC = 6


class DeadlineKey(NamedTuple):
    """Whose deadline of which kind; those of a whole group carry an empty member id.

    A tuple and no text made of the names, in which a group `a-b` with a member `c` and a group `a` with a member `b-c`
    would be one (K0.3.1).
    """

    kind: DeadlineKind
    group_id: GroupId
    member_id: MemberId = MemberId("")


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """What a member told about itself: the durable part that only the member changes (K2.22)."""

    member_id: MemberId
    instance_id: InstanceId | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    identity: ClientIdentity
    speaks: Speaks
    names: frozenset[TopicName] = frozenset()
    pattern: str | None = None
    assignor: str | None = None


AssignedEpochs = Mapping[TopicIdPartition, int]
"""Partitions with the member epoch at which each was assigned (K11.4 on 5.11); never changed in place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Current:
    """What a member holds: `assigned` it may use, `pending_revocation` it must give up and has not acknowledged."""

    epoch: int = 0
    previous_epoch: int = 0
    state: MemberState = MemberState.STABLE
    assigned: AssignedEpochs = field(default_factory=dict)
    pending_revocation: AssignedEpochs = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Member:
    """One seat of a group."""

    subscription: Subscription
    current: Current


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A heartbeat that was admitted and waits for its answer.

    `is_full` asks for the assignment even if unchanged (K2.42); `before` is the member's subscription before the
    heartbeat, None for a newcomer; `reported_epoch` is the epoch that a KIP-848 client sent with what it owns, 0 for
    a translated one; `claimed` is what a joining client says it had.
    """

    ref: ReplyTo
    group_id: GroupId
    member_id: MemberId
    instance_id: InstanceId | None
    owned: frozenset[TopicIdPartition] | None
    is_full: bool
    before: Subscription | None
    has_new_topics: bool
    reported_epoch: int = 0
    claimed: frozenset[TopicIdPartition] = frozenset()
    claimed_generation: int = -1


@dataclass(frozen=True, slots=True)
class InitialDelay:
    """The wait of a group that was empty (K1.30): what may still be added, the last wait, whether newcomers came
    since.
    """

    remaining_ms: int
    last_delay_ms: int
    has_newcomers: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptSeat:
    """What a member that left had as target.

    Kept for anybody who comes until `open_until_ms` (`departure.wait.ms`), and until `until_ms` for a newcomer of the
    same instance, or of the same client id and host (`replacement.grace.ms`).
    """

    instance_id: InstanceId | None
    identity: ClientIdentity
    partitions: frozenset[TopicIdPartition]
    open_until_ms: int
    until_ms: int


@dataclass(frozen=True, slots=True)
class ResolvedPattern:
    """What a regular expression matches, or why it can't be read."""

    topics: frozenset[TopicName]
    error: str | None = None


NEW_MEMBER_JOIN_TIMEOUT_MS = 300_000
"""How long a newcomer may be parked in its first JoinGroup, whatever its session timeout (K1.22)."""


class Phase(StrEnum):
    """Where a classic group stands, in the words that answers use (K1.1); Dead is only reached by unloading (K1.2)."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


TRANSITIONS: dict[Phase, frozenset[Phase]] = {
    Phase.EMPTY: frozenset({Phase.PREPARING_REBALANCE, Phase.DEAD}),
    Phase.PREPARING_REBALANCE: frozenset({Phase.EMPTY, Phase.COMPLETING_REBALANCE, Phase.DEAD}),
    Phase.COMPLETING_REBALANCE: frozenset({Phase.PREPARING_REBALANCE, Phase.STABLE, Phase.DEAD}),
    Phase.STABLE: frozenset({Phase.PREPARING_REBALANCE, Phase.DEAD}),
    Phase.DEAD: frozenset({Phase.DEAD}),
}
"""Which phase may follow which (K1.1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicMember:
    """One seat of a classic group: what its client told, and the bytes its leader assigned to it last.

    All protocols it offers are kept, not only the chosen one as Kafka does in its records (K1.70, K1.72).
    """

    member_id: MemberId
    instance_id: InstanceId | None
    identity: ClientIdentity
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: tuple[Protocol, ...]
    assignment: bytes = b""


DEPARTED = ClassicMember(
    member_id=NO_MEMBER_ID,
    instance_id=None,
    identity=ClientIdentity(client_id="", client_host=""),
    session_timeout_ms=0,
    rebalance_timeout_ms=0,
    protocols=(),
)
"""Stands in records for all who left since the last sync, where only that somebody did has to be told."""


@dataclass(frozen=True, slots=True)
class ShownGeneration:
    """The generation that a member's client knows, where it is not its group's."""

    member_id: MemberId
    generation: int


def metadata_of(protocols: tuple[Protocol, ...], protocol_name: str | None) -> bytes:
    """What a member says under one of its protocols; empty where it does not offer it."""
    for offer in protocols:
        if offer.name == protocol_name:
            return offer.metadata
    return b""


def names_of(protocols: tuple[Protocol, ...]) -> tuple[str, ...]:
    """The names of protocols in the order of preference."""
    return tuple([protocol.name for protocol in protocols])
