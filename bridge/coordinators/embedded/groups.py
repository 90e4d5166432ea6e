"""The embedded coordinator as the session room sees it: requests in, answers out, one task that owns the groups."""

import logging
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import partial

import trio

from bridge.coordinators.arrivals import Arrival, request_fields
from bridge.coordinators.catalog import TopicsChange, TopicWatcher
from bridge.coordinators.commit_pieces import CommitPieces
from bridge.coordinators.durability import FORGOTTEN, BridgeFact
from bridge.coordinators.embedded.bridge_meeting import Place
from bridge.coordinators.embedded.classic_view import ClassicView
from bridge.coordinators.embedded.commit_forwarding import CommitForwarder, ForwardingWays
from bridge.coordinators.embedded.configs import ConfigViews
from bridge.coordinators.embedded.engine_commands import takes_classic
from bridge.coordinators.embedded.founders import FOUNDER
from bridge.coordinators.embedded.group_log import GroupLog, group_fields
from bridge.coordinators.embedded.handover import Handover, Restless
from bridge.coordinators.embedded.join_checks import JoinChecks
from bridge.coordinators.embedded.joins import STARTING, Joins, OwnRequests
from bridge.coordinators.embedded.offset_watch import OffsetWatch
from bridge.coordinators.embedded.other_bridges import Bridges
from bridge.coordinators.embedded.owner import EmbeddedOwner
from bridge.coordinators.embedded.partition_queue import Deletion, partitions_deleted, queue_deletion
from bridge.coordinators.embedded.pattern_rights import PatternRights
from bridge.coordinators.embedded.recommit import Recommit
from bridge.coordinators.embedded.regular_expressions import Patterns
from bridge.coordinators.embedded.retention import Retention, has_groups, idle_groups, is_idle, live_groups
from bridge.coordinators.embedded.shard_journal import blank_journal, hold_commits
from bridge.coordinators.embedded.shares import ShareLimits
from bridge.coordinators.embedded.views import GroupViews, ViewRequest
from bridge.coordinators.ledger import Clients
from bridge.coordinators.offset_requests import Commit, refuse_commit
from bridge.coordinators.owner_task import OwnerTask
from bridge.coordinators.refusals import Refusals, in_words
from bridge.engine.commands import (
    AdoptGroup,
    AlterGroupConfigs,
    ChangeTopics,
    Command,
    ConvertGroup,
    GiveUpGroup,
    GroupType,
    UnloadClassicGroups,
)
from bridge.engine.outcome import Converted, GroupEmptied, GroupGivenUp, NotConverted, RegularExpressionWanted
from bridge.engine.queries import group_type, has_members, matched_topics, subscribed_names, topics_matched
from bridge.log_lines import Line
from bridge.ports import Broker, Clock, Journal
from bridge.session.contracts import AccessOnUse, BrokerAccess
from bridge.supervision import BRIDGES, OFFSETS, PATTERNS, RECOMMIT, RETENTION, SERVING, TOPICS, Failures, start_job
from bridge.wire.codec.registry import error_reply, group_ids
from translators.classic_member.profile import read_subscription
from translators.dialects.admin import DeleteGroups, ListGroups
from translators.dialects.classic import Heartbeat, JoinGroup, LeaveGroup, LeaveGroupReply, SyncGroup
from translators.dialects.configs import GROUP, AlteredResource, ConfigRequest, Resource
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.counts import counted
from translators.dialects.errors import ErrorCode, Refusal, quote
from translators.dialects.ids import ClientIdentity, GroupId, MemberId, RequestRef, TopicIdPartition, TopicName, Via
from translators.dialects.messages import GroupReply, GroupRequest
from translators.dialects.offsets import OffsetCommit, OffsetDelete, TxnOffsetCommit


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedSettings:
    """Durations of the shell around the engine, in milliseconds; without `shares` nobody's part is limited."""

    topics_refresh_ms: int = 5_000
    commit_drain_ms: int = 5_000
    recommit_ms: int = 86_400_000
    retention_check_ms: int = 600_000
    shares: ShareLimits | None = None


