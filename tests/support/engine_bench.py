"""A shard to test the engine with: commands one at a time or in batches, scripted assignors, and all records kept for
replay.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from bridge.engine.advance import advance
from bridge.engine.apply import apply
from bridge.engine.assignors.interface import Assignment, AssignmentSpec, Assignor
from bridge.engine.assignors.registry import registry
from bridge.engine.commands import ChangeTopics, Command, MemberHeartbeat, PassDeadlines, Speaks
from bridge.engine.model import Current, Member
from bridge.engine.outcome import MemberAnswer, Outcome
from bridge.engine.records import Record
from bridge.engine.settings import EngineSettings
from bridge.engine.state import Group, Shard
from translators.dialects.consumer import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    ClientIdentity,
    GroupId,
    InstanceId,
    MemberId,
    ReplyTo,
    RequestRef,
    Topic,
    TopicId,
    TopicIdPartition,
    TopicName,
)

GROUP = GroupId("orders")
FOO = TopicName("foo")
BAR = TopicName("bar")
IDENTITY = ClientIdentity(client_id="client", client_host="/127.0.0.1")
SETTINGS = EngineSettings(departure_wait_ms=0)
Partitions = frozenset[TopicIdPartition]


def topic_id(name: str) -> TopicId:
    """A topic's id in these tests: its name, filled up to sixteen bytes."""
    return TopicId(name.encode().ljust(16, b"."))


def topic(name: str, partition_count: int) -> Topic:
    """A topic with the id that its name makes."""
    return Topic(topic_id(name), TopicName(name), partition_count)


def parts(*numbers: int, of: str = "foo") -> Partitions:
    """Partitions of one topic."""
    return frozenset(TopicIdPartition(topic_id(of), number) for number in numbers)


@dataclass(slots=True)
class ScriptedAssignor:
    """Gives out what it is told next, whatever is asked; with nothing left it fails."""

    name: str = "uniform"
    targets: list[Mapping[str, Partitions]] = field(default_factory=list)

    def assign(self, spec: AssignmentSpec) -> Assignment:
        """The next target of the script, for the members of the question."""
        if not self.targets:
            raise LookupError("the script is at its end")
        target = self.targets.pop(0)
        return {member_id: target.get(member_id, frozenset()) for member_id in spec.members}


def join_request(member: str, *topics: str) -> ConsumerGroupHeartbeat:
    """A member joins `GROUP` and subscribes, to foo unless told otherwise."""
    return ConsumerGroupHeartbeat(
        group_id=GROUP,
        member_id=MemberId(member),
        member_epoch=JOIN_EPOCH,
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=tuple(TopicName(name) for name in topics or ("foo",)),
        owned=frozenset(),
    )


def static_join_request(member: str, instance: str) -> ConsumerGroupHeartbeat:
    """A static member joins `GROUP` and subscribes to foo."""
    return replace(join_request(member), instance_id=InstanceId(instance))


def beat_request(member: str, epoch: int, owned: Partitions | None = None) -> ConsumerGroupHeartbeat:
    """A member of `GROUP` lives, and says what it owns unless None."""
    return ConsumerGroupHeartbeat(group_id=GROUP, member_id=MemberId(member), member_epoch=epoch, owned=owned)


def calm_reply(request: ConsumerGroupHeartbeat) -> ConsumerGroupHeartbeatReply:
    """What a heartbeat is answered that says nothing new and is to hear nothing new."""
    return ConsumerGroupHeartbeatReply(
        error=ErrorCode.NONE,
        member_id=request.member_id,
        member_epoch=request.member_epoch,
        heartbeat_interval_ms=SETTINGS.group_consumer_heartbeat_interval_ms,
    )


