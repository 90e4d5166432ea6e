"""What each member of a classic group wants and may be using, read from its clients' own bytes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from bridge.engine.model import ClassicMember, Phase
from bridge.engine.state import ClassicGroup
from translators.dialects.classic import Protocol
from translators.dialects.consumer_protocol import (
    COOPERATIVE,
    TRANSLATABLE,
    MalformedBlob,
    Subscription,
    decode_assignment,
    decode_subscription,
)
from translators.dialects.ids import MemberId, TopicPartition

Named = frozenset[TopicPartition]
NOTHING: Named = frozenset()
_SILENCE = Protocol("", b"")


@dataclass(frozen=True, slots=True)
class Words:
    """What a member's bytes say: the protocol that speaks for it, its subscription, its last synced assignment."""

    protocol_name: str
    wants: Subscription
    synced: Named


Reading = Mapping[MemberId, Words]
"""The words of every member of a group, in the group's order."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A member whose bytes can't be read, and whether they are its subscription or else its assignment."""

    member: ClassicMember
    malformed: MalformedBlob
    is_subscription: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """A member with what it subscribes to, what it was assigned in the generation it knows, and what of that it may
    be using; a newcomer never completed a join.

    `synced` is its last synced assignment, which it is to keep if it can (decision 7).
    """

    member: ClassicMember
    words: Words
    synced: Named
    handed: Named
    using: Named
    is_newcomer: bool
    is_completing: bool


def translatable_offer(member: ClassicMember, former_name: str | None = None) -> Protocol | None:
    """The protocol that its machine will speak for a member, None if none has a server-side equivalent: the one it was
    told before if it still offers that, else its first.
    """
    known = [offer for offer in member.protocols if offer.name in TRANSLATABLE]
    former = [offer for offer in known if offer.name == former_name]
    return next(iter(former or known), None)


def read_words(group: ClassicGroup) -> Reading | Unreadable:
    """Read everybody's bytes, once: most subscriptions of a group are the same bytes."""
    former_name, synced_members = group.roster.protocol_name, group.synced.members
    known: dict[bytes, Subscription] = {}
    words: dict[MemberId, Words] = {}
    for member_id, member in group.members.items():
        offer = translatable_offer(member, former_name) or _SILENCE
        try:
            wants = known.get(offer.metadata) or known.setdefault(offer.metadata, decode_subscription(offer.metadata))
        except MalformedBlob as malformed:
            return Unreadable(member, malformed, is_subscription=True)
        seat = synced_members.get(member_id)
        try:
            synced = NOTHING if seat is None else decode_assignment(seat.assignment).partitions
        except MalformedBlob as malformed:
            return Unreadable(member, malformed, is_subscription=False)
        words[member_id] = Words(offer.name, wants, synced)
    return words


def read_holdings(group: ClassicGroup, reading: Reading, held_up: Named = NOTHING) -> tuple[Holding, ...]:
    """Everybody's holding (decision 7); no partition is in use by two.

    While the generation that members know is the last one that synced, it is what they were assigned then, and whoever
    has sent a new JoinGroup says by that request what it gives up. In a later generation nobody was told anything yet:
    a cooperative member still uses what it says of its last synced assignment, an eager one nothing. Nobody has been
    told either of what is `held_up` by commits of former owners (decision 2). A cooperative member may besides be
    using what it said it had when it joined last, where nobody else does: it lets go after it has its new assignment,
    and tells so by joining again.
    """
    taken: set[TopicPartition] = set()
    holdings: list[Holding] = []
    for holding in _read(group, reading, held_up):
        if taken.isdisjoint(holding.synced):
            holdings.append(holding)
        else:
            synced = holding.synced - taken
            holdings.append(replace(holding, synced=synced, using=holding.using & synced))
        taken |= holding.synced
    for place, holding in enumerate(holdings):
        kept = _unrevoked(holding) - taken
        if kept:
            taken |= kept
            holdings[place] = replace(holding, using=holding.using | kept)
    return tuple(holdings)


def _unrevoked(holding: Holding) -> Named:
    """What a member has, as far as it has told; of an eager one, and of one that was never in, that says nothing."""
    owned = holding.words.wants.owned
    if not owned or holding.is_newcomer or any(offer.name != COOPERATIVE for offer in holding.member.protocols):
        return NOTHING
    return owned


def _read(group: ClassicGroup, reading: Reading, held_up: Named) -> Iterator[Holding]:
    is_synced = group.phase is not Phase.COMPLETING_REBALANCE and group.roster.generation == group.synced.generation
    for member_id, member in group.members.items():
        words = reading[member_id]
        waits = member_id in group.unsynced or member_id in group.syncing or member_id in group.succeeding
        using = words.synced if is_synced else _kept(member, words)
        if waits:
            using -= held_up
        yield Holding(
            member=member,
            words=words,
            synced=words.synced,
            handed=using,
            using=using,
            is_newcomer=member_id in group.newcomers,
            is_completing=group.phase is Phase.COMPLETING_REBALANCE or waits,
        )


def _kept(member: ClassicMember, words: Words) -> Named:
    """An absent list of a member with cooperative protocols only acknowledges nothing (decision 6)."""
    if words.wants.owned is not None:
        return words.wants.owned & words.synced
    is_cooperative = all(offer.name == COOPERATIVE for offer in member.protocols)
    return words.synced if is_cooperative else NOTHING
