"""A round played at our own engine, which coordinates classic groups as Kafka does: every answer in its own time."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from bridge.engine.commands import ClassicJoin, ClassicLeave, ClassicSync
from bridge.engine.queries import next_deadline as broker_deadline
from bridge.migration.moves.round import RoundStep, begin, next_deadline, step
from bridge.migration.moves.round_values import (
    AnswerLost,
    AskInPlace,
    DeadlinePassed,
    Failed,
    JoinAnswered,
    Played,
    RemovalAnswered,
    RemoveMembers,
    Round,
    RoundEvent,
    RoundPlayer,
    RoundState,
    SyncAnswered,
)
from tests.support.classic_bench import NO_DELAY, ClassicBench
from tests.support.engine_bench import GROUP, IDENTITY
from translators.dialects.classic import (
    JoinGroup,
    JoinGroupReply,
    LeaveGroup,
    LeaveGroupReply,
    LeavingMember,
    Protocol,
    SyncGroup,
    SyncGroupReply,
)
from translators.dialects.consumer_protocol import Subscription, encode_assignment, encode_subscription
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import NO_MEMBER_ID, InstanceId, MemberId, RequestRef, TopicName, TopicPartition

TOPIC = TopicName("foo")
SESSION_MS = 10_000
REBALANCE_MS = 60_000
BOUND_MS = 3_000
SUBSCRIBED = (Protocol("range", encode_subscription(Subscription(version=0, topics=(TOPIC,)))),)


def share(number: int) -> frozenset[TopicPartition]:
    """What the player of this number has."""
    return frozenset({TopicPartition(TOPIC, number)})


def player(member_id: str, number: int, broker_id: str | None = None, instance: str | None = None) -> RoundPlayer:
    """A member with one partition, which it is to have at the broker, too; `broker_id` is its id unless told."""
    return RoundPlayer(
        member_id=MemberId(member_id),
        client_id="client",
        broker_id=MemberId(member_id if broker_id is None else broker_id),
        instance_id=None if instance is None else InstanceId(instance),
        protocols=SUBSCRIBED,
        session_timeout_ms=SESSION_MS,
        rebalance_timeout_ms=REBALANCE_MS,
        owned=share(number),
        give=encode_assignment(share(number)),
    )


def join_of(member_id: MemberId, instance_id: InstanceId | None = None) -> JoinGroup:
    """The JoinGroup of a client, in its own words."""
    return JoinGroup(
        group_id=GROUP,
        member_id=member_id,
        instance_id=instance_id,
        protocol_type="consumer",
        protocols=SUBSCRIBED,
        session_timeout_ms=SESSION_MS,
        rebalance_timeout_ms=REBALANCE_MS,
    )


@dataclass(slots=True)
class RoundTable:
    """The group at its coordinator, the round, and what is between them: requests not there yet, answers to come."""

    broker: ClassicBench = field(default_factory=lambda: ClassicBench(settings=NO_DELAY))
    state: RoundState | None = None
    on_the_way: list[AskInPlace | RemoveMembers] = field(default_factory=list)
    awaited: dict[RequestRef, MemberId | None] = field(default_factory=dict)
    strangers: dict[RequestRef, InstanceId | None] = field(default_factory=dict)

    # ------------------------------------------------------------------ the group before

    def form(self, count: int, instances: Sequence[str] = ()) -> tuple[RoundPlayer, ...]:
        """A Stable group of so many members, the first of them static if named, each with its partition."""
        broker = self.broker
        names = [InstanceId(one) for one in instances] + [None] * (count - len(instances))
        ids = [NO_MEMBER_ID if name else self.promise() for name in names]
        refs = [broker.join(join_of(one, name)) for one, name in zip(ids, names, strict=True)]
        # Whoever came while nobody else did was alone in its generation, and joins again with the others.
        alone = {
            broker.admitted(ref).member_id: name for ref, name in zip(refs, names, strict=True) if broker.joined(ref)
        }
        for one, name in alone.items() if count > 1 else ():
            broker.join(join_of(one, name))
        members = list(broker.group.members)
        given: dict[str, bytes] = {one: encode_assignment(share(number)) for number, one in enumerate(members)}
        leader = broker.group.roster.leader
        assert leader is not None
        for one in (leader, *(other for other in members if other != leader)):
            instance = broker.group.members[one].instance_id
            broker.sync(one, instance, assigns=given if one == leader else None)
        players = [
            player(one, number, instance=broker.group.members[one].instance_id) for number, one in enumerate(members)
        ]
        return tuple(sorted(players, key=lambda one: one.member_id != leader))

    def promise(self) -> MemberId:
        """The id that a newcomer is told to come with."""
        reply = self.broker.join_now(join_of(NO_MEMBER_ID))
        assert reply.error is ErrorCode.MEMBER_ID_REQUIRED
        return reply.member_id

    # ------------------------------------------------------------------ the round

    def play(self, played: Round) -> None:
        """Begin."""
        self._take(begin(played))

    def happen(self, event: RoundEvent) -> None:
        """Let an event happen to the round."""
        assert self.state is not None
        self._take(step(self.state, event, self.broker.bench.now_ms))

    def _take(self, taken: RoundStep) -> None:
        self.state = taken.state
        waiting = [one for one in self.awaited.values() if one is not None]
        waiting += [one.member_id for one in self.on_the_way if isinstance(one, AskInPlace)]
        asked = [one.member_id for one in taken.effects if isinstance(one, AskInPlace)]
        assert len({*waiting, *asked}) == len(waiting) + len(asked), "a player asks one thing at a time"
        self.on_the_way += taken.effects

    @property
    def is_over(self) -> bool:
        """Whether the round has ended, well or not."""
        return isinstance(self.state, Played | Failed)

    def arrive(self, index: int = 0) -> None:
        """One of the requests on their way reaches the broker, and whatever is answered then is heard."""
        asked = self.on_the_way.pop(index % len(self.on_the_way))
        ref = self.broker.bench.ref()
        self.awaited[ref] = asked.member_id if isinstance(asked, AskInPlace) else None
        match asked.request:
            case JoinGroup():
                fresh_id = MemberId(str(ref.sequence))
                command = ClassicJoin(ref=ref, request=asked.request, identity=IDENTITY, fresh_id=fresh_id)
                self.broker.tell(command)
            case SyncGroup():
                self.broker.tell(ClassicSync(ref, asked.request))
            case LeaveGroup():
                self.broker.tell(ClassicLeave(ref, asked.request))
        self.hear()

    def hear(self) -> None:
        """Every answer that is there is heard."""
        for ref in [one for one in self.awaited if one in self.broker.replies]:
            member_id, reply = self.awaited.pop(ref), self.broker.replies[ref]
            match reply:
                case JoinGroupReply():
                    assert member_id is not None
                    self.happen(JoinAnswered(member_id, reply))
                case SyncGroupReply():
                    assert member_id is not None
                    self.happen(SyncAnswered(member_id, reply))
                case LeaveGroupReply():
                    self.happen(RemovalAnswered(reply))
                case _:
                    raise AssertionError(f"no round asks what is answered {reply}")

    def lose(self, index: int) -> None:
        """A connection is lost while a player waits for an answer by it."""
        waiting = [(ref, one) for ref, one in self.awaited.items() if one is not None]
        if waiting:
            ref, member_id = waiting[index % len(waiting)]
            del self.awaited[ref]
            self.happen(AnswerLost(member_id))

    def wait(self) -> None:
        """Time passes until the round wants to be woken."""
        assert self.state is not None
        due_ms = next_deadline(self.state)
        assert due_ms is not None
        bench = self.broker.bench
        broker_ms = broker_deadline(bench.state)
        if broker_ms is not None and broker_ms < due_ms:
            self.broker.pass_time(broker_ms - bench.now_ms)
            self.hear()
        else:
            self.broker.pass_time(max(due_ms - bench.now_ms, 0))
            self.happen(DeadlinePassed())

    def run(self) -> RoundState:
        """Everything arrives in order until the round is over."""
        while not self.is_over:
            if self.on_the_way:
                self.arrive()
            else:
                self.wait()
        assert self.state is not None
        return self.state

    # ------------------------------------------------------------------ others

    def intrude(self, instance: str | None = None) -> RequestRef:
        """A client that is no player joins by another way."""
        name = None if instance is None else InstanceId(instance)
        ref = self.broker.join(join_of(NO_MEMBER_ID if name else self.promise(), name))
        self.strangers[ref] = name
        self.hear()
        return ref

    def leave(self, member_id: MemberId) -> None:
        """A member's client leaves by another way."""
        entry = LeavingMember(member_id=member_id)
        self.broker.tell(ClassicLeave(self.broker.bench.ref(), LeaveGroup(group_id=GROUP, members=(entry,))))
        self.hear()
