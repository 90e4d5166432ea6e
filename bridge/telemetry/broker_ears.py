"""Overhears what the bridge asks brokers on behalf of translated members (road upstream): to a broker they are members
of a consumer group, so they are followed as such, by their ConsumerGroupHeartbeats.
"""

from collections.abc import Callable
from itertools import count

from bridge.session.contracts import Access, BrokerAccess, OnAnswer
from bridge.telemetry.following.follower import Follower
from bridge.telemetry.observing import Guard
from bridge.telemetry.schema.terms import Road
from bridge.wire.codec.registry import Reply, Request
from translators.dialects.consumer import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import ClientIdentity, MemberRef, RequestRef

ClientOf = Callable[[MemberRef], ClientIdentity]


class BrokerEars:
    """Tells the follower of heartbeats that say or bring something; the others go by."""

    def __init__(self, follower: Follower, guard: Guard, now_us: Callable[[], int]) -> None:
        self.client_of: ClientOf = lambda _: ClientIdentity(client_id="", client_host="")
        """Who speaks for a member."""
        self._follower = follower
        self._guard = guard
        self._now_us = now_us
        self._numbers = count(1)
        self._last: dict[MemberRef, int] = {}

    def over(self, access: Access) -> Access:
        """The same access, overheard."""
        return lambda via: ObservedWay(access(via), self)

    def hear(self, connection: int, asked: ConsumerGroupHeartbeat, reply: ConsumerGroupHeartbeatReply) -> None:
        """A heartbeat was answered."""
        member = MemberRef(asked.group_id, asked.member_id)
        if tells_nothing(asked, reply) and self._last.get(member) == connection:
            return
        if reply.error is ErrorCode.NONE and asked.member_epoch >= 0:
            self._last[member] = connection
        else:
            self._last.pop(member, None)
        self._guard.run(lambda: self._tell(connection, member, asked, reply))

    def _tell(
        self, connection: int, member: MemberRef, asked: ConsumerGroupHeartbeat, reply: ConsumerGroupHeartbeatReply
    ) -> None:
        # Below zero: the client's own requests on this connection are numbered from zero on.
        ref, now_us = RequestRef(0, connection, -next(self._numbers)), self._now_us()
        if self._follower.asked(ref, self.client_of(member), asked, Road.UPSTREAM, now_us):
            self._follower.answered(ref, reply, now_us)


class ObservedWay:
    """One connection's way to its broker (`session.contracts.BrokerAccess`), overheard."""

    def __init__(self, way: BrokerAccess, ears: BrokerEars) -> None:
        self._way = way
        self._ears = ears
        self.connection = way.connection
        self.broker_id = way.broker_id
        self.highest_version = way.highest_version

    def ask(self, ref: RequestRef | None, request: Request, on_answer: OnAnswer, version: int | None = None) -> None:
        """See `session.contracts.BrokerAccess`."""
        if not isinstance(request, ConsumerGroupHeartbeat):
            self._way.ask(ref, request, on_answer, version)
            return

        def take(reply: Reply | None) -> None:
            if isinstance(reply, ConsumerGroupHeartbeatReply):
                self._ears.hear(self.connection, request, reply)
            on_answer(reply)

        self._way.ask(ref, request, take, version)


def tells_nothing(asked: ConsumerGroupHeartbeat, reply: ConsumerGroupHeartbeatReply) -> bool:
    """Whether a member only lives on: it has nothing new to say, and hears nothing new."""
    is_short = asked.owned is None and asked.subscribed_topic_names is None and asked.member_epoch > 0
    is_same = reply.error is ErrorCode.NONE and reply.member_epoch == asked.member_epoch and reply.assignment is None
    return is_short and is_same
