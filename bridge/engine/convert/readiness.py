"""Why a group can't change its type at this moment, by what each of its members wants and may be using."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from bridge.engine.commands import GroupType, Speaks
from bridge.engine.model import ClassicMember, Phase
from bridge.engine.outcome import NotConverted, Unready
from bridge.engine.state import ClassicGroup, Group, Shard, settings_of
from translators.dialects.classic import Protocol
from translators.dialects.consumer_protocol import (
    CONSUMER,
    COOPERATIVE,
    TRANSLATABLE,
    MalformedBlob,
    Subscription,
    decode_assignment,
    decode_subscription,
)
from translators.dialects.coordinator import ClassicSeat
from translators.dialects.counts import counted
from translators.dialects.errors import quote
from translators.dialects.ids import GroupId, MemberId, TopicPartition

# ----------------------------------------------------------------------------------------- holdings
# What each member of a classic group wants and may be using, read from its clients' own bytes.

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
    """What everybody has at its conversion (decision 7); no partition is in use by two.

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


# ---------------------------------------------------------------------------------------- readiness
# Why a group can't change its type at this moment, as a value.


def find_upgrade_fault(state: Shard, group_id: GroupId, newcomers: int = 0) -> NotConverted | None:
    """Why a classic group can't become a consumer group with so many more members; None if it can."""
    read = read_upgrade(state, group_id, newcomers)
    return read if isinstance(read, NotConverted) else None


def read_upgrade(state: Shard, group_id: GroupId, newcomers: int = 0) -> NotConverted | Reading:
    """What the members of a classic group say, or why it can't become a consumer group with so many more members.

    User data in assignments is no reason where the assignor is known (Kafka refuses then, KAFKA-18134).
    """
    group = state.classic_groups.get(group_id)
    if group is None or group.phase is Phase.DEAD:
        return _missing(state, group_id, GroupType.CONSUMER)
    fault = _find_foreign(group) or _find_excess(state, group, 0) or _find_custom(group)
    if fault is not None:
        return fault
    read = read_words(group)
    return _malformed(group, read) if isinstance(read, Unreadable) else _find_excess(state, group, newcomers) or read


def find_policy_fault(state: Shard, group_id: GroupId, to: GroupType) -> NotConverted | None:
    """Why a group may not change its type by somebody's coming or going."""
    policy = settings_of(state, group_id).group_consumer_migration_policy
    allows = policy.upgrades if to is GroupType.CONSUMER else policy.downgrades
    if allows:
        return None
    text = f"group.consumer.migration.policy of group {quote(group_id)} is {policy.value}: an operator may convert it"
    return NotConverted(group_id, to, Unready.POLICY, text)


def find_departure_fault(state: Shard, group_id: GroupId) -> NotConverted | None:
    """Why a consumer group can't turn classic, as far as its seats need not be known; None if it may."""
    group = state.groups.get(group_id)
    if group is None:
        return _missing(state, group_id, GroupType.CLASSIC)
    natives = sorted(one for one, member in group.members.items() if member.subscription.speaks is Speaks.CONSUMER)
    if natives:
        text = (
            f"group {quote(group_id)} has members that speak the consumer protocol ({len(natives)},"
            f" {quote(natives[0])} among them), and they can't be members of a classic group; stop them or restart"
            " them with group.protocol=classic first"
        )
        return NotConverted(group_id, GroupType.CLASSIC, Unready.CONSUMER_MEMBERS, text)
    most = settings_of(state, group_id).group_max_size
    return too_large(group_id, GroupType.CLASSIC, len(group.members), most)


