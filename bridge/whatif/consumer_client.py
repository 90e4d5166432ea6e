"""A client of the new protocol as it is played: it heartbeats each interval, gives up what it is told to, and says so.

Heartbeats that could change nothing are not played: the coordinator keeps the sessions of those who live, and says when
a heartbeat would bring news.
"""

from dataclasses import replace

from bridge.engine.commands import MemberHeartbeat, Speaks
from bridge.engine.model import DeadlineKey, DeadlineKind
from bridge.engine.queries import has_news
from bridge.whatif.coordinator import Reply, Request
from bridge.whatif.inputs import Client
from bridge.whatif.membership import FENCED, ConsumerMembership, ConsumerSubscription
from bridge.whatif.played_group import PlayedGroup
from bridge.whatif.timeline import next_beat_us
from translators.dialects.consumer import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import JOIN_EPOCH, MemberId, MemberRef, TopicIdPartition


class ConsumerClient:
    """One member."""

    def __init__(self, client: Client, group: PlayedGroup, heartbeat_ms: int) -> None:
        self.client = client
        self._group = group
        self._interval_us = heartbeat_ms * 1_000
        self._membership = ConsumerMembership(
            group_id=group.group_id, member_id=client.member_id, instance_id=client.instance_id
        )
        self._owned: frozenset[TopicIdPartition] = frozenset()
        self._is_gone = False
        self._fetches_until_us: int | None = None
        self._is_busy = False
        self._beat_us = 0
        self._planned_us: int | None = None

    # ------------------------------------------------------------------ what happens to it

    @property
    def engine_id(self) -> MemberId:
        """What the engine calls it."""
        return self.client.member_id

    def joining(self) -> Request:
        """Its first request, or the first after it was fenced."""
        self._group.want(self.client.pattern)
        self._group.coordinator.living.add(self.client.member_id)
        self._membership, self._owned = replace(self._membership, epoch=JOIN_EPOCH), frozenset()
        return self._request(self._full())

    def change(self, client: Client) -> None:
        """It wants something else from now on."""
        self.client = client
        self._group.want(client.pattern)
        self._send(self._full())

    def leave(self) -> None:
        """It leaves for good."""
        self._is_gone = True
        self._farewell(self._membership.leave())

    def vacate(self) -> None:
        """It leaves its static seat for a while; the seat is kept for a session timeout."""
        self._is_gone = True
        self._farewell(self._membership.vacate())
        self._expire(self._group.now_us)

    def fall_silent(self) -> None:
        """Its last heartbeat was now; until the next one was due it may have fetched."""
        self._is_gone = True
        self._fetches_until_us = self._group.now_us + self._interval_us
        self._expire(self._group.now_us)
        self._group.coordinator.lost(self._group.connection(self.client.member_id), self._group.now_us)

    def wake(self, client: Client) -> Request:
        """Its first request after it was frozen: as if nothing had been, until the answer says that it is no member."""
        self.client, self._is_gone, self._is_busy, self._fetches_until_us = client, False, False, None
        self._group.want(client.pattern)
        self._group.coordinator.living.add(client.member_id)
        return self._request(self._full())

    def see_topics(self) -> None:
        """Topics are other than before: that is the coordinator's business."""

    def expect_news(self) -> None:
        """Its next heartbeat may bring news."""
        if self._is_gone or self._is_busy or self._planned_us is not None:
            return
        if not has_news(self._group.coordinator.shard, MemberRef(self._group.group_id, self.client.member_id)):
            return
        at_us = self._planned_us = next_beat_us(self._beat_us, self._interval_us, self._group.now_us)
        self._group.timeline.at(at_us, lambda: self._tick(at_us))

    # ------------------------------------------------------------------ what it does

    def _tick(self, at_us: int) -> None:
        if self._planned_us == at_us and not self._is_gone:
            self._planned_us = None
            self._send(self._membership.brief())

    def _full(self) -> ConsumerGroupHeartbeat:
        client = self.client
        subscription = ConsumerSubscription(
            topics=() if client.pattern is not None else client.topics,
            pattern=client.pattern,
            rebalance_timeout_ms=client.rebalance_ms,
            rack_id=client.rack_id,
            server_assignor=self._wanted_assignor(),
        )
        return self._membership.full(subscription, self._owned)

    def _wanted_assignor(self) -> str | None:
        """What it asks for by itself; a classic client's assignors are nothing that a coordinator knows."""
        wanted = () if self.client.is_classic else self.client.assignors
        return next((name for name in wanted if name in self._group.coordinator.shard.assignors), None)

    def _farewell(self, request: ConsumerGroupHeartbeat) -> None:
        self._group.coordinator.living.discard(self.client.member_id)
        self._send(request)

    def _request(self, request: ConsumerGroupHeartbeat) -> Request:
        self._beat_us, self._planned_us = self._group.now_us, None
        ref = self._group.coordinator.ref(self._group.connection(self.client.member_id))
        command = MemberHeartbeat(
            ref=ref,
            request=request,
            identity=self.client.identity,
            speaks=Speaks.CONSUMER,
            fresh_id=self.client.member_id,
        )
        return Request(self.client.identity, request, command, self._hear)

    def _send(self, request: ConsumerGroupHeartbeat) -> None:
        self._group.coordinator.ask([self._request(request)], self._group.now_us)

    def _hear(self, reply: Reply) -> None:
        if self._is_gone or not isinstance(reply, ConsumerGroupHeartbeatReply):
            return
        if reply.error in FENCED:
            self._group.timeline.at(self._group.now_us, self._rejoin)
        elif reply.error is ErrorCode.UNRELEASED_INSTANCE_ID:
            self._group.timeline.at(self._group.now_us + self._interval_us, self._rejoin)
        elif reply.error is not ErrorCode.NONE:
            self._is_gone = True
        else:
            self._membership = replace(self._membership, epoch=reply.member_epoch)
            if reply.assignment is not None:
                self._move(reply.assignment)

    def _rejoin(self) -> None:
        if not self._is_gone:
            self._group.coordinator.ask([self.joining()], self._group.now_us)

    def _move(self, assignment: frozenset[TopicIdPartition]) -> None:
        """Give up what is gone, then say so; fetch from what is new."""
        now_us, reaction = self._group.now_us, self._group.reaction(self.client.member_id)
        gained, lost = assignment - self._owned, self._owned - assignment
        moved_us = now_us + (reaction.revoke_us if lost else 0)
        if gained or lost:
            self._is_busy = True
            self._group.timeline.at(moved_us, lambda: self._moved(assignment))
        if gained:
            self._group.timeline.at(moved_us + reaction.fetch_us, lambda: self._fetch(gained))

    def _moved(self, assignment: frozenset[TopicIdPartition]) -> None:
        if self._is_gone:
            return
        self._is_busy, self._owned = False, assignment
        self._send(self._membership.brief(owned=assignment))

    def _fetch(self, gained: frozenset[TopicIdPartition]) -> None:
        until_us = self._fetches_until_us
        if not self._is_gone or (until_us is not None and self._group.now_us < until_us):
            fetched = self._group.named(gained & self._owned)
            self._group.coordinator.fetched(self.client.identity, fetched, self._group.now_us)

    def _expire(self, at_us: int) -> None:
        coordinator = self._group.coordinator
        key = DeadlineKey(DeadlineKind.SESSION, self._group.group_id, self.client.member_id)
        session_ms = coordinator.shard.settings.group_consumer_session_timeout_ms
        coordinator.expire_at(key, at_us // 1_000 + session_ms)
