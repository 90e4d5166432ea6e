"""Whether an order can be carried out, by what brokers can do and what was seen of its group."""

from collections.abc import Iterable, Mapping

from bridge.coordinators.moving.preflight import Forecast
from bridge.coordinators.moving.sight import NOTHING_SEEN, Sight
from bridge.migration.abilities import BrokerAbilities, TakeOverWay
from bridge.migration.moves.members import ClassicMember
from bridge.migration.observed import GroupKind, ObservedGroup, ObservedMember, UserData
from bridge.migration.orders import MoveOrder, Obstacle
from bridge.migration.readiness import OF_A_LOOK, assess
from bridge.migration.reasons import Reason, Weight
from bridge.migration.route import Road
from translators.dialects.consumer_protocol import CONSUMER
from translators.dialects.ids import MemberId


def foretell(
    order: MoveOrder, origin: Road, members: Mapping[MemberId, ClassicMember], abilities: BrokerAbilities, sight: Sight
) -> Forecast:
    """What is known of an order in which these members have a part."""
    reasons = judge(order, origin, members.values(), abilities, sight)
    if abilities.takeover is TakeOverWay.UNKNOWN:
        # A broker that tells nothing of itself may be able to do it all: the pilot finds out, and changes nothing.
        reasons = tuple(one for one in reasons if one.code in OF_A_LOOK)
    heeded = {Weight.BLOCKS} if order.allow_rebalance else {Weight.BLOCKS, Weight.DISTURBS}
    obstacles = tuple(_obstacle(one) for one in reasons if one.weight in heeded)
    notes = tuple(_obstacle(one) for one in reasons if one.weight is Weight.NOTES and one.code in OF_A_LOOK)
    is_of_brokers = any(one.code not in OF_A_LOOK for one in obstacles)
    return Forecast(obstacles, notes, sight.unheard, is_of_brokers)


def judge(
    order: MoveOrder,
    origin: Road,
    members: Iterable[ClassicMember],
    abilities: BrokerAbilities,
    sight: Sight = NOTHING_SEEN,
) -> tuple[Reason, ...]:
    """All that is to be said of an order in which these members have a part: of those that are not moved, such as the
    rest of a group whose user data a round leaves behind, only that they do not come by this bridge.
    """
    here = [one for one in members if one.member_id not in sight.unheard]
    elsewhere = [_stranger(one) for one in members if one.member_id in sight.unheard]
    group = ObservedGroup(
        group_id=order.group_id,
        road=origin,
        kind=GroupKind.CLASSIC,
        protocol_type=CONSUMER,
        members=(*(_observed(one, sight) for one in here if order.concerns(one.member_id)), *elsewhere),
        is_complete=True,
        has_foreign_commits=sight.has_foreign_commits,
    )
    return assess(group, abilities, order.destination).reasons


def _stranger(member: ClassicMember) -> ObservedMember:
    """One that does not come by this bridge: what it could do is nobody's concern, as it is not moved."""
    return ObservedMember(
        member_id=member.member_id,
        client_id=member.client.client_id,
        client_host=member.client.client_host,
        instance_id=member.instance_id,
        assignment_data=_user_data(member),
        is_behind_bridge=False,
    )


def _user_data(member: ClassicMember) -> UserData:
    return UserData.OPAQUE if member.has_user_data else UserData.NONE


def _observed(member: ClassicMember, sight: Sight) -> ObservedMember:
    """What a move knows of it; of its blobs it judges by itself."""
    return ObservedMember(
        member_id=member.member_id,
        client_id=member.client.client_id,
        client_host=member.client.client_host,
        instance_id=member.instance_id,
        assignors=tuple(protocol.name for protocol in member.protocols),
        session_timeout_ms=member.session_timeout_ms,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        assignment_data=_user_data(member),
        is_behind_bridge=True,
        hidden_topics=None if member.member_id in sight.unasked else sight.hidden_topics.get(member.member_id, ()),
        has_old_commits=member.member_id in sight.old_commits,
    )


def _obstacle(reason: Reason) -> Obstacle:
    whose = reason.members[0] if len(reason.members) == 1 else None
    return Obstacle(reason.code, reason.text, reason.remedy, whose)
