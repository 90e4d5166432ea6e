"""What a request says of the client behind it: who it is, which assignor speaks for it, what it subscribes to."""

from dataclasses import dataclass

from translators.dialects.classic import JoinGroup, Protocol
from translators.dialects.consumer_protocol import (
    CONSUMER,
    COOPERATIVE,
    TRANSLATABLE,
    MalformedBlob,
    Subscription,
    version_of,
)
from translators.dialects.errors import ErrorCode, Refusal, quote
from translators.dialects.ids import InstanceId, MemberId, TopicName, TopicPartition

# ------------------------------------------------------------------------------------------ profile
# What a client's JoinGroup says about it: which assignor speaks for it, what it subscribes to, and whether it is
# eager.


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A client as its last JoinGroup shows it; `owned` is its own list, None where it sent none."""

    protocols: tuple[Protocol, ...]
    protocol_name: str
    topics: frozenset[TopicName]
    rack_id: str | None
    owned: frozenset[TopicPartition] | None
    is_eager: bool
    session_timeout_ms: int
    rebalance_timeout_ms: int

    @property
    def blob_version(self) -> int:
        """The version of the consumer protocol that the client writes, and so reads."""
        return next((version_of(one.metadata) for one in self.protocols if one.name == self.protocol_name), 0)


def read_profile(request: JoinGroup, former_name: str = "") -> Profile | Refusal:
    """Read a JoinGroup; `former_name` is the protocol the member was answered before, kept while it still offers it.

    Refused as in `read_subscription`.
    """
    read = read_subscription(request, former_name)
    return read if isinstance(read, Refusal) else profile_of(request, *read)


def read_subscription(request: JoinGroup, former_name: str = "") -> tuple[str, Subscription] | Refusal:
    """The protocol that speaks for a client, and what it subscribes to: for whoever needs no more of its profile.

    Refused as in `check_protocols`, and with UNKNOWN_SERVER_ERROR if the subscription can't be read (K4.10).
    """
    chosen = _choose(request.protocols, former_name)
    if request.protocol_type != CONSUMER or chosen is None:
        return _inconsistent(request)
    try:
        return chosen.name, request.subscription(chosen)
    except MalformedBlob as malformed:
        reason = f"the subscription of protocol {quote(chosen.name)!r} can't be read: {quote(malformed)}"
        return Refusal(ErrorCode.UNKNOWN_SERVER_ERROR, reason)


def check_protocols(request: JoinGroup) -> Refusal | None:
    """Refuse with INCONSISTENT_GROUP_PROTOCOL what can't be translated: another protocol type, or no assignor that is
    known here (K4.4).
    """
    fits = request.protocol_type == CONSUMER and _choose(request.protocols, "") is not None
    return None if fits else _inconsistent(request)


def is_eager(protocols: tuple[Protocol, ...], owned: frozenset[TopicPartition] | None) -> bool:
    """Decide whether this JoinGroup says "I hold nothing now" (decision 6)."""
    return not owned and any(protocol.name != COOPERATIVE for protocol in protocols)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What a JoinGroup says of a client besides its words; equal ones with equal words make equal profiles."""

    protocols: tuple[Protocol, ...]
    session_timeout_ms: int
    rebalance_timeout_ms: int


def profile_of(request: JoinGroup | Offer, name: str, subscription: Subscription) -> Profile:
    """The profile of a client whose `subscription`, under the protocol `name`, has been read already."""
    timeout = request.rebalance_timeout_ms
    return Profile(
        protocols=request.protocols,
        protocol_name=name,
        topics=frozenset(subscription.topics),
        rack_id=subscription.rack_id or None,
        owned=subscription.owned,
        is_eager=is_eager(request.protocols, subscription.owned),
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=timeout if timeout > 0 else request.session_timeout_ms,
    )


def _choose(protocols: tuple[Protocol, ...], former_name: str) -> Protocol | None:
    first: Protocol | None = None
    for protocol in protocols:
        if protocol.name in TRANSLATABLE:
            if protocol.name == former_name:
                return protocol
            first = first or protocol
    return first


def _inconsistent(request: JoinGroup) -> Refusal:
    if request.protocol_type != CONSUMER:
        reason = f"protocol type {quote(request.protocol_type)!r} is not {CONSUMER!r}"
    else:
        names = ", ".join(repr(quote(protocol.name)) for protocol in request.protocols) or "none"
        reason = f"of the protocols offered ({names}) none has a server-side equivalent"
    return Refusal(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, reason)


# ----------------------------------------------------------------------------------------- identity
# Whose request it is: the decision tables for member ids and instance ids (K1.44, K4.5-4.9, K4.20, K4.40).


@dataclass(frozen=True, slots=True)
class Newcomer:
    """The JoinGroup is for a member with a fresh id: an `Absent` machine takes it."""


@dataclass(frozen=True, slots=True)
class Known:
    """The JoinGroup is for the member of this id; if nobody has it, an `Absent` machine takes it (K4.7)."""

    member_id: MemberId


@dataclass(frozen=True, slots=True)
class Successor:
    """The JoinGroup takes the seat of `former`: that machine gets `Replaced`, and after its `Depart` an `Absent`
    machine the join.
    """

    former: MemberId


JoinIdentity = Newcomer | Known | Successor | Refusal


def identify_join(member_id: MemberId, instance_id: InstanceId | None, holder: MemberId | None) -> JoinIdentity:
    """Decide whom a JoinGroup concerns; `holder` is the member that has `instance_id`, None for nobody."""
    if instance_id is None:
        return Known(member_id) if member_id else Newcomer()
    if not member_id:
        return Newcomer() if holder is None else Successor(holder)
    refused = _judge_instance(member_id, instance_id, holder)
    return Known(member_id) if refused is None else refused


def identify_request(
    member_id: MemberId, instance_id: InstanceId | None, holder: MemberId | None
) -> MemberId | Refusal:
    """Decide whom a SyncGroup, Heartbeat or commit concerns; an unknown member id is for the caller to refuse
    (UNKNOWN_MEMBER_ID).
    """
    if instance_id is None:
        return member_id
    refused = _judge_instance(member_id, instance_id, holder)
    return member_id if refused is None else refused


def identify_leaver(member_id: MemberId, instance_id: InstanceId | None, holder: MemberId | None) -> MemberId | Refusal:
    """Decide whom one entry of a LeaveGroup concerns; a static seat may be named by its instance id alone (K1.59)."""
    if instance_id is not None and not member_id and holder is not None:
        return holder
    return identify_request(member_id, instance_id, holder)


def _judge_instance(member_id: MemberId, instance_id: InstanceId, holder: MemberId | None) -> Refusal | None:
    if holder is None:
        return Refusal(ErrorCode.UNKNOWN_MEMBER_ID, f"instance id {quote(instance_id)!r} has no member")
    if holder != member_id:
        reason = f"instance id {quote(instance_id)!r} belongs to member {quote(holder)!r}, not {quote(member_id)!r}"
        return Refusal(ErrorCode.FENCED_INSTANCE_ID, reason)
    return None
