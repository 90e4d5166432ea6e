"""A broker that coordinates one group as Apache Kafka 4 does: our engine, and what Kafka does otherwise.

Otherwise are: classic members of a consumer group (they follow its epoch, and switch in place under their own id), when
a group changes its type, and that a member may commit partitions which it has lost (reference: a take-over's facts).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum
from itertools import count

from bridge.engine.advance import advance
from bridge.engine.apply import apply
from bridge.engine.assignors.registry import registry
from bridge.engine.commands import (
    BecomeClassic,
    ChangeTopics,
    ClassicHeartbeat,
    ClassicJoin,
    ClassicLeave,
    ClassicSync,
    Command,
    ConvertGroup,
    GroupType,
    MemberHeartbeat,
    PassDeadlines,
    RemoveMembers,
    Speaks,
)
from bridge.engine.commits import judge_classic_commit
from bridge.engine.model import ClassicMember, Member, MemberState
from bridge.engine.outcome import (
    Converted,
    DowngradeDue,
    GroupUpgraded,
    MemberAnswer,
    MemberRemoved,
    Message,
    NotConverted,
    TranslatedSeat,
)
from bridge.engine.queries import next_deadline
from bridge.engine.records import Record
from bridge.engine.recovery import resume
from bridge.engine.settings import EngineSettings
from bridge.engine.state import ClassicGroup, Group, Shard
from bridge.wire.codec.registry import error_reply
from tests.support.simulation.actor import GROUP
from translators.dialects.classic import (
    Heartbeat,
    HeartbeatReply,
    JoinGroup,
    JoinGroupReply,
    LeaveGroup,
    LeavingMember,
    Protocol,
    SyncGroup,
    SyncGroupReply,
)
from translators.dialects.consumer import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply
from translators.dialects.consumer_protocol import CONSUMER, TRANSLATABLE, encode_assignment
from translators.dialects.coordinator import ClassicSeat
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    ClientIdentity,
    MemberId,
    ReplyTo,
    RequestRef,
    Topic,
    TopicIdPartition,
    TopicPartition,
)
from translators.dialects.messages import GroupReply, GroupRequest
from translators.dialects.offsets import OffsetCommit

Then = Callable[[GroupReply], None]
BROKER_NODE = 99
"""Whose requests are numbered here: nobody's connection."""
PHANTOM = JoinGroup(
    group_id=GROUP,
    member_id=MemberId(""),
    instance_id=None,
    protocol_type=CONSUMER,
    protocols=tuple(Protocol(name, b"") for name in sorted(TRANSLATABLE)),
    session_timeout_ms=10_000,
    rebalance_timeout_ms=60_000,
    needs_member_id=False,
)
"""Comes and goes where Kafka makes a group rebalance and the engine would not."""


class Release(IntEnum):
    """A version of Apache Kafka, as far as moves go."""

    V4_1 = 41
    """A dynamic member of a classic group is not switched by its first heartbeat: a scout has to come first."""
    V4_3 = 43


@dataclass(slots=True)
class ClassicSession:
    """What Kafka keeps of a classic member of a consumer group besides its seat."""

    protocols: tuple[Protocol, ...]
    session_timeout_ms: int
    rebalance_timeout_ms: int
    due_ms: int


