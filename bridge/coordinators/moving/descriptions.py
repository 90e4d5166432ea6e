"""What a group's coordinator says of it, where it says anything: an answer that is an error describes nobody, and is no
word on who there is.
"""

from bridge.migration.orders import Obstacle
from bridge.ports import Broker, BrokerUnreachable, GroupRefused
from translators.dialects.admin import DescribedGroup
from translators.dialects.consumer import DescribedConsumerGroup
from translators.dialects.errors import ErrorCode, quote
from translators.dialects.ids import GroupId

_IS_SAID = frozenset({ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND})
_IS_SAID_SOON = frozenset(
    {ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR}
)


class CoordinatorBusy(BrokerUnreachable):
    """A coordinator loads or moves, as for some seconds behind each start of a broker: it tells as soon as it has."""


async def describe(broker: Broker, group_id: GroupId) -> DescribedGroup | DescribedConsumerGroup:
    """The group as its broker has it; raises BrokerUnreachable also where that tells nothing, as while a coordinator
    loads or moves: taken for a group without members it would have its seats left behind, or somebody else's members
    removed.
    """
    described = await broker.describe_group(group_id)
    if described.error in _IS_SAID:
        return described
    told = f"EB-MOVE-253: {quote(group_id)} is described with {described.error.name}; order it again"
    if described.error is ErrorCode.GROUP_AUTHORIZATION_FAILED:
        raise GroupRefused(f"{told} when the bridge's own login has DESCRIBE on the group")
    if described.error is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
        # Of a consumer group nothing is told to whom a topic of any member is hidden.
        raise GroupRefused(f"{told} when the bridge's own login has DESCRIBE on the topics of all its members")
    told = f"{told} when its coordinator answers"
    raise CoordinatorBusy(told) if described.error in _IS_SAID_SOON else BrokerUnreachable(told)


def undescribed(group_id: GroupId, problem: BrokerUnreachable) -> Obstacle:
    """What stands in the way of a move in the middle of which this was raised."""
    told = f"the broker can't describe {quote(group_id)}: {problem}"
    if isinstance(problem, GroupRefused):
        return Obstacle(
            "EB-MOVE-225", told, "give the bridge's own login DESCRIBE on the group, and order the move again"
        )
    return Obstacle("EB-MOVE-225", told, "see that its broker can be reached, and order the move again")
