"""Seats that a broker has and nobody here knows: of clients that were members before the bridge started, where no
journal tells of them, and static ones that a newcomer wants.
"""

from collections import OrderedDict

from bridge.session.contracts import BrokerAccess
from translators.classic_member.talking import SERVER_ASSIGNORS
from translators.dialects.consumer import ConsumerGroupDescribe, ConsumerGroupDescribeReply, ConsumerGroupHeartbeat
from translators.dialects.coordinator import Inquiry, TakenOver
from translators.dialects.ids import JOIN_EPOCH, LEAVE_EPOCH, STATIC_LEAVE_EPOCH, MemberRef
from translators.dialects.messages import GroupReply

REMEMBERED_MAX = 100_000
"""Members that were called, and members that are gone; of the oldest ones it is forgotten."""


class LeftOvers:
    """Who may be one: for a broker's session after the start (`until_ms`) whoever has not been a member since."""

    def __init__(self, until_ms: int) -> None:
        self._until_ms = until_ms
        # By what their names come to, which takes as much for a name of 32 kB as for any other.
        self._called: OrderedDict[int, None] = OrderedDict()
        self._gone: OrderedDict[int, None] = OrderedDict()

    def may_have(self, member: MemberRef, now_ms: int) -> bool:
        """Whether a member without a machine may still have its seat."""
        return now_ms < self._until_ms and _mark(member) not in self._gone

    def call(self, member: MemberRef, now_ms: int) -> bool:
        """Whether to tell it to join again, which is done once: its JoinGroup says what it has, no heartbeat does."""
        if _mark(member) in self._called or not self.may_have(member, now_ms):
            return False
        _remember(self._called, member)
        return True

    def note_gone(self, member: MemberRef) -> None:
        """A member is gone: what its client still thinks to have may be somebody else's by now."""
        _remember(self._gone, member)


def asks_for_its_seat(member: TakenOver) -> ConsumerGroupHeartbeat:
    """The heartbeat by which one that may be a member still (Kafka 4.2 and later) is told what it has."""
    return ConsumerGroupHeartbeat(
        group_id=member.member.group_id,
        member_id=member.member.member_id,
        member_epoch=JOIN_EPOCH,
        instance_id=member.instance_id,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        subscribed_topic_names=tuple(sorted(member.wants.topics)),
        server_assignor=SERVER_ASSIGNORS.get(member.protocol_name),
        owned=frozenset(),
    )


def leaves_its_seat(member: TakenOver) -> ConsumerGroupHeartbeat:
    """The one by which it gives up a seat that is not what it had."""
    return ConsumerGroupHeartbeat(
        group_id=member.member.group_id,
        member_id=member.member.member_id,
        member_epoch=LEAVE_EPOCH,
        instance_id=member.instance_id,
    )


def clear_seat(asked: Inquiry, way: BrokerAccess) -> None:
    """Somebody whom nobody here knows sits on a static seat; of classic clients the newcomer wins (K1.40).

    The broker tells who it is, and the newcomer sees it off: whoever may join with an instance id may do so. Until
    then, and where the broker does not tell, the newcomer waits.
    """

    def see_off(reply: GroupReply | None) -> None:
        described = reply.groups if isinstance(reply, ConsumerGroupDescribeReply) else ()
        for member in (one for group in described for one in group.members):
            if member.instance_id == asked.instance_id and member.member_id != asked.member_id:
                leaving = ConsumerGroupHeartbeat(
                    group_id=asked.group_id,
                    member_id=member.member_id,
                    member_epoch=STATIC_LEAVE_EPOCH,
                    instance_id=asked.instance_id,
                )
                way.ask(None, leaving, unheard)

    way.ask(None, ConsumerGroupDescribe((asked.group_id,)), see_off)


def unheard(_reply: GroupReply | None) -> None:
    """Whatever the broker says of a member that is gone, nobody waits for it."""


def _mark(member: MemberRef) -> int:
    return hash((member.group_id, member.member_id))


def _remember(where: "OrderedDict[int, None]", member: MemberRef) -> None:
    where[_mark(member)] = None
    if len(where) > REMEMBERED_MAX:
        where.popitem(last=False)