@dataclass(slots=True)
class Bench:
    """A shard with the topics foo (six partitions) and bar (three), its clock, and every record so far."""

    settings: EngineSettings = SETTINGS
    assignors: Mapping[str, Assignor] = field(default_factory=lambda: registry)
    no_assignment_before_ms: int = 0
    topics: Sequence[Topic] = (topic("foo", 6), topic("bar", 3))
    now_ms: int = 0
    sequence: int = 0
    records: list[Record] = field(default_factory=list)
    outcome: Outcome = field(default_factory=Outcome)
    state: Shard = field(init=False)

    def __post_init__(self) -> None:
        """Start the shard and tell it its topics."""
        self.state = self.fresh_shard()
        self.tell(ChangeTopics(tuple(self.topics)))

    def fresh_shard(self) -> Shard:
        """An empty shard with the same inputs."""
        return Shard(
            settings=self.settings, assignors=self.assignors, no_assignment_before_ms=self.no_assignment_before_ms
        )

    def replayed(self, *, durable_only: bool = False) -> Shard:
        """A fresh shard to which all records were applied, or only the durable ones."""
        state = self.fresh_shard()
        for record in self.records:
            if record.durable or not durable_only:
                apply(state, record)
        return state

    def tell(self, *commands: Command) -> Outcome:
        """Carry out commands in one turn, now."""
        self.outcome = advance(self.state, commands, self.now_ms)
        self.records.extend(self.outcome.records)
        return self.outcome

    def ref(self) -> RequestRef:
        """A new place for an answer."""
        self.sequence += 1
        return RequestRef(0, 0, self.sequence)

    def command(self, request: ConsumerGroupHeartbeat, speaks: Speaks = Speaks.CONSUMER) -> MemberHeartbeat:
        """A heartbeat with a place for its answer; a fresh id is `new-` and its number."""
        ref = self.ref()
        return MemberHeartbeat(
            ref=ref, request=request, identity=IDENTITY, speaks=speaks, fresh_id=MemberId(f"new-{ref.sequence}")
        )

    def ask(self, request: ConsumerGroupHeartbeat, speaks: Speaks = Speaks.CONSUMER) -> MemberAnswer:
        """Carry out one heartbeat alone and return its answer."""
        command = self.command(request, speaks)
        return self.answers(self.tell(command))[command.ref]

    def code(self, request: ConsumerGroupHeartbeat, speaks: Speaks = Speaks.CONSUMER) -> ErrorCode:
        """Carry out one heartbeat alone and return its error."""
        return self.ask(request, speaks).reply.error

    def join(self, member: str, *topics: str) -> MemberAnswer:
        """A native member joins."""
        return self.ask(join_request(member, *topics))

    def beat(self, member: str, owned: Partitions | None = None) -> MemberAnswer:
        """A native member heartbeats at its own epoch."""
        return self.ask(beat_request(member, self.current(member).epoch, owned))

    def leave(self, member: str) -> MemberAnswer:
        """A native member leaves for good."""
        return self.ask(beat_request(member, LEAVE_EPOCH))

    def pass_time(self, milliseconds: int) -> Outcome:
        """Time passes, and the deadlines with it."""
        self.now_ms += milliseconds
        return self.tell(PassDeadlines())

    def settle(self, *members: str) -> None:
        """Let native members heartbeat, owning what they are told, until nothing moves any more."""
        for _ in range(4):
            for member in members:
                self.beat(member, self.assigned(member))

    @property
    def group(self) -> Group:
        """The group that all requests of the bench name."""
        return self.state.groups[GROUP]

    def member(self, member: str) -> Member:
        """A member as the engine keeps it."""
        return self.group.members[MemberId(member)]

    def current(self, member: str) -> Current:
        """What a member holds."""
        return self.member(member).current

    def assigned(self, member: str) -> Partitions:
        """What a member may use."""
        return frozenset(self.current(member).assigned)

    def target(self, member: str) -> Partitions:
        """What a member shall have."""
        return self.group.target[MemberId(member)]

    @staticmethod
    def answers(outcome: Outcome) -> dict[ReplyTo, MemberAnswer]:
        """The answers to heartbeats in an outcome, by their place."""
        return {ref: message for ref, message in outcome.replies if isinstance(message, MemberAnswer)}
