"""The classic group protocol: JoinGroup, SyncGroup, Heartbeat and LeaveGroup with their answers, and claims in them."""

from collections.abc import Callable
from dataclasses import dataclass, field

from translators.dialects.consumer_protocol import (
    NO_GENERATION,
    MalformedBlob,
    StickyUserData,
    Subscription,
    decode_sticky_user_data,
    decode_subscription,
)
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, InstanceId, MemberId, TopicPartition

# ------------------------------------------------------------------------------------------ classic
# The classic group protocol: JoinGroup, SyncGroup, Heartbeat and LeaveGroup with their answers.
#
# Where an API version changes behaviour, the codec sets a field.

UNKNOWN_GENERATION = -1
STICKY = frozenset({"sticky", "cooperative-sticky"})
"""Assignors whose user data is that of KIP-54 and KIP-341; another's bytes mean something else."""


@dataclass(frozen=True, slots=True)
class Protocol:
    """One protocol that a member offers: the assignor's name and its bytes, unread (a subscription for consumers)."""

    name: str
    metadata: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinGroup:
    """A member wants in, or back in, or has news (KIP-394, KIP-345).

    `needs_member_id` is true from version 4 on: a dynamic member without an id is first told its id. `skips_assignment`
    is true from version 9 on (KIP-814). Version 0 has no rebalance timeout: the codec puts the session timeout there.

    What its protocols' bytes say is read at the first question and kept with the request, not with the protocols: a
    classic group keeps those for as long as a member stays, and decoded they take many times their bytes.
    """

    group_id: GroupId
    member_id: MemberId
    instance_id: InstanceId | None
    protocol_type: str
    protocols: tuple[Protocol, ...]
    session_timeout_ms: int
    rebalance_timeout_ms: int
    reason: str = ""
    needs_member_id: bool = True
    skips_assignment: bool = False
    _read: dict[bytes, Subscription | MalformedBlob] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _recalled: dict[bytes, StickyUserData | None] = field(default_factory=dict, init=False, repr=False, compare=False)
    _on_forget: list[Callable[[], None]] = field(default_factory=list, init=False, repr=False, compare=False)

    def subscription(self, protocol: Protocol) -> Subscription:
        """What a consumer subscribes to under one of its protocols; raises `MalformedBlob`.

        Most clients send the same bytes under each of their protocols: they are read once.
        """
        blob = protocol.metadata
        if blob not in self._read:
            try:
                self._read[blob] = decode_subscription(blob)
            except MalformedBlob as malformed:
                self._read[blob] = malformed
        found = self._read[blob]
        if isinstance(found, MalformedBlob):
            raise found.with_traceback(None)
        return found

    def recalled(self, user_data: bytes) -> StickyUserData | None:
        """What user data of a sticky assignor says; None where it is of another form. The same bytes are read once."""
        if user_data not in self._recalled:
            self._recalled[user_data] = decode_sticky_user_data(user_data)
        return self._recalled[user_data]

    def has_read(self, protocol: Protocol) -> bool:
        """Whether what this protocol says is known already, and costs nothing any more."""
        return protocol.metadata in self._read

    def forget(self) -> None:
        """It is decided, here or on its way to the broker that will: whoever keeps it until its answer, which may take
        minutes, keeps what it is, and not what it says of itself in many times its bytes.
        """
        self._read.clear()
        self._recalled.clear()
        while self._on_forget:
            self._on_forget.pop()()

    def when_forgotten(self, hear: Callable[[], None]) -> None:
        """Have somebody hear of the next `forget`, who counts what was read until then."""
        self._on_forget.append(hear)

    @property
    def elements_read(self) -> int:
        """Topics and partitions that its protocols name, as far as they are read; O(protocols)."""
        said = (one for one in self._read.values() if not isinstance(one, MalformedBlob))
        had = (one for one in self._recalled.values() if one is not None)
        named = sum(len(one.topics) + len(one.owned or ()) for one in said)
        return named + sum(len(one.partitions) for one in had)

    def read_ahead(self) -> int:
        """Read whatever anybody may want to know of it; gives how many topics and partitions one of its protocols
        names at most.

        A megabyte names 260,000, and takes some 0.3 s: it is for a thread in which nobody waits for that.
        """
        most = 0
        for protocol in self.protocols:
            try:
                said = self.subscription(protocol)
            except MalformedBlob:
                # Whoever needs it refuses it in words of its own.
                continue
            recalled = self.recalled(said.user_data) if protocol.name in STICKY and said.user_data else None
            had = () if recalled is None else recalled.partitions
            most = max(most, len(said.topics) + len(said.owned or ()), len(had))
        return most


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedMember:
    """One member as the leader is told of it."""

    member_id: MemberId
    instance_id: InstanceId | None
    metadata: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinGroupReply:
    """The answer to JoinGroup; an error carries generation -1 and no protocol."""

    error: ErrorCode
    member_id: MemberId
    generation: int = UNKNOWN_GENERATION
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str = ""
    skip_assignment: bool = False
    members: tuple[JoinedMember, ...] = ()


