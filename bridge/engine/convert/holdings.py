"""What each member of a classic group wants and may be using, read from its clients' own bytes.

It must not know consumer groups, or whether anything is converted.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from bridge.engine.classic.group import ClassicGroup
from bridge.engine.classic.model import ClassicMember, Phase
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """A member with what it subscribes to, what it was assigned in the generation it knows, and what of that it may
    be using; a newcomer never completed a join.

    `synced` is its last synced assignment, which it is to keep if it can (decision 7).
    """

    member: ClassicMember
    wants: Subscription
    synced: Named
    handed: Named
    using: Named
    is_newcomer: bool
    is_completing: bool


def translatable_metadata(member: ClassicMember, former_name: str | None = None) -> bytes | None:
    """What a member says under the protocol that its machine will speak for it, None if none has a server-side
    equivalent: the one it was told before if it still offers that, else its first.
    """
    known = [offer for offer in member.protocols if offer.name in TRANSLATABLE]
    former = [offer for offer in known if offer.name == former_name]
    return next((offer.metadata for offer in former or known), None)


def find_unreadable(group: ClassicGroup) -> tuple[ClassicMember, MalformedBlob, bool] | None:
    """The first member whose bytes can't be read, and whether they are its subscription or else its assignment."""
    for member_id, member in group.members.items():
        try:
            _wants(group, member)
        except MalformedBlob as malformed:
            return member, malformed, True
        try:
            _synced(group, member_id)
        except MalformedBlob as malformed:
            return member, malformed, False
    return None


def read_holdings(group: ClassicGroup, held_up: Named = NOTHING) -> tuple[Holding, ...]:
    """Everybody's holding (decision 7); no partition is in use by two.

    While the generation that members know is the last one that synced, it is what they were assigned then, and whoever
    has sent a new JoinGroup says by that request what it gives up. In a later generation nobody was told anything yet:
    a cooperative member still uses what it says of its last synced assignment, an eager one nothing. Nobody has been
    told either of what is `held_up` by commits of former owners (decision 2). A cooperative member may besides be
    using what it said it had when it joined last, where nobody else does: it lets go after it has its new assignment,
    and tells so by joining again. Raises `MalformedBlob`.
    """
    taken: set[TopicPartition] = set()
    holdings: list[Holding] = []
    for holding in _read(group, held_up):
        synced = holding.synced - taken
        taken |= synced
        holdings.append(replace(holding, synced=synced, using=holding.using & synced))
    for place, holding in enumerate(holdings):
        kept = _unrevoked(holding) - taken
        taken |= kept
        holdings[place] = replace(holding, using=holding.using | kept)
    return tuple(holdings)


def _unrevoked(holding: Holding) -> Named:
    """What a member has, as far as it has told; of an eager one, and of one that was never in, that says nothing."""
    if holding.is_newcomer or any(offer.name != COOPERATIVE for offer in holding.member.protocols):
        return NOTHING
    return holding.wants.owned or NOTHING


def _read(group: ClassicGroup, held_up: Named) -> Iterator[Holding]:
    is_synced = group.phase is not Phase.COMPLETING_REBALANCE and group.roster.generation == group.synced.generation
    for member_id, member in group.members.items():
        wants = _wants(group, member)
        synced = _synced(group, member_id)
        waits = member_id in group.unsynced or member_id in group.syncing
        using = synced if is_synced else _kept(member, wants, synced)
        if waits:
            using -= held_up
        yield Holding(
            member=member,
            wants=wants,
            synced=synced,
            handed=using,
            using=using,
            is_newcomer=member_id in group.newcomers,
            is_completing=group.phase is Phase.COMPLETING_REBALANCE or waits,
        )


def _wants(group: ClassicGroup, member: ClassicMember) -> Subscription:
    return decode_subscription(translatable_metadata(member, group.roster.protocol_name) or b"")


def _synced(group: ClassicGroup, member_id: MemberId) -> Named:
    seat = group.synced.members.get(member_id)
    return NOTHING if seat is None else decode_assignment(seat.assignment).partitions


def _kept(member: ClassicMember, wants: Subscription, synced: Named) -> Named:
    """An absent list of a member with cooperative protocols only acknowledges nothing (decision 6)."""
    if wants.owned is not None:
        return wants.owned & synced
    is_cooperative = all(offer.name == COOPERATIVE for offer in member.protocols)
    return synced if is_cooperative else NOTHING
