"""What brokers can do, asked before a move begins: what they would refuse in the middle is a reason not to begin."""

from collections.abc import Awaitable, Callable, Iterable

import trio

from bridge.migration.abilities import BrokerAbilities, TakeOver
from bridge.migration.moves.members import ClassicMember
from bridge.migration.observed import GroupKind, ObservedGroup, ObservedMember
from bridge.migration.orders import MoveOrder, Obstacle
from bridge.migration.readiness import assess
from bridge.migration.reasons import Reason, Weight
from bridge.migration.route import Road
from bridge.ports import BrokerUnreachable
from translators.dialects.consumer_protocol import CONSUMER

ASK_S = 5.0
"""How long brokers may take to say it; what they don't say is found out by the move."""


async def _nothing_known() -> BrokerAbilities:
    return BrokerAbilities()


class Preflight:
    """Asks for the abilities of the cluster and judges orders by them."""

    def __init__(self) -> None:
        self.abilities: Callable[[], Awaitable[BrokerAbilities]] = _nothing_known
        """Set by who can ask the brokers."""

    async def find_obstacles(
        self, order: MoveOrder, origin: Road, members: Iterable[ClassicMember]
    ) -> tuple[Obstacle, ...]:
        """What stands in the way of an order for these members, () where nothing is known to."""
        abilities = BrokerAbilities()
        with trio.move_on_after(ASK_S):
            try:
                abilities = await self.abilities()
            except BrokerUnreachable:
                return ()
        if abilities.takeover is TakeOver.UNKNOWN:
            # A broker that tells nothing of itself may be able to do it all: the pilot finds out, and changes nothing.
            return ()
        return judge(order, origin, members, abilities)


def judge(
    order: MoveOrder, origin: Road, members: Iterable[ClassicMember], abilities: BrokerAbilities
) -> tuple[Obstacle, ...]:
    """The reasons that block the order, also those that an operator may overrule and has not."""
    group = ObservedGroup(
        group_id=order.group_id,
        road=origin,
        kind=GroupKind.CLASSIC,
        protocol_type=CONSUMER,
        members=tuple(map(_observed, members)),
        is_complete=True,
    )
    heeded = {Weight.BLOCKS} if order.allow_rebalance else {Weight.BLOCKS, Weight.DISTURBS}
    reasons = assess(group, abilities, order.destination).reasons
    return tuple(_obstacle(reason) for reason in reasons if reason.weight in heeded)


def _observed(member: ClassicMember) -> ObservedMember:
    """What a move knows of it; of its blobs it judges by itself."""
    return ObservedMember(
        member_id=member.member_id,
        client_id=member.client.client_id,
        client_host=member.client.client_host,
        instance_id=member.instance_id,
        assignors=tuple(protocol.name for protocol in member.protocols),
        session_timeout_ms=member.session_timeout_ms,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
    )


def _obstacle(reason: Reason) -> Obstacle:
    whose = reason.members[0] if len(reason.members) == 1 else None
    return Obstacle(reason.code, reason.text, reason.remedy, whose)