LOG = logging.getLogger("epochbridge.coordinators")
_OF_MEMBERS = JoinGroup | SyncGroup | Heartbeat | ConsumerGroupHeartbeat | OffsetCommit | TxnOffsetCommit
_CARRIED_OUT = LeaveGroupReply(error=ErrorCode.NONE)


class EmbeddedGroups:
    """Takes every request of embedded groups (`session.contracts.Groups`); `run` has to be running meanwhile.

    Until `guard` says otherwise nothing is served.
    """

    def __init__(
        self, owner: EmbeddedOwner, broker: Broker, clock: Clock, clients: Clients, settings: EmbeddedSettings
    ) -> None:
        self.owner = owner
        self.bridges: Bridges | None = None
        self._nursery: trio.Nursery | None = None
        """In which everything goes on that surrounds the groups, once it runs."""
        self._broker = broker
        self.refusals = Refusals()
        self.log = GroupLog(owner.shard)
        self.own = OwnRequests(clients.deliver)
        self._access = clients.access
        self.supervised = Failures()
        self.task = OwnerTask(owner, clock, self.own.deliver, self.supervised, self)
        self.ledger, self.turns = self.task.ledger, self.task.turns
        self._clock = clock
        self._deliver = self.ledger.deliver
        if settings.shares is not None:
            owner.shares.limit(settings.shares)
        self._closed: Callable[[], Refusal | None] = lambda: STARTING
        catalog = owner.catalog
        self._topics = TopicWatcher(broker, catalog, self._change_topics, clock, settings.topics_refresh_ms)
        self._patterns = Patterns(
            catalog, lambda: owner.shard.pattern_users, self.task.queue, lambda: self.task.has_queued
        )
        self._patterns.matched = partial(topics_matched, owner.shard)
        owner.shares.patterns.told = self._patterns.told
        self._pattern_rights = PatternRights(owner.shard, clients.access, clock.now_ms)
        self.join_checks = JoinChecks(broker, catalog, self._topics, self._patterns, self._pattern_rights)
        self.joins = Joins(owner, self.join_checks, self.supervised, self._admit, self.refuse)
        self.offsets = OffsetWatch(
            broker, lambda one: self.forwarder.queue.places_of({one}), settings.topics_refresh_ms, clock.now_ms
        )
        self._pieces = CommitPieces(self.ledger.deliver_at_once, self.task.wake)
        ways = ForwardingWays(
            begin=self.task.begin_commit,
            end=self.task.end_commit,
            deliver=self._pieces.deliver,
            report_foreign=self._report_foreign,
            due_changed=self.task.alarm.due_changed,
            committed=self.offsets.committed,
        )
        metadata_max = owner.shard.settings.offset_metadata_max_bytes
        self.forwarder = CommitForwarder(catalog, ways, settings.commit_drain_ms, clock.now_ms, metadata_max)
        self._pieces.begin = self._begin_commit
        self._views = GroupViews(
            owner.shard, ClassicView(owner.shard, owner.machines), catalog, owner.check_fetch, self._delete_group
        )
        self._views.pieces.wake = self.task.wake
        self._configs = ConfigViews(owner.shard, self._alter_configs)
        self._recommit = Recommit(broker, self.forwarder.queue, settings.recommit_ms, self.offsets.say)
        self._retention = Retention(broker, self._delete_group, settings.retention_check_ms, self.offsets.say)

    def locate_coordinators(self, coordinator_of: Callable[[GroupId], int | None]) -> None:
        """Learn who knows which broker stands for a group (decision 22)."""
        self._views.coordinator_of = coordinator_of

    async def look_at_topics(self) -> None:
        """Have the engine know the topics that the cluster has now; raises BrokerUnreachable."""
        await self._topics.look()
        self.task.catch_up()

    def meet_bridges(self, place: Place) -> None:
        """Notice other bridges from now on; to be said after `keep`."""
        self.bridges = Bridges(self._broker, place, self.groups, self.lives, self._clock.now_ms)
        self.join_checks.claim = self.bridges.claim
        if self._nursery is not None:
            start_job(self._nursery, self.supervised, BRIDGES, self.bridges.run)

    def holds(self, group_id: GroupId) -> bool:
        """Whether there is a group of that name here, with members or without."""
        return group_type(self.owner.shard, group_id) is not None

    def subscribed(self, group_id: GroupId, member_id: MemberId) -> AbstractSet[TopicName]:
        """The topics by name that a member of a consumer group is subscribed to; none of whom nobody knows."""
        return subscribed_names(self.owner.shard, group_id, member_id)

    def matched(
        self, group_id: GroupId, member_id: MemberId, assignment: AbstractSet[TopicIdPartition]
    ) -> AbstractSet[TopicName]:
        """The topics of an assignment that a member has by its pattern alone."""
        return matched_topics(self.owner.shard, group_id, member_id, assignment)

    def lives(self, group_id: GroupId) -> bool:
        """Whether a group of that name has members here."""
        return has_members(self.owner.shard, group_id)

    def has_member(self, group_id: GroupId, member_id: MemberId) -> bool:
        """Whether there is such a member here."""
        shard = self.owner.shard
        group = shard.groups.get(group_id) or shard.classic_groups.get(group_id)
        return group is not None and member_id in group.members

    def groups(self) -> tuple[GroupId, ...]:
        """The groups that have members."""
        return live_groups(self.owner.shard)

    def now_ms(self) -> int:
        """The time that deadlines of groups are counted in."""
        return self._clock.now_ms()

    def guard(self, closed: Callable[[], Refusal | None], waits: Callable[[], Refusal | None] = lambda: None) -> None:
        """Learn who says why nothing may be served now, and why nothing that the broker has a say in; None means none.

        While the broker is waited for, members go on: heartbeats and what else their state alone decides is answered.
        """
        self._closed, self.joins.waits = closed, waits

    def keep(self, journal: Journal) -> None:
        """Go on with what a journal holds, and answer nothing any more that is not in it.

        Without anything in it the owner stays as it is. Raises `plain.UnreadableRecord`.
        """
        self.task.keep(journal, blank_journal)
        owner = self.owner
        shard = owner.shard
        # Of these every member is known; of a group that the journal has never heard of some may live on.
        shard.resumed = frozenset((*shard.groups, *shard.classic_groups))
        if shard.resumed:
            groups, members = len(shard.resumed), len(owner.machines)
            LOG.info("%s on with %s", counted(groups, "group goes", "groups go"), counted(members, "classic member"))
        for commit_id in hold_commits(owner.shard):
            self.forwarder.await_over(commit_id)
        owner.shares.founders.recall(self.facts(FOUNDER))

    def fact(self, name: str) -> str | None:
        """What the journal keeps of the bridge itself under this name; without a journal, what was kept since."""
        return self.owner.fact(name)

    def facts(self, start: str) -> Mapping[str, str]:
        """The same for all names that begin like this."""
        return self.owner.facts(start)

    def keep_fact(self, name: str, text: str) -> None:
        """Keep something about the bridge over restarts, "" for no longer; it is written soon, also after a full disk.

        Facts are no part of a turn: a reload does not undo them.
        """
        self.owner.keep_fact(BridgeFact(name, text))
        self.ledger.note(self.owner.entries())

    def note_founders(self) -> None:
        """Keep at whose cost groups are that nobody is in; O(groups)."""
        told = self.owner.shares.founders_told()
        for name in sorted(self.facts(FOUNDER).keys() | told.keys()):
            self.keep_fact(name, told.get(name, FORGOTTEN))

    async def facts_written(self) -> bool:
        """Wait until the facts kept so far are durable; False if the journal fails first."""
        return await self.ledger.written()

    # ------------------------------------------------------------------ requests

    def submit(self, ref: RequestRef, client: ClientIdentity, via: Via, request: GroupRequest) -> None:
        """Take a request; its answer comes through `deliver`, perhaps before this returns."""
        self.ledger.expect(ref, request)
        is_commit = isinstance(request, (OffsetCommit, TxnOffsetCommit))
        if is_commit or not self._pieces.keeps(ref, request, partial(self._take, ref, client, via, request)):
            self._take(ref, client, via, request)

    def _take(self, ref: RequestRef, client: ClientIdentity, via: Via, request: GroupRequest) -> None:
        if isinstance(request, (OffsetCommit, TxnOffsetCommit)):
            closed = self._closed_to_commits(request)
        else:
            closed = self._closed() or self._claimed_elsewhere(request) or self.ledger.closed
        if closed is not None and not isinstance(request, ListGroups):
            self.refuse(ref, client, request, closed)
            return
        match request:
            case Heartbeat() if not self.task.has_queued:
                self.task.beat(Arrival(ref, client, request), request)
            case JoinGroup() | SyncGroup() | Heartbeat() | LeaveGroup() | ConsumerGroupHeartbeat():
                self.joins.take(Arrival(ref, client, request))
            case OffsetCommit() | TxnOffsetCommit():
                self.task.catch_up()
                self._pieces.submit(ref, AccessOnUse(self._access, via), request)
            case _:
                self.task.catch_up()
                self._view(ref, AccessOnUse(self._access, via), request)

    def beat(self, client: ClientIdentity, request: Heartbeat | ConsumerGroupHeartbeat) -> bool:
        """See `session.contracts.Groups`: no turn, no journal, and nobody who watches turns hears of it.

        The answer tells what its client has been told before, by an answer that waited for the journal.
        """
        bridges = self.bridges
        if (bridges is not None and request.group_id in bridges.lost) or self._closed() is not None:
            return False
        if isinstance(request, Heartbeat):
            return self.task.beat_calmly(request)
        if request.group_id in self._pattern_rights.overdue and self.joins.waits() is None:
            return False
        # Behind a request of the same member that waits for the broker's word this one would wait, too.
        return not self.joins.waiting and self.task.beat_natively(client, request)

    async def convert(self, group_id: GroupId, to: GroupType, *, is_dry_run: bool) -> Converted | NotConverted | None:
        """Carry out an operator's order; None if nothing can be done at the moment."""
        verdict = await self._order(
            group_id, lambda ref: ConvertGroup(ref=ref, group_id=group_id, to=to, is_dry_run=is_dry_run)
        )
        if isinstance(verdict, NotConverted) and not is_dry_run:
            self.log.note_refusal(verdict, self._clock.now_ms())
        return verdict

    async def adopt(
        self, group_id: GroupId, taken: Handover, generation: int, protocol_name: str
    ) -> Converted | NotConverted | None:
        """Coordinate a group from now on whose members work already, in this generation under this protocol; it is
        durable when this returns. None if nothing can be done at the moment.
        """

        def adopting(ref: RequestRef) -> AdoptGroup:
            return AdoptGroup(
                ref=ref,
                group_id=group_id,
                generation=generation,
                protocol_name=protocol_name,
                leader=taken.leader,
                seats=taken.seats,
            )

        return await self._order(group_id, adopting)

    def read_handover(self, group_id: GroupId) -> Handover | Restless | NotConverted:
        """What another coordinator would go on with, once all that came before is carried out."""
        self.task.catch_up()
        if self._pieces.holds(group_id):
            return Restless("a large commit is on its way to the broker")
        return self.owner.read_handover(group_id, self._clock.now_ms())

    async def give_up(self, group_id: GroupId) -> Converted | NotConverted | None:
        """Forget a group with its members: another coordinator has them. None if nothing can be done at the moment."""
        return await self._order(group_id, lambda ref: GiveUpGroup(ref, group_id))

    async def _order(
        self, group_id: GroupId, order: Callable[[RequestRef], Command]
    ) -> Converted | NotConverted | None:
        # The journal knows of requests only: this one is refused where the order is.
        stand_in = LeaveGroup(group_id=group_id, members=())

        def submit(ref: RequestRef) -> None:
            self.ledger.expect(ref, stand_in)
            closed = self._closed() or self.ledger.closed
            if closed is None:
                self.task.queue(order(ref))
            else:
                self._deliver(ref, error_reply(stand_in, closed.code))

        return await self.own.order(submit)

    def unload(self) -> None:
        """Serving ends: who waits in a classic group is told to come back, so that nobody waits for it (K1.75)."""
        self.supervised.spare(SERVING, self.note_founders)
        self.task.order_at_once(UnloadClassicGroups())

    def disconnected(self, connection: int) -> None:
        """A client connection is gone; answers to its open requests have nowhere to go."""
        self.ledger.forget(connection)
        self.joins.waiting.forget(connection)
        self._pieces.forget(connection)
        self._views.pieces.forget(connection)
        self.forwarder.queue.forget(connection)
        self.task.lose_connection(connection)

    def _claimed_elsewhere(self, request: GroupRequest) -> Refusal | None:
        if self.bridges is None or not self.bridges.lost or not isinstance(request, _OF_MEMBERS):
            return None
        return self.bridges.refusal(request.group_id)

    def _closed_to_commits(self, request: Commit) -> Refusal | None:
        return self._closed() or self._claimed_elsewhere(request) or self.joins.waits()

    def _begin_commit(self, ref: RequestRef, way: BrokerAccess, request: Commit) -> None:
        """Of a large commit this is one piece, and what was said when it came may be true no more."""
        closed = self._closed_to_commits(request)
        if closed is None:
            self.forwarder.submit(ref, way, request)
        else:
            self._pieces.deliver(ref, refuse_commit(request, closed.code))

    def _view(self, ref: RequestRef, via: BrokerAccess, request: ViewRequest | ConfigRequest) -> None:
        queue = self.forwarder.queue
        turn = Deletion(queue, partitions_deleted(request, queue), partial(self._end_view, ref, request))
        if not queue_deletion(queue, via.connection, turn, lambda turn: self._answer_view(ref, via, request, turn)):
            self._deliver(ref, error_reply(request, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))

    def _end_view(self, ref: RequestRef, request: ViewRequest | ConfigRequest, reply: GroupReply) -> None:
        if isinstance(request, (OffsetDelete, DeleteGroups)):
            for group_id in group_ids(request):
                self.offsets.forget(group_id)
        self._deliver(ref, reply)

    def _answer_view(
        self, ref: RequestRef, via: BrokerAccess, request: ViewRequest | ConfigRequest, turn: Deletion
    ) -> None:
        try:
            if isinstance(request, ConfigRequest):
                self._configs.submit(ref, via, request, turn.answer)
            else:
                self._views.submit(ref, via, request, turn.answer)
        except Exception:
            self.turns.failures += 1
            fields = request_fields(request)
            LOG.exception("EB-GROUP-002: %r could not be answered; please report this", request, extra=fields)
            turn.answer(error_reply(request, ErrorCode.COORDINATOR_NOT_AVAILABLE))

    def _admit(self, arrival: Arrival) -> None:
        request = arrival.request
        refusal = self.owner.shares.judge(arrival)
        if refusal is not None:
            self.refuse(arrival.ref, arrival.client, request, refusal)
            return
        if isinstance(request, JoinGroup) and not takes_classic(self.owner.shard, request):
            read = read_subscription(request)
            if isinstance(read, Refusal):
                # The owner refuses it in its turn, after what comes before it (K4.3, K4.5); here it is said why.
                self.refusals.note(request.group_id, arrival.client.client_id, read, self._clock.now_ms())
        self.task.queue(arrival)

    # ------------------------------------------------------------------ the owner's task

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Own the groups until cancelled."""
        shard = self.owner.shard
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            self.joins.begin(nursery)
            start = partial(start_job, nursery, self.supervised)
            start(PATTERNS, self._patterns.run)
            start(TOPICS, partial(self._topics.watch, lambda: has_groups(shard)))
            start(RECOMMIT, partial(self._recommit.run, lambda: live_groups(shard)))
            start(OFFSETS, partial(self.offsets.run, lambda: live_groups(shard)))
            if self.bridges is not None:
                start(BRIDGES, self.bridges.run)
            start(RETENTION, partial(self._retention.run, lambda: idle_groups(shard), partial(is_idle, shard)))
            self.task.start(nursery)
            task_status.started()

    # ------------------------------------------------------------------ what surrounds its turns

    def begins(self) -> None:
        """See `owner_task.Turning`."""
        self.owner.shares.end_turn()
        self._patterns.turn_begins()

    def revived(self) -> None:
        """See `owner_task.Turning`."""
        self._patterns.remember()

    def released(self) -> None:
        """See `owner_task.Turning`."""
        for ref, verdict in self.owner.take_verdicts():
            self.own.judge(ref, verdict)
            self._deliver(ref, _CARRIED_OUT)
        for notice in self.owner.take_notices():
            if isinstance(notice, (GroupEmptied, GroupGivenUp)):
                self.join_checks.forget(notice.group_id)
                self.offsets.forget(notice.group_id)
                if self.bridges is not None:
                    self.bridges.forget(notice.group_id)
            if isinstance(notice, RegularExpressionWanted):
                self._patterns.want(notice.pattern)
            self.log.hear(notice, self._clock.now_ms())
        if self.owner.shard.unused_patterns:
            self._patterns.forget(self.owner.shard.unused_patterns)

    def refuse(self, ref: RequestRef, client: ClientIdentity, request: GroupRequest, refusal: Refusal) -> None:
        """See `owner_task.Turning`: the log says why, once in a while."""
        for group_id in group_ids(request):
            self.refusals.note(group_id, client.client_id, refusal, self._clock.now_ms())
        self._deliver(ref, in_words(error_reply(request, refusal.code), refusal))

    def next_due_ms(self) -> int | None:
        """See `owner_task.Turning`."""
        drain_ms, again_ms = self.forwarder.next_drain_ms(), self._pattern_rights.next_due_ms()
        return again_ms if drain_ms is None or (again_ms is not None and again_ms < drain_ms) else drain_ms

    def pass_due(self, now_ms: int) -> None:
        """See `owner_task.Turning`."""
        self.forwarder.pass_drains(now_ms)
        self._pattern_rights.pass_due(now_ms)
        self._pieces.go_on()
        self._views.pieces.go_on()

    # ------------------------------------------------------------------ what others need of the owner

    def _delete_group(self, group_id: GroupId) -> ErrorCode:
        now_ms = self._clock.now_ms()
        failed = ErrorCode.COORDINATOR_NOT_AVAILABLE
        return self.turns.judge(lambda: self.owner.delete_group(group_id, now_ms), failed, group_id)

    def _alter_configs(self, command: AlterGroupConfigs) -> AlteredResource:
        """Alter the settings of a group in a turn of its own: who has to rejoin by it hears so at once."""
        if self.ledger.closed is None:
            self.task.order_at_once(command)
        resource = Resource(GROUP, command.group_id)
        return self.owner.take_altered() or AlteredResource(
            resource=resource, error=ErrorCode.COORDINATOR_NOT_AVAILABLE
        )

    def _report_foreign(self, group_id: GroupId) -> None:
        reason = "the broker refused a commit because the group has members there"
        self.join_checks.report_foreign(group_id, reason)
        fields = group_fields(self.owner.shard, group_id)
        line = Line(logging.ERROR, "EB-GROUP-004: group %r is bypassed: %s", (quote(group_id), reason), fields)
        # Clients commit again ten times a second.
        self.offsets.say(("EB-GROUP-004", group_id), line)

    def _change_topics(self, change: TopicsChange) -> None:
        self.task.queue(ChangeTopics(change.changed, change.removed))
        self._patterns.topics_changed()
