"""What a joining consumer says it had: its own list, or what a sticky assignor remembers in user data (KIP-341).

Whether it is true is for the coordinator to judge.
"""

from dataclasses import dataclass

from translators.dialects.classic import JoinGroup, Protocol
from translators.dialects.consumer_protocol import (
    NO_GENERATION,
    MalformedBlob,
    StickyUserData,
    Subscription,
    decode_sticky_user_data,
)
from translators.dialects.ids import TopicPartition

STICKY = frozenset({"sticky", "cooperative-sticky"})
"""Assignors whose user data is that of KIP-54 and KIP-341; another's bytes mean something else."""


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
    remembered = _remembered(protocol.name, subscription)
    if subscription.owned:
        return Claim(subscription.owned, max(subscription.generation, remembered.generation))
    return Claim(remembered.partitions, remembered.generation)


def _remembered(name: str, subscription: Subscription) -> StickyUserData:
    found = decode_sticky_user_data(subscription.user_data) if name in STICKY and subscription.user_data else None
    return found or StickyUserData(frozenset())