class KafkaGroup:
    """The group's coordinator; `busy` is said to whoever asks while it is set (it loads, or is elsewhere)."""

    def __init__(self, release: Release, settings: EngineSettings, topics: Iterable[Topic]) -> None:
        self.busy: ErrorCode | None = None
        self.on_left_behind: Callable[[MemberId], None] = lambda _: None
        """Hears of classic members that had not followed the group's epoch when it became its generation, or that were
        not written down before the coordinator died: Kafka says 22 or 25 to them, whoever is in front of it.
        """
        self._release = release
        self._settings = settings
        self._topics = tuple(topics)
        self._records: list[Record] = []
        self._refs = count(1)
        self._parks = count(1)
        self._waiting: dict[ReplyTo, Callable[[Message], None]] = {}
        self._parked: dict[int, tuple[GroupRequest, Then]] = {}
        self.sessions: dict[MemberId, ClassicSession] = {}
        self._now_ms = 0
        self.shard = Shard(settings=settings, assignors=registry)
        self._tell(ChangeTopics(self._topics))

    # ------------------------------------------------------------------ what there is

    @property
    def classic(self) -> ClassicGroup | None:
        """The group while it is a classic one."""
        return self.shard.classic_groups.get(GROUP)

    @property
    def consumer(self) -> Group | None:
        """The group while it is a consumer group with members."""
        group = self.shard.groups.get(GROUP)
        return group if group is not None and group.members else None

    def to_names(self, partitions: Iterable[TopicIdPartition]) -> frozenset[TopicPartition]:
        """Partitions by name."""
        return frozenset(TopicPartition(self.shard.topics[one].name, number) for one, number in partitions)

    def _to_ids(self, partitions: Iterable[TopicPartition]) -> frozenset[TopicIdPartition]:
        ids = self.shard.topic_ids
        return frozenset(TopicIdPartition(ids[name], number) for name, number in partitions if name in ids)

    # ------------------------------------------------------------------ time, and the end of it

    def load(self, now_ms: int) -> None:
        """The coordinator is there again: sessions begin anew, as they do at Kafka's behind every load. Whoever waited
        for others has been told by then, as Kafka does where it lets a group go.
        """
        self.busy, self._now_ms = None, now_ms
        self._waiting.clear()
        parked, self._parked = self._parked, {}
        for request, then in parked.values():
            then(error_reply(request, ErrorCode.NOT_COORDINATOR))
        self._records += resume(self.shard, now_ms)
        for session in self.sessions.values():
            session.due_ms = now_ms + session.session_timeout_ms

    def next_due_ms(self) -> int | None:
        """When `pass_time` has something to do."""
        due = [one.due_ms for one in self.sessions.values()]
        engine_ms = next_deadline(self.shard)
        return min([*due, engine_ms] if engine_ms is not None else due, default=None)

    def pass_time(self, now_ms: int) -> None:
        """Do what is due: sessions end."""
        self._now_ms = now_ms
        self._tell(PassDeadlines())
        for member_id in [one for one, session in self.sessions.items() if session.due_ms <= now_ms]:
            del self.sessions[member_id]
            self._remove(member_id)
        self._downgrade_if_departed()

    def die(self) -> None:
        """Killed and started again: what was parked is lost with its connections, sessions begin anew. Who had joined a
        generation that had not synced is forgotten: Kafka writes a classic group down with its leader's SyncGroup.
        """
        joined = () if self.classic is None else tuple(self.classic.members)
        self._waiting.clear()
        self._parked.clear()
        self.shard = Shard(settings=self._settings, assignors=registry)
        self._records = [record for record in self._records if record.durable]
        for record in self._records:
            apply(self.shard, record)
        self._records += resume(self.shard, self._now_ms)
        written = () if self.classic is None else self.classic.members
        for member_id in joined:
            if member_id not in written:
                self.on_left_behind(member_id)
        for session in self.sessions.values():
            session.due_ms = self._now_ms + session.session_timeout_ms

    # ------------------------------------------------------------------ requests

    def ask(self, now_ms: int, client: ClientIdentity, request: GroupRequest, then: Then) -> None:
        """Take a request; `then` gets the answer, perhaps much later."""
        self._now_ms = now_ms
        self._tell(PassDeadlines())
        if self.busy is not None:
            then(error_reply(request, self.busy))
            return
        then = self._park(request, then)
        match request:
            case ConsumerGroupHeartbeat():
                then(self._heartbeat(client, request))
            case JoinGroup() if self.consumer is not None:
                then(self._join_consumers(self.consumer, client, request))
            case JoinGroup():
                self._later(
                    lambda ref: ClassicJoin(ref=ref, request=request, identity=client, fresh_id=self._fresh_id()), then
                )
            case SyncGroup() if self.consumer is not None:
                then(self._sync_consumers(self.consumer, request))
            case SyncGroup():
                self._later(lambda ref: ClassicSync(ref, request), then)
            case Heartbeat() if self.consumer is not None:
                then(HeartbeatReply(self._beat_consumers(self.consumer, request)))
            case Heartbeat():
                self._later(lambda ref: ClassicHeartbeat(ref, request), then)
            case LeaveGroup():
                self._leave(request, then)
            case _:
                raise AssertionError(f"the broker of this world is not asked {request}")

    def judge_commit(self, request: OffsetCommit) -> ErrorCode:
        """What Kafka says to all of a commit: of a consumer member it looks at the epoch only."""
        if self.busy is not None:
            return self.busy
        group = self.consumer
        if group is None:
            if self.classic is not None:
                return judge_classic_commit(self.classic, request)
            return ErrorCode.NONE if request.generation < 0 else ErrorCode.ILLEGAL_GENERATION
        member = group.members.get(request.member_id)
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if member.subscription.speaks is Speaks.CONSUMER:
            if not request.knows_member_epoch:
                return ErrorCode.UNSUPPORTED_VERSION
            is_now = request.generation == member.current.epoch
            return ErrorCode.NONE if is_now else ErrorCode.STALE_MEMBER_EPOCH
        is_now = request.generation == member.current.epoch
        self._live_on(request.member_id)
        return ErrorCode.NONE if is_now else ErrorCode.ILLEGAL_GENERATION

    # ------------------------------------------------------------------ consumer heartbeats, and who switches in place

    def _heartbeat(self, client: ClientIdentity, request: ConsumerGroupHeartbeat) -> ConsumerGroupHeartbeatReply:
        refusal = self._convert(request)
        if refusal is None and request.member_epoch == JOIN_EPOCH and not self._may_begin_anew(request):
            refusal = ErrorCode.FENCED_MEMBER_EPOCH
        if refusal is not None:
            return ConsumerGroupHeartbeatReply(error=refusal)
        group = self.consumer
        if group is None and request.member_epoch != JOIN_EPOCH:
            return ConsumerGroupHeartbeatReply(error=ErrorCode.GROUP_ID_NOT_FOUND)
        answer = self._say(client, request, Speaks.CONSUMER)
        if answer.error is ErrorCode.NONE:
            self.sessions.pop(request.member_id, None)
            if request.member_epoch <= LEAVE_EPOCH:
                self._downgrade_if_departed()
        return answer

    def _convert(self, request: ConsumerGroupHeartbeat) -> ErrorCode | None:
        """A classic group's own member begins the consumer protocol; strangers the engine lets in by itself."""
        group = self.classic
        if group is None or not group.members:
            return None
        if request.member_epoch != JOIN_EPOCH:
            return ErrorCode.GROUP_ID_NOT_FOUND
        holder = None if request.instance_id is None else group.instances.get(request.instance_id)
        if request.member_id not in group.members and holder is None:
            return None
        if request.instance_id is None and self._release is not Release.V4_3:
            return ErrorCode.FENCED_MEMBER_EPOCH
        verdict = self._order(lambda ref: ConvertGroup(ref=ref, group_id=GROUP, to=GroupType.CONSUMER))
        return None if isinstance(verdict, Converted) else ErrorCode.GROUP_ID_NOT_FOUND

    def _may_begin_anew(self, request: ConsumerGroupHeartbeat) -> bool:
        """Before 4.2 epoch 0 of a dynamic member counts only for one whose first answer was lost."""
        group = self.consumer
        member = None if group is None else group.members.get(request.member_id)
        if member is None or request.instance_id is not None or self._release is Release.V4_3:
            return True
        return member.current.previous_epoch == JOIN_EPOCH

    def _say(
        self, client: ClientIdentity, request: ConsumerGroupHeartbeat, speaks: Speaks
    ) -> ConsumerGroupHeartbeatReply:
        answer = self._order(
            lambda ref: MemberHeartbeat(
                ref=ref, request=request, identity=client, speaks=speaks, fresh_id=request.member_id
            )
        )
        assert isinstance(answer, MemberAnswer), answer
        return answer.reply

    # ------------------------------------------------------------------ classic members of a consumer group

    def _join_consumers(self, group: Group, client: ClientIdentity, request: JoinGroup) -> JoinGroupReply:
        member_id = request.member_id
        holder = None if request.instance_id is None else group.instances.get(request.instance_id)
        if holder is not None and member_id not in ("", holder):
            return JoinGroupReply(error=ErrorCode.FENCED_INSTANCE_ID, member_id=member_id)
        comes_back = holder is not None and not _is_classic(group.members[holder])
        name = self._common_protocol(request)
        if name is None:
            return JoinGroupReply(error=ErrorCode.INCONSISTENT_GROUP_PROTOCOL, member_id=member_id)
        if not member_id:
            member_id = MemberId(f"{client.client_id}-{self._fresh_id()}")
            if request.needs_member_id and request.instance_id is None:
                return JoinGroupReply(error=ErrorCode.MEMBER_ID_REQUIRED, member_id=member_id)
        wants = request.subscription(next(one for one in request.protocols if one.name == name))
        known = group.members.get(member_id)
        said = self._say(
            client,
            ConsumerGroupHeartbeat(
                group_id=GROUP,
                member_id=member_id,
                member_epoch=JOIN_EPOCH if known is None else known.current.epoch,
                instance_id=request.instance_id,
                rebalance_timeout_ms=request.rebalance_timeout_ms,
                subscribed_topic_names=wants.topics,
                owned=self._to_ids(wants.owned or ()),
            ),
            Speaks.CLASSIC,
        )
        if said.error is not ErrorCode.NONE:
            return JoinGroupReply(error=said.error, member_id=member_id)
        self.sessions[member_id] = ClassicSession(
            request.protocols,
            request.session_timeout_ms,
            request.rebalance_timeout_ms,
            self._now_ms + request.session_timeout_ms,
        )
        if comes_back and all(map(_is_classic, group.members.values())):
            # The last static member that comes back turns the group, and nobody hears of it; one that was a classic
            # member before does not (K3.30).
            self._become_classic()
        return JoinGroupReply(
            error=ErrorCode.NONE,
            member_id=member_id,
            generation=said.member_epoch,
            protocol_type=CONSUMER,
            protocol_name=name,
        )

    def _common_protocol(self, request: JoinGroup) -> str | None:
        offered = [{one.name for one in session.protocols} for session in self.sessions.values()]
        return next((one.name for one in request.protocols if all(one.name in names for names in offered)), None)

    def _sync_consumers(self, group: Group, request: SyncGroup) -> SyncGroupReply:
        code = self._judge_classic(group, request)
        if code is not ErrorCode.NONE:
            return SyncGroupReply(error=code)
        current = group.members[request.member_id].current
        if group.epoch > current.epoch and current.state is not MemberState.UNREVOKED_PARTITIONS:
            # Who has something to give up learns what before it follows.
            return SyncGroupReply(error=ErrorCode.REBALANCE_IN_PROGRESS)
        assigned = self.to_names(group.members[request.member_id].current.assigned)
        return SyncGroupReply(
            error=ErrorCode.NONE,
            protocol_type=CONSUMER,
            protocol_name=request.protocol_name,
            assignment=encode_assignment(assigned),
        )

    def _judge_classic(self, group: Group, request: Heartbeat | SyncGroup) -> ErrorCode:
        if request.instance_id is not None:
            holder = group.instances.get(request.instance_id)
            if holder is not None and holder != request.member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        member = group.members.get(request.member_id)
        if member is None or not _is_classic(member):
            return ErrorCode.UNKNOWN_MEMBER_ID
        if request.generation != member.current.epoch:
            return ErrorCode.ILLEGAL_GENERATION
        self._live_on(request.member_id)
        return ErrorCode.NONE

    def _beat_consumers(self, group: Group, request: Heartbeat) -> ErrorCode:
        code = self._judge_classic(group, request)
        if code is ErrorCode.NONE and self._is_called(group, group.members[request.member_id]):
            return ErrorCode.REBALANCE_IN_PROGRESS
        return code

    def _is_called(self, group: Group, member: Member) -> bool:
        current = member.current
        if group.epoch > current.epoch or current.state is MemberState.UNREVOKED_PARTITIONS:
            return True
        if current.state is not MemberState.UNRELEASED_PARTITIONS:
            return False
        target = group.target.get(member.subscription.member_id, frozenset())
        missing = target - current.assigned.keys()
        return bool(missing) and all(one not in group.owners for one in missing)

    def _live_on(self, member_id: MemberId) -> None:
        session = self.sessions.get(member_id)
        if session is not None:
            session.due_ms = self._now_ms + session.session_timeout_ms

    # ------------------------------------------------------------------ departures

    def _leave(self, request: LeaveGroup, then: Then) -> None:
        if self.consumer is None:
            self._later(lambda ref: ClassicLeave(ref, request), then)
            return
        for one in request.members:
            self.sessions.pop(one.member_id, None)
        self._later(lambda ref: RemoveMembers(ref, request), then)
        self._downgrade_if_departed()

    def _remove(self, member_id: MemberId) -> None:
        group = self.consumer
        member = None if group is None else group.members.get(member_id)
        if member is not None:
            entry = LeavingMember(member_id=member_id, instance_id=member.subscription.instance_id)
            self._order(lambda ref: RemoveMembers(ref, LeaveGroup(group_id=GROUP, members=(entry,))))

    def _downgrade_if_departed(self) -> None:
        """Behind the last member of the consumer protocol that goes the others are a classic group, and all join."""
        group = self.consumer
        if group is None or not self._has_departed or not all(map(_is_classic, group.members.values())):
            self._has_departed = False
            return
        self._has_departed = False
        behind = [one for one, member in group.members.items() if member.current.epoch != group.epoch]
        if self._become_classic():
            for member_id in behind:
                self.on_left_behind(member_id)
            ref = self._ref()
            self._waiting[ref] = _unheard
            self._tell(ClassicJoin(ref=ref, request=PHANTOM, identity=_NOBODY, fresh_id=MemberId("phantom")))
            members = [] if self.classic is None else [one for one in self.classic.members if one.endswith("phantom")]
            entries = tuple(LeavingMember(member_id=one) for one in members)
            self._order(lambda ref: ClassicLeave(ref, LeaveGroup(group_id=GROUP, members=entries)))

    _has_departed = False

    def _become_classic(self) -> bool:
        verdict = self._order(lambda ref: ConvertGroup(ref=ref, group_id=GROUP, to=GroupType.CLASSIC))
        if isinstance(verdict, Converted):
            self.sessions.clear()
        return isinstance(verdict, Converted)

    def _seats(self) -> tuple[ClassicSeat, ...]:
        group = self.consumer
        assert group is not None
        return tuple(
            ClassicSeat(
                member_id=member_id,
                instance_id=group.members[member_id].subscription.instance_id,
                identity=group.members[member_id].subscription.identity,
                session_timeout_ms=session.session_timeout_ms,
                rebalance_timeout_ms=session.rebalance_timeout_ms,
                protocols=session.protocols,
                generation=group.members[member_id].current.epoch,
                using=self.to_names(group.members[member_id].current.assigned),
                session_deadline_ms=session.due_ms,
            )
            for member_id, session in self.sessions.items()
            if member_id in group.members
        )

    # ------------------------------------------------------------------ the engine

    def _ref(self) -> RequestRef:
        return RequestRef(BROKER_NODE, 0, next(self._refs))

    def _fresh_id(self) -> MemberId:
        return MemberId(f"broker-{next(self._refs)}")

    def _park(self, request: GroupRequest, then: Then) -> Then:
        """Remember who may wait for others until it is answered."""
        if not isinstance(request, JoinGroup | SyncGroup):
            return then
        number = next(self._parks)

        def answered(reply: GroupReply) -> None:
            if self._parked.pop(number, None) is not None:
                then(reply)

        self._parked[number] = request, then
        return answered

    def _later(self, make: Callable[[ReplyTo], Command], then: Then) -> None:
        ref = self._ref()

        def take(message: Message) -> None:
            assert not isinstance(message, MemberAnswer | Converted | NotConverted), message
            then(message)  # type: ignore[arg-type]  # what is left are answers to clients

        self._waiting[ref] = take
        self._tell(make(ref))

    def _order(self, make: Callable[[ReplyTo], Command]) -> Message:
        """Carry out what is answered at once."""
        found: list[Message] = []
        ref = self._ref()
        self._waiting[ref] = found.append
        self._tell(make(ref))
        return found[0]

    def _tell(self, *commands: Command) -> None:
        outcome = advance(self.shard, commands, self._now_ms)
        self._records += [record for record in outcome.records if record.durable]
        for ref, message in outcome.replies:
            take = self._waiting.pop(ref, None)
            if take is not None:
                take(message)
        for notice in outcome.notices:
            match notice:
                case GroupUpgraded(seats=seats, newcomers=newcomers):
                    self._take_upgrade(seats, newcomers)
                case DowngradeDue() if notice.ref is not None:
                    self._tell(BecomeClassic(ref=notice.ref, group_id=GROUP, seats=self._seats()))
                case MemberRemoved():
                    self._has_departed = True
                case _:
                    pass

    def _take_upgrade(self, seats: tuple[TranslatedSeat, ...], newcomers: tuple[TranslatedSeat, ...]) -> None:
        for seat in seats:
            self.sessions[seat.member.member_id] = _session(seat.member, self._now_ms)
        for seat in (*seats, *newcomers):
            code, member_id = ErrorCode.REBALANCE_IN_PROGRESS, seat.member.member_id
            if seat.joining is not None and (take := self._waiting.pop(seat.joining, None)) is not None:
                take(JoinGroupReply(error=code, member_id=member_id))
            if seat.syncing is not None and (take := self._waiting.pop(seat.syncing, None)) is not None:
                take(SyncGroupReply(error=code))


_NOBODY = ClientIdentity(client_id="", client_host="/127.0.0.1")


def _is_classic(member: Member) -> bool:
    return member.subscription.speaks is Speaks.CLASSIC


def _session(member: ClassicMember, now_ms: int) -> ClassicSession:
    return ClassicSession(
        member.protocols, member.session_timeout_ms, member.rebalance_timeout_ms, now_ms + member.session_timeout_ms
    )


def _unheard(message: Message) -> None:
    """Nobody waits for it."""
