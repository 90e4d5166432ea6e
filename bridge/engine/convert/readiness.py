"""Why a group can't change its type at this moment, as a value."""

from collections.abc import Iterable

from bridge.engine.commands import GroupType, Speaks
from bridge.engine.convert.holdings import Reading, Unreadable, read_words, translatable_offer
from bridge.engine.model import ClassicMember, Phase
from bridge.engine.outcome import NotConverted, Unready
from bridge.engine.state import ClassicGroup, Group, Shard, settings_of
from translators.dialects.consumer_protocol import CONSUMER, TRANSLATABLE
from translators.dialects.coordinator import ClassicSeat
from translators.dialects.errors import quote
from translators.dialects.ids import GroupId


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
    fault = _find_foreign(group) or _find_custom(group)
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
            f"{len(missing)} members of group {quote(group.group_id)} are just coming or going,"
            f" {quote(min(missing))} among them"
        )
        return NotConverted(group.group_id, GroupType.CLASSIC, Unready.UNSEATED_MEMBER, text)
    offers = [{offer.name for offer in seat.protocols} for seat in seats]
    if offers and not set.intersection(*offers):
        names = ", ".join(sorted(set.union(*offers)))
        text = (
            f"no protocol is offered by all {len(seats)} members of group {quote(group.group_id)} (they offer"
            f" {quote(names)}), and a classic group needs one; a consumer group does not, so it stays one"
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
    text = f"{count} members are more than the {most} that a {to.value} group may have"
    return NotConverted(group_id, to, Unready.TOO_LARGE, text)


def _unready(group: ClassicGroup, reason: Unready, text: str) -> NotConverted:
    return NotConverted(group.group_id, GroupType.CONSUMER, reason, text)


def _first(members: Iterable[ClassicMember]) -> ClassicMember | None:
    return next(iter(members), None)
