"""The embedded coordinator as the session room sees it: requests in, answers out, one task that owns the groups.

It must not know sockets, frames, or how a group is decided.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Protocol

import trio

from bridge.coordinators.arrivals import Arrival
from bridge.coordinators.catalog import TopicsChange
from bridge.coordinators.commits import CommitDesk, Ways
from bridge.coordinators.gate import Gate, Questions, is_join
from bridge.coordinators.offset_requests import Commit
from bridge.coordinators.owner import GroupOwner, TurnResult
from bridge.coordinators.patterns import Patterns
from bridge.coordinators.recommit import Recommit
from bridge.coordinators.topics import TopicWatcher
from bridge.coordinators.views import GroupViews
from bridge.engine.commands import ChangeTopics, Command, EndCommit
from bridge.engine.outcome import AssignorFailed, CommitAdmitted, CommitRefused, GroupEmptied, MemberRemoved, Notice
from bridge.ports import Broker, Clock
from bridge.session.contracts import Via
from bridge.wire.codec.registry import error_reply
from translators.classic_member.profile import read_profile
from translators.dialects.classic import Heartbeat, JoinGroup, LeaveGroup, SyncGroup
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.errors import ErrorCode, Refusal
from translators.dialects.ids import ClientIdentity, GroupId, RequestRef
from translators.dialects.messages import GroupReply, GroupRequest
from translators.dialects.offsets import OffsetCommit, TxnOffsetCommit

LOG = logging.getLogger("epochbridge.coordinators")


class Deliver(Protocol):
    """Hands an answer to the connection that waits for it; one to a connection that is gone is dropped."""

    def __call__(self, ref: RequestRef, reply: GroupReply) -> None:
        """Deliver it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedSettings:
    """Durations of the shell around the engine, in milliseconds."""

    topics_refresh_ms: int = 5_000
    commit_drain_ms: int = 5_000
    recommit_ms: int = 86_400_000


