"""What a broker means a member to have in the end: asked for when it was granted something, as its heartbeat does not
tell whether more is to come, and whoever gains is called once.
"""

from collections.abc import Callable, Iterator
from functools import partial

from bridge.session.contracts import BrokerAccess
from translators.dialects.consumer import ConsumerGroupDescribe, ConsumerGroupDescribeReply, DescribedConsumerGroup
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId, MemberRef, TopicPartition
from translators.dialects.messages import GroupReply

Target = frozenset[TopicPartition]
Take = Callable[[Target | None], None]


class Targets:
    """The groups that are being described; of each one description is asked for at a time, which serves all who ask
    meanwhile.
    """

    def __init__(self) -> None:
        self._asking: dict[GroupId, list[tuple[MemberId, Take]]] = {}

    def find(self, seat: MemberRef, way: BrokerAccess, take: Take) -> None:
        """`take` is called once, perhaps before this returns; None where the broker does not tell: it may have to
        compute a new one first, or the client may not describe a topic of any member (29).
        """
        waiting = self._asking.get(seat.group_id)
        if waiting is not None:
            waiting.append((seat.member_id, take))
            return
        self._asking[seat.group_id] = [(seat.member_id, take)]
        way.ask(None, ConsumerGroupDescribe((seat.group_id,)), partial(self._hear, seat.group_id))

    def _hear(self, group_id: GroupId, reply: GroupReply | None) -> None:
        waiting = self._asking.pop(group_id, [])
        described = reply.groups if isinstance(reply, ConsumerGroupDescribeReply) else ()
        targets = {member_id: target for group in described for member_id, target in _targets(group)}
        for member_id, take in waiting:
            take(targets.get(member_id))


def _targets(group: DescribedConsumerGroup) -> Iterator[tuple[MemberId, Target]]:
    if group.error is not ErrorCode.NONE or group.assignment_epoch != group.group_epoch:
        return
    for member in group.members:
        yield (
            member.member_id,
            frozenset(
                TopicPartition(topic.topic_name, one) for topic in member.target_assignment for one in topic.partitions
            ),
        )
