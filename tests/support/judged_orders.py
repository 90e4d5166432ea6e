"""Orders that are judged before they begin: members at work, brokers that can do it all, and what was found."""

from collections.abc import Iterable

from bridge.migration.abilities import BrokerAbilities, Login, TakeOverWay
from bridge.migration.moves.members import ClassicMember
from bridge.migration.orders import MoveOrder, Obstacle
from bridge.migration.reasons import Reason, Weight
from bridge.migration.route import Road
from tests.support.owned_group import CLIENT, GROUP, TOPIC
from translators.dialects.classic import Protocol
from translators.dialects.configs import MigrationPolicy
from translators.dialects.ids import MemberId, TopicPartition

ABLE = BrokerAbilities(
    takeover=TakeOverWay.IN_PLACE,
    policy=MigrationPolicy.BIDIRECTIONAL,
    session_min_ms=6_000,
    session_max_ms=1_800_000,
    classic_size_max=10,
    consumer_size_max=10,
    login=Login.OPEN,
)
TO_UPSTREAM, TO_PASS = MoveOrder(GROUP, Road.UPSTREAM), MoveOrder(GROUP, Road.PASS)


def member(member_id: str = "a", session_ms: int = 30_000, assignor: str = "range") -> ClassicMember:
    """A classic member at work."""
    return ClassicMember(
        member_id=MemberId(member_id),
        instance_id=None,
        client=CLIENT,
        protocols=(Protocol(assignor, b""),),
        protocol_name=assignor,
        session_timeout_ms=session_ms,
        rebalance_timeout_ms=60_000,
        generation=3,
        using=frozenset({TopicPartition(TOPIC, 0)}),
    )


def codes(found: Iterable[Reason | Obstacle]) -> list[str]:
    """What stands in the way; what is only to be known is left out."""
    return [one.code for one in found if not isinstance(one, Reason) or one.weight is not Weight.NOTES]