class EmbeddedGroups:
    """Takes every request of embedded groups (`session.contracts.Groups`); `run` has to be running meanwhile."""

    def __init__(
        self, owner: GroupOwner, broker: Broker, clock: Clock, deliver: Deliver, settings: EmbeddedSettings
    ) -> None:
        self.owner = owner
        self.gate_refusals = 0
        self.turn_failures = 0
        self._clock = clock
        self._deliver = deliver
        self._inbox: list[Arrival | Command] = []
        self._wake = trio.Event()
        self._nursery: trio.Nursery | None = None
        self._coordinators: Callable[[GroupId], int | None] = lambda _: None
        self._closed: Callable[[], str | None] = lambda: None
        catalog = owner.catalog
        self._topics = TopicWatcher(broker, catalog, self._change_topics, clock, settings.topics_refresh_ms)
        self.gate = Gate(broker, catalog, self._topics)
        self._patterns = Patterns(catalog)
        ways = Ways(
            begin=self._begin_commit, end=self._end_commit, deliver=deliver, report_foreign=self._report_foreign
        )
        self.desk = CommitDesk(catalog, ways, settings.commit_drain_ms, clock.now_ms)
        self._views = GroupViews(owner.shard, catalog, owner.check_fetch, self._delete_group, self._coordinator_of)
        self._recommit = Recommit(broker, self.desk.queue, settings.recommit_ms)

    def locate_coordinators(self, coordinator_of: Callable[[GroupId], int | None]) -> None:
        """Learn who knows which broker stands for a group (decision 22)."""
        self._coordinators = coordinator_of

    def guard(self, closed_reason: Callable[[], str | None]) -> None:
        """Learn who says why nothing may be served now; None means that everything may."""
        self._closed = closed_reason

    # ------------------------------------------------------------------ requests

    def submit(self, ref: RequestRef, client: ClientIdentity, via: Via, request: GroupRequest) -> None:
        """Take a request; its answer comes through `deliver`, perhaps before this returns."""
        match request:
            case Heartbeat() if not self._inbox:
                self._release(self.owner.beat(ref, request, self._clock.now_ms()))
            case JoinGroup() | SyncGroup() | Heartbeat() | LeaveGroup() | ConsumerGroupHeartbeat():
                self._take(Arrival(ref, client, request))
            case OffsetCommit() | TxnOffsetCommit():
                self._catch_up()
                self.desk.submit(ref, via, request)
            case _:
                self._catch_up()
                self._views.submit(ref, via, request, lambda reply: self._deliver(ref, reply))

    def disconnected(self, connection: int) -> None:
        """A client connection is gone; answers to its open requests have nowhere to go."""
        self.desk.queue.forget(connection)
        self._release(self.owner.lose_connection(connection, self._clock.now_ms()))

    def _take(self, arrival: Arrival) -> None:
        request = arrival.request
        closed = self._closed()
        if closed is not None:
            self._refuse(arrival, Refusal(ErrorCode.GROUP_AUTHORIZATION_FAILED, closed))
            return
        if isinstance(request, JoinGroup):
            profile = read_profile(request)
            if isinstance(profile, Refusal):
                self._refuse(arrival, profile)
                return
        if isinstance(request, JoinGroup | ConsumerGroupHeartbeat) and is_join(request):
            questions = self.gate.questions(request)
            if questions and self._nursery is not None:
                self._nursery.start_soon(self._look_up, arrival, questions)
                return
        self._enqueue(arrival)

    async def _look_up(self, arrival: Arrival, questions: Questions) -> None:
        refusal = await self.gate.ask(questions)
        if refusal is None:
            self._enqueue(arrival)
        else:
            self._refuse(arrival, refusal)

    def _refuse(self, arrival: Arrival, refusal: Refusal) -> None:
        self.gate_refusals += 1
        group_id, client_id = arrival.request.group_id, arrival.client.client_id
        LOG.warning("EB-GROUP-001: group %r refused client %r: %s", group_id, client_id, refusal.reason)
        self._deliver(arrival.ref, error_reply(arrival.request, refusal.code))

    def _enqueue(self, arrival: Arrival | Command) -> None:
        if isinstance(arrival, Arrival) and isinstance(arrival.request, ConsumerGroupHeartbeat):
            self._inbox += self._patterns.resolve_new(arrival.request.subscribed_topic_regex)
        self._inbox.append(arrival)
        self._wake.set()

    # ------------------------------------------------------------------ the owner's task

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Own the groups until cancelled."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            nursery.start_soon(self._topics.watch, self._has_groups)
            nursery.start_soon(self._recommit.run, self._live_groups)
            task_status.started()
            while True:
                await self._wait()
                self._turn()

    async def _wait(self) -> None:
        due = [at for at in (self.owner.next_deadline_ms(), self.desk.next_drain_ms()) if at is not None]
        delay_s = max(0.0, (min(due) - self._clock.now_ms()) / 1000) if due else inf
        with trio.move_on_after(delay_s):
            await self._wake.wait()
        self._wake = trio.Event()
        await trio.lowlevel.checkpoint()

    def _turn(self) -> None:
        now_ms = self._clock.now_ms()
        self._catch_up()
        self.desk.pass_drains(now_ms)
        try:
            self._release(self.owner.pass_deadlines(now_ms))
        except Exception:
            self.turn_failures += 1
            LOG.exception("EB-GROUP-002: deadlines could not be passed; the groups go on, please report this")

    def _catch_up(self) -> None:
        """Carry out what is queued, so that whoever comes now sees it done."""
        if not self._inbox:
            return
        arrivals, self._inbox = self._inbox, []
        try:
            result = self.owner.take_turn(arrivals, self._clock.now_ms())
        except Exception:
            self.turn_failures += 1
            LOG.exception(
                "EB-GROUP-002: a turn of %d requests failed; the groups go on, please report this", len(arrivals)
            )
            self._apologize(arrivals)
        else:
            self._release(result)

    def _apologize(self, arrivals: list[Arrival | Command]) -> None:
        """A bug ends this turn and nothing else: its clients are told to try again."""
        for arrival in arrivals:
            if isinstance(arrival, Arrival):
                self._deliver(arrival.ref, error_reply(arrival.request, ErrorCode.COORDINATOR_NOT_AVAILABLE))

    def _release(self, result: TurnResult) -> None:
        for ref, reply in result.replies:
            self._deliver(ref, reply)
        for notice in result.notices:
            self._hear(notice)

    def _hear(self, notice: Notice) -> None:
        match notice:
            case GroupEmptied(group_id):
                self.gate.forget(group_id)
                LOG.info("group %r is empty", group_id)
            case MemberRemoved():
                LOG.info("group %r lost member %r: %s", notice.group_id, notice.member_id, notice.cause.value)
            case AssignorFailed(group_id, assignor, reason):
                LOG.error("EB-GROUP-003: assignor %r failed for group %r: %s", assignor, group_id, reason)

    # ------------------------------------------------------------------ what others need of the owner

    def _begin_commit(self, ref: RequestRef, request: Commit) -> CommitAdmitted | CommitRefused:
        return self.owner.begin_commit(ref, request, self._clock.now_ms())

    def _end_commit(self, commit_id: int) -> None:
        self._release(self.owner.take_turn([EndCommit(commit_id)], self._clock.now_ms()))

    def _delete_group(self, group_id: GroupId) -> ErrorCode:
        return self.owner.delete_group(group_id, self._clock.now_ms())

    def _report_foreign(self, group_id: GroupId) -> None:
        reason = "the broker refused a commit because the group has members there"
        self.gate.report_foreign(group_id, reason)
        LOG.error("EB-GROUP-004: group %r is bypassed: %s", group_id, reason)

    def _change_topics(self, change: TopicsChange) -> None:
        self._inbox.append(ChangeTopics(change.changed, change.removed))
        self._inbox += self._patterns.resolve_again()
        self._wake.set()

    def _coordinator_of(self, group_id: GroupId) -> int | None:
        return self._coordinators(group_id)

    def _has_groups(self) -> bool:
        return bool(self.owner.shard.groups)

    def _live_groups(self) -> tuple[GroupId, ...]:
        return tuple(group_id for group_id, group in self.owner.shard.groups.items() if group.members)