def find_seats_fault(group: Group, seats: Iterable[ClassicSeat]) -> NotConverted | None:
    """Why these seats can't make the group a classic one: somebody has none, or no protocol is common (K4.4)."""
    seats = tuple(seats)
    missing = group.members.keys() - {seat.member_id for seat in seats}
    if missing:
        text = (
            f"of group {quote(group.group_id)} {counted(len(missing), 'member is', 'members are')} just coming or"
            f" going, {quote(min(missing))} among them"
        )
        return NotConverted(group.group_id, GroupType.CLASSIC, Unready.UNSEATED_MEMBER, text)
    offers = [{offer.name for offer in seat.protocols} for seat in seats]
    if offers and not set.intersection(*offers):
        names = ", ".join(sorted(set.union(*offers)))
        text = (
            f"no protocol is offered by all {counted(len(seats), 'member')} of group {quote(group.group_id)} (they"
            f" offer {quote(names)}), and a classic group needs one; a consumer group does not, so it stays one"
        )
        return NotConverted(group.group_id, GroupType.CLASSIC, Unready.NO_COMMON_PROTOCOL, text)
    return None


def _missing(state: Shard, group_id: GroupId, to: GroupType) -> NotConverted:
    if group_id in (state.groups if to is GroupType.CONSUMER else state.classic_groups):
        return NotConverted(group_id, to, Unready.SAME_TYPE, f"group {quote(group_id)} is a {to.value} group already")
    return NotConverted(group_id, to, Unready.UNKNOWN_GROUP, f"no group {quote(group_id)} is known here")


def _find_foreign(group: ClassicGroup) -> NotConverted | None:
    protocol_type = group.roster.protocol_type
    if not group.members or protocol_type == CONSUMER:
        return None
    text = (
        f"protocol type {quote(protocol_type)!r} of group {quote(group.group_id)} is not {CONSUMER!r}:"
        " its own leader computes"
    )
    return _unready(group, Unready.FOREIGN_PROTOCOL_TYPE, text)


def _find_custom(group: ClassicGroup) -> NotConverted | None:
    name = group.roster.protocol_name
    if name is not None and name not in TRANSLATABLE:
        text = (
            f"assignor {quote(name)!r} of group {quote(group.group_id)} has no server-side equivalent:"
            " its own leader computes"
        )
        return _unready(group, Unready.CUSTOM_ASSIGNOR, text)
    lacking = _first(member for member in group.members.values() if translatable_offer(member) is None)
    if lacking is None:
        return None
    names = ", ".join(offer.name for offer in lacking.protocols)
    text = f"member {quote(lacking.member_id)} offers no assignor with a server-side equivalent, only {quote(names)}"
    return _unready(group, Unready.CUSTOM_ASSIGNOR, text)


def _malformed(group: ClassicGroup, found: Unreadable) -> NotConverted:
    member, malformed = found.member, found.malformed
    identity = member.identity
    whose = f"of member {quote(member.member_id)} (client id {quote(identity.client_id)!r}, {identity.client_host})"
    if found.is_subscription:
        return _unready(
            group, Unready.MALFORMED_SUBSCRIPTION, f"the subscription {whose} can't be read: {quote(malformed)}"
        )
    text = f"the assignment {whose}, which its leader made, can't be read: {quote(malformed)}"
    return _unready(group, Unready.MALFORMED_ASSIGNMENT, text)


def _find_excess(state: Shard, group: ClassicGroup, newcomers: int) -> NotConverted | None:
    most = settings_of(state, group.group_id).group_consumer_max_size
    return too_large(group.group_id, GroupType.CONSUMER, len(group.members) + newcomers, most)


def too_large(group_id: GroupId, to: GroupType, count: int, most: int) -> NotConverted | None:
    """Why a group can't have so many members; None if it can."""
    if count <= most:
        return None
    text = f"{counted(count, 'member is', 'members are')} more than the {most} that a {to.value} group may have"
    return NotConverted(group_id, to, Unready.TOO_LARGE, text)


def _unready(group: ClassicGroup, reason: Unready, text: str) -> NotConverted:
    return NotConverted(group.group_id, GroupType.CONSUMER, reason, text)


def _first(members: Iterable[ClassicMember]) -> ClassicMember | None:
    return next(iter(members), None)
