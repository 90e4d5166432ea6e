"""What a client's JoinGroup says about it: which assignor speaks for it, what it subscribes to, and whether it is
eager.
"""

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
from translators.dialects.ids import TopicName, TopicPartition


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
