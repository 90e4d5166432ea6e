"""A client that speaks KIP-848: one request says everything, or only what changed."""

from collections.abc import Iterable

from bridge.whatif.membership import FENCED, RETRIED, ConsumerMembership, ConsumerSubscription
from tests.support.simulation.actor import GROUP, RETRY_MS, Actor, Outside, Partitions, Role
from tests.support.simulation.cluster import Topics
from tests.support.simulation.oracle import InvariantBroken
from translators.dialects.consumer import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId, TopicName
from translators.dialects.messages import GroupReply

RESTART_MS = 1_000


class NativeActor(Actor):
    """ConsumerGroupHeartbeat as Java and librdkafka send it (partial), or as platformatic does (`restates`)."""

    def __init__(self, role: Role, outside: Outside, topics: Topics) -> None:
        super().__init__(role, outside)
        self._topics = topics
        self.member_id = MemberId(f"native-{role.number}")
        self.member_epoch = 0
        self._is_waiting = False
        self._is_moving = False
        self._membership = 0
        self._is_leaving = False
        self._says_all = True
        self._owned_is_news = False
        self._topics_are_news = False
        self._said_owned: Partitions | None = None
        self._wanted: Partitions | None = None
        self._answers_lost = 0
        self._tick = 0

    @property
    def epoch(self) -> int:
        """The member epoch."""
        return self.member_epoch

    @property
    def membership(self) -> ConsumerMembership:
        """Who it is to the group."""
        return ConsumerMembership(
            group_id=GROUP, member_id=self.member_id, instance_id=self.role.instance_id, epoch=self.member_epoch
        )

    @property
    def is_settled(self) -> bool:
        """Whether it is a member that has moved to what it was told."""
        has_said_all = self._said_owned == self.owned and not self._topics_are_news
        return self.member_epoch > 0 and not self._is_moving and has_said_all

    def start(self) -> None:
        """Join."""
        super().start()
        self._beat()

    def leave(self) -> None:
        """Give everything up and say so; a static member only leaves its seat for a while (K2.13)."""
        self._is_leaving = True
        self.give_up(self.owned, self._say_goodbye)

    def resubscribe(self, topics: Iterable[TopicName]) -> None:
        """Say so with the next heartbeat."""
        super().resubscribe(topics)
        self._topics_are_news = True

    def on_commit_refused(self, code: ErrorCode) -> None:
        """Go on: the next heartbeat brings the newest epoch, or the end."""

    def _say_goodbye(self) -> None:
        request = self.membership.leave() if self.role.instance_id is None else self.membership.vacate()
        self.send(request, lambda _reply: self.die())
        self.later(500, self.die)

    def _beat(self) -> None:
        if self._is_waiting or self._is_leaving:
            return
        self._is_waiting = True
        self._tick += 1
        if self.member_epoch == 0:
            self.standing.treatment.joins += 1
        self._said_owned = self.owned
        self.send(self._request(), self._answered)

    def _request(self) -> ConsumerGroupHeartbeat:
        says_all = self._says_all or self.role.profile.restates or self.member_epoch == 0
        says_owned, says_topics = self._owned_is_news, self._topics_are_news
        self._owned_is_news = self._topics_are_news = False
        if says_all:
            subscription = ConsumerSubscription(
                topics=self.role.topics, rebalance_timeout_ms=self.role.profile.rebalance_ms
            )
            return self.membership.full(subscription, self._topics.to_ids(self.owned))
        return self.membership.brief(
            topics=self.role.topics if says_topics else None,
            owned=self._topics.to_ids(self.owned) if says_owned else None,
        )

    def _answered(self, reply: GroupReply | None) -> None:
        self._is_waiting = False
        if self._is_leaving:
            return
        if not isinstance(reply, ConsumerGroupHeartbeatReply):
            self._says_all = True
            self._answers_lost += 1
            self.later(RETRY_MS, self._beat)
        elif reply.error is ErrorCode.NONE:
            self._take_answer(reply)
        elif reply.error in RETRIED:
            self._says_all = True
            self.later(RETRY_MS, self._beat)
        elif reply.error in FENCED:
            self._rejoin(reply.error)
        elif reply.error is ErrorCode.UNRELEASED_INSTANCE_ID and self.member_epoch == 0:
            self._says_all = True
            self.later(RESTART_MS, self._beat)
        else:
            self.fail(reply.error)

    def _take_answer(self, reply: ConsumerGroupHeartbeatReply) -> None:
        if reply.member_epoch < self.member_epoch:
            raise InvariantBroken("epochs never fall", f"{self.role.name}: {self.member_epoch} then {reply}")
        if reply.member_epoch != self.member_epoch:
            self.note(f"epoch {self.member_epoch} -> {reply.member_epoch}")
        self.member_epoch = reply.member_epoch
        self._says_all = False
        self.outside.oracle.admit(self.role.number)
        if reply.assignment is not None:
            self._wanted = self._topics.to_names(reply.assignment)
            self._move()
        tick = self._tick
        self.later(reply.heartbeat_interval_ms, lambda: self._beat() if self._tick == tick else None)

    def _move(self) -> None:
        if self._is_moving or self._wanted is None:
            return
        wanted, self._wanted = self._wanted, None
        if wanted == self.owned:
            self._owned_is_news = True
            return
        self.note(f"moves from {len(self.owned)} to {sorted(wanted)}")
        self._is_moving = True
        membership = self._membership
        self.give_up(self.owned - wanted, lambda: self._begin_taking(wanted, membership))

    def _begin_taking(self, wanted: Partitions, membership: int) -> None:
        if wanted <= self.owned or not self.role.profile.taking_ms:
            self._moved(wanted, membership)
        else:
            self.later(self.role.profile.taking_ms, lambda: self._moved(wanted, membership))

    def _moved(self, wanted: Partitions, membership: int) -> None:
        """Take, unless the client was fenced in the middle: that is lost, also if it is a member again (Java)."""
        if membership == self._membership:
            self._is_moving = False
            self.take(wanted - self.owned)
            self._owned_is_news = True
            self._move()
            self._beat()

    def _rejoin(self, code: ErrorCode) -> None:
        self.note(f"fenced: {code.name}")
        was_told = self.member_epoch == 0 or self.outside.oracle.may_be_unknown(self.role.number)
        if not was_told and not (code is ErrorCode.FENCED_MEMBER_EPOCH and self._answers_lost):
            raise InvariantBroken("nobody is fenced who lives", f"{self.role.name} heard {code.name}")
        self.standing.treatment.fences += 1
        self.drop(self.owned)
        self._membership += 1
        self.member_epoch, self._wanted, self._says_all, self._is_moving = 0, None, True, False
        self._beat()
