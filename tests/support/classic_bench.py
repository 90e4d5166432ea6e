"""A shard to test classic groups with: their four requests, with answers by the place they were asked from."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from bridge.engine.commands import (
    BeginCommit,
    ClassicHeartbeat,
    ClassicJoin,
    ClassicLeave,
    ClassicSync,
    Command,
    EndCommit,
)
from bridge.engine.model import Phase
from bridge.engine.outcome import Message, Outcome
from bridge.engine.recovery import resume
from bridge.engine.settings import EngineSettings
from bridge.engine.state import ClassicGroup, Shard
from tests.support.engine_bench import GROUP, IDENTITY, SETTINGS, Bench
from translators.dialects.classic import (
    Heartbeat,
    HeartbeatReply,
    JoinGroup,
    JoinGroupReply,
    LeaveGroup,
    LeaveGroupReply,
    LeavingMember,
    MemberAssignment,
    Protocol,
    SyncGroup,
    SyncGroupReply,
)
from translators.dialects.coordinator import CommitRefused
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import NO_MEMBER_ID, InstanceId, MemberId, ReplyTo, RequestRef, TopicName
from translators.dialects.offsets import OffsetCommit, PartitionCommit, TopicCommit, TxnOffsetCommit

NO_DELAY = EngineSettings(group_initial_rebalance_delay_ms=0)
RANGE = (Protocol("range", b"foo"),)
SESSION_MS = 10_000
DELAY_MS = 3_000
REBALANCE_MS = 60_000


def offer(*names: str, says: bytes = b"foo") -> tuple[Protocol, ...]:
    """Protocols by name, all with the same metadata."""
    return tuple(Protocol(name, says) for name in names)


def join_of(member: str = "", instance: str | None = None) -> JoinGroup:
    """A JoinGroup of version 4 to 8."""
    return JoinGroup(
        group_id=GROUP,
        member_id=MemberId(member),
        instance_id=None if instance is None else InstanceId(instance),
        protocol_type="consumer",
        protocols=RANGE,
        session_timeout_ms=SESSION_MS,
        rebalance_timeout_ms=REBALANCE_MS,
    )


def old_join_of(member: str = "") -> JoinGroup:
    """A JoinGroup of version 1 to 3: a newcomer is admitted at once."""
    return replace(join_of(member), needs_member_id=False)


def commit_of(member: str, generation: int, instance: str | None = None) -> OffsetCommit:
    """A commit of foo-0."""
    return OffsetCommit(
        group_id=GROUP,
        generation=generation,
        member_id=MemberId(member),
        instance_id=None if instance is None else InstanceId(instance),
        topics=(TopicCommit(name=TopicName("foo"), partitions=(PartitionCommit(partition=0, offset=10),)),),
    )


def transaction_of(member: str = "", generation: int = -1) -> TxnOffsetCommit:
    """A transactional commit of foo-0; without arguments one without identity."""
    return TxnOffsetCommit(
        transactional_id="t",
        group_id=GROUP,
        producer_id=1,
        producer_epoch=0,
        topics=commit_of(member, generation).topics,
        generation=generation,
        member_id=MemberId(member),
    )


@dataclass(slots=True)
class ClassicBench:
    """A shard, and the answers that its classic groups have given so far."""

    settings: EngineSettings = SETTINGS
    no_assignment_before_ms: int = 0
    bench: Bench = field(init=False)
    replies: dict[ReplyTo, Message] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Start the shard."""
        self.bench = Bench(settings=self.settings, no_assignment_before_ms=self.no_assignment_before_ms)

    @property
    def group(self) -> ClassicGroup:
        """The group that all requests name."""
        return self.bench.state.classic_groups[GROUP]

    @property
    def phase(self) -> Phase:
        """Where the group stands."""
        return self.group.phase

    @property
    def generation(self) -> int:
        """The group's generation."""
        return self.group.roster.generation

    def tell(self, *commands: Command) -> Outcome:
        """Carry out commands in one turn and keep their answers; nothing is answered twice."""
        outcome = self.bench.tell(*commands)
        for ref, message in outcome.replies:
            assert ref not in self.replies, f"{ref} was answered twice"
            self.replies[ref] = message
        return outcome

    def pass_time(self, milliseconds: int) -> Outcome:
        """Time passes, and the deadlines with it."""
        outcome = self.bench.pass_time(milliseconds)
        self.replies.update(outcome.replies)
        return outcome

    def restart(self) -> Shard:
        """Replace the state by what the journal has of it, resumed now."""
        self.bench.records = [record for record in self.bench.records if record.durable]
        self.bench.state = self.bench.replayed()
        self.bench.records += resume(self.bench.state, self.bench.now_ms)
        return self.bench.state

    # ------------------------------------------------------------------ JoinGroup

    def join(self, request: JoinGroup) -> RequestRef:
        """Carry out a JoinGroup; where its answer is, now or later."""
        ref = self.bench.ref()
        fresh_id = MemberId(str(ref.sequence))
        self.tell(ClassicJoin(ref=ref, request=request, identity=IDENTITY, fresh_id=fresh_id))
        return ref

    def joined(self, ref: ReplyTo) -> JoinGroupReply | None:
        """The answer to a JoinGroup, None while it is parked."""
        reply = self.replies.get(ref)
        assert reply is None or isinstance(reply, JoinGroupReply)
        return reply

    def admitted(self, ref: ReplyTo) -> JoinGroupReply:
        """The answer to a JoinGroup that is not parked."""
        reply = self.joined(ref)
        assert reply is not None, f"{ref} is parked"
        return reply

    def join_now(self, request: JoinGroup) -> JoinGroupReply:
        """Carry out a JoinGroup that is answered at once."""
        return self.admitted(self.join(request))

    def join_code(self, request: JoinGroup) -> ErrorCode:
        """The code of a JoinGroup that is answered at once."""
        return self.join_now(request).error

    # ------------------------------------------------------------------ SyncGroup, Heartbeat, LeaveGroup

    def sync(
        self,
        member: str,
        instance: str | None = None,
        *,
        assigns: Mapping[str, bytes] | None = None,
        generation: int | None = None,
    ) -> RequestRef:
        """Carry out a SyncGroup in the group's generation; where its answer is, now or later."""
        request = SyncGroup(
            group_id=GROUP,
            generation=self.generation if generation is None else generation,
            member_id=MemberId(member),
            instance_id=None if instance is None else InstanceId(instance),
            assignments=tuple(MemberAssignment(MemberId(one), blob) for one, blob in (assigns or {}).items()),
        )
        return self.sync_as(request)

    def sync_as(self, request: SyncGroup) -> RequestRef:
        """Carry out any SyncGroup."""
        ref = self.bench.ref()
        self.tell(ClassicSync(ref, request))
        return ref

    def synced(self, ref: ReplyTo) -> SyncGroupReply | None:
        """The answer to a SyncGroup, None while it is parked."""
        reply = self.replies.get(ref)
        assert reply is None or isinstance(reply, SyncGroupReply)
        return reply

    def sync_code(self, ref: ReplyTo) -> ErrorCode | None:
        """The code of a SyncGroup, None while it is parked."""
        reply = self.synced(ref)
        return None if reply is None else reply.error

    def beat(self, member: str, instance: str | None = None, generation: int | None = None) -> ErrorCode:
        """The code of a Heartbeat, in the group's generation unless told otherwise."""
        request = Heartbeat(
            GROUP,
            self.generation if generation is None else generation,
            MemberId(member),
            None if instance is None else InstanceId(instance),
        )
        ref = self.bench.ref()
        self.tell(ClassicHeartbeat(ref, request))
        reply = self.replies[ref]
        assert isinstance(reply, HeartbeatReply)
        return reply.error

    def leave(self, *entries: tuple[str, str | None]) -> list[ErrorCode]:
        """The codes of a LeaveGroup, by entry: member id and instance id each."""
        members = tuple(
            LeavingMember(member_id=MemberId(member), instance_id=None if instance is None else InstanceId(instance))
            for member, instance in entries
        )
        ref = self.bench.ref()
        self.tell(ClassicLeave(ref, LeaveGroup(group_id=GROUP, members=members)))
        reply = self.replies[ref]
        assert isinstance(reply, LeaveGroupReply)
        return [left.error for left in reply.members]

    # ------------------------------------------------------------------ OffsetCommit

    def commit(self, request: OffsetCommit | TxnOffsetCommit) -> ErrorCode:
        """The code with which a commit is refused, NONE if it may go to the broker."""
        ref = self.bench.ref()
        self.tell(BeginCommit(ref, request))
        reply = self.replies[ref]
        return reply.code if isinstance(reply, CommitRefused) else ErrorCode.NONE

    def end_commits(self) -> Outcome:
        """The broker answers every commit that is on its way."""
        return self.tell(*(EndCommit(commit_id) for commit_id in tuple(self.bench.state.flights)))

    # ------------------------------------------------------------------ groups in a known state

    def form(self, *instances: str | None) -> list[MemberId]:
        """A Stable group of static members (dynamic where None), each assigned its own id as bytes; the first leads."""
        refs = [self.join(old_join_of() if name is None else join_of("", name)) for name in instances]
        while self.phase is Phase.PREPARING_REBALANCE:
            self.pass_time(DELAY_MS)
        members = [self.admitted(ref).member_id for ref in refs]
        self.sync_all(members, instances)
        return members

    def sync_all(self, members: list[MemberId], instances: tuple[str | None, ...]) -> None:
        """Everybody syncs, and the leader assigns to each its own id as bytes."""
        assigns: dict[str, bytes] = {member: member.encode() for member in members}
        for member, instance in zip(members, instances, strict=True):
            leads = member == self.group.roster.leader
            self.sync(member, instance, assigns=assigns if leads else None)
        assert self.phase is Phase.STABLE

    def promise(self) -> MemberId:
        """An id that is promised and not claimed yet."""
        reply = self.join_now(join_of())
        assert reply.error is ErrorCode.MEMBER_ID_REQUIRED
        assert reply.member_id != NO_MEMBER_ID
        return reply.member_id