@dataclass(frozen=True, slots=True)
class MemberAssignment:
    """What a leader assigns to one member, as bytes."""

    member_id: MemberId
    assignment: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncGroup:
    """A member asks for its assignment; a leader brings everybody's.

    `names_protocol` is true from version 5 on, where type and name are mandatory (KIP-559).
    """

    group_id: GroupId
    generation: int
    member_id: MemberId
    instance_id: InstanceId | None
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignments: tuple[MemberAssignment, ...] = ()
    names_protocol: bool = False

    @property
    def lacks_protocol(self) -> bool:
        """Whether what is mandatory is missing, which Kafka refuses before it looks for group and member (K1.47)."""
        return self.names_protocol and (self.protocol_type is None or self.protocol_name is None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncGroupReply:
    """The answer to SyncGroup: assignment bytes, never empty on success."""

    error: ErrorCode
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A member says that it lives, in which generation."""

    group_id: GroupId
    generation: int
    member_id: MemberId
    instance_id: InstanceId | None


@dataclass(frozen=True, slots=True)
class HeartbeatReply:
    """The answer to Heartbeat: a code and nothing else."""

    error: ErrorCode


@dataclass(frozen=True, slots=True, kw_only=True)
class LeavingMember:
    """One seat that is to be given up: by member id, by instance id, or both."""

    member_id: MemberId
    instance_id: InstanceId | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveGroup:
    """Members leave; before version 3 (`is_batch` false) exactly one, by its member id."""

    group_id: GroupId
    members: tuple[LeavingMember, ...]
    is_batch: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftMember:
    """What became of one entry of a LeaveGroup."""

    member_id: MemberId
    instance_id: InstanceId | None
    error: ErrorCode


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveGroupReply:
    """The answer to LeaveGroup; before version 3 the codec makes the single entry's error the only one (K1.57)."""

    error: ErrorCode
    members: tuple[LeftMember, ...] = ()


ClassicRequest = JoinGroup | SyncGroup | Heartbeat | LeaveGroup
ClassicReply = JoinGroupReply | SyncGroupReply | HeartbeatReply | LeaveGroupReply


# ------------------------------------------------------------------------------------------- claims
# What a joining consumer says it had: its own list, or what a sticky assignor remembers in user data (KIP-341).
#
# Whether it is true is for the coordinator to judge.


@dataclass(frozen=True, slots=True)
class Claim:
    """Partitions that a client says it had, as of a generation; -1 where it doesn't say which (user data v0)."""

    partitions: frozenset[TopicPartition] = frozenset()
    generation: int = NO_GENERATION


NO_CLAIM = Claim()


def read_claim(request: JoinGroup) -> Claim:
    """The newest claim among a member's protocols, the first of equals; a blob that can't be read claims nothing.

    Each assignor remembers only what it assigned itself, so a client that changed assignors has several memories.
    """
    claims = [_claim(request, protocol) for protocol in request.protocols]
    return max((claim for claim in claims if claim.partitions), key=lambda claim: claim.generation, default=NO_CLAIM)


def _claim(request: JoinGroup, protocol: Protocol) -> Claim:
    """A list of what is owned is what the client has, user data what it had; either may carry the generation."""
    try:
        subscription = request.subscription(protocol)
    except MalformedBlob:
        # A hint that can't be read is no hint; whoever needs the subscription itself refuses it.
        return NO_CLAIM
    remembered = _remembered(request, protocol.name, subscription)
    if subscription.owned:
        return Claim(subscription.owned, max(subscription.generation, remembered.generation))
    return Claim(remembered.partitions, remembered.generation)


def _remembered(request: JoinGroup, name: str, subscription: Subscription) -> StickyUserData:
    found = request.recalled(subscription.user_data) if name in STICKY and subscription.user_data else None
    return found or StickyUserData(frozenset())
