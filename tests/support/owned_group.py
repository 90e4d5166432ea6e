"""A group owner with a clock and clients that are driven by hand: machines and engine together, without a shell."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from typing import TypeVar

from bridge.coordinators.arrivals import Arrival, MembershipRequest
from bridge.coordinators.catalog import Catalog
from bridge.coordinators.embedded.coordinator import FreshIds
from bridge.coordinators.embedded.owner import EmbeddedOwner
from bridge.coordinators.exchange import TurnResult
from bridge.coordinators.machines import Machines
from bridge.engine.assignors.interface import Assignor
from bridge.engine.assignors.registry import registry
from bridge.engine.commands import ChangeTopics, Command
from bridge.engine.settings import EngineSettings
from bridge.engine.state import Shard
from translators.classic_member.states import MemberLimits
from translators.dialects.classic import (
    Heartbeat,
    HeartbeatReply,
    JoinGroup,
    JoinGroupReply,
    Protocol,
    SyncGroup,
    SyncGroupReply,
)
from translators.dialects.consumer import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply
from translators.dialects.consumer_protocol import Subscription, decode_assignment, encode_subscription
from translators.dialects.coordinator import ClassicSeat, MembershipReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import (
    ClientIdentity,
    GroupId,
    InstanceId,
    MemberId,
    MemberRef,
    RequestRef,
    Topic,
    TopicId,
    TopicName,
    TopicPartition,
)

GROUP = GroupId("g")
TOPIC = TopicName("t")
CLIENT = ClientIdentity(client_id="client", client_host="/127.0.0.1")
ReplyT = TypeVar("ReplyT")


def counted_ids(numbers: Iterator[int]) -> FreshIds:
    """Fresh ids in the order of `numbers`."""
    return FreshIds(lambda: f"fresh-{next(numbers)}", lambda: MemberId(f"fresh-{next(numbers)}"))


class OwnedGroup:
    """One owner; `replies` holds every answer by request, `now_ms` only moves by `wait`."""

    def __init__(
        self,
        partitions: int = 6,
        settings: EngineSettings | None = None,
        assignors: Mapping[str, Assignor] = registry,
        ids: Iterator[int] | None = None,
    ) -> None:
        chosen = settings or EngineSettings(group_initial_rebalance_delay_ms=0, departure_wait_ms=0)
        fresh = ids or count(1)
        self.owner = EmbeddedOwner(
            Shard(settings=chosen, assignors=assignors),
            Catalog(),
            Machines(MemberLimits()),
            counted_ids(fresh),
        )
        self.now_ms = 0
        self.replies: dict[RequestRef, MembershipReply] = {}
        self._sequence = count(1)
        self.change_topics([Topic(TopicId(b"t" * 16), TOPIC, partitions)])

    def change_topics(self, topics: Iterable[Topic]) -> None:
        """The cluster has these topics now, and two looks have told so."""
        found = tuple(topics)
        for change in (self.owner.catalog.update(found), self.owner.catalog.update(found)):
            self._keep(self.owner.take_turn([ChangeTopics(change.changed, change.removed)], self.now_ms))

    def send(self, *requests: MembershipRequest, client: ClientIdentity = CLIENT) -> list[RequestRef]:
        """Let requests arrive in one turn; gives where their answers will be in `replies`."""
        refs = [RequestRef(0, number, number) for number in (next(self._sequence) for _ in requests)]
        arrivals = [Arrival(ref, client, request) for ref, request in zip(refs, requests, strict=True)]
        self._keep(self.owner.take_turn(arrivals, self.now_ms))
        return refs

    def tell(self, command: Command) -> TurnResult:
        """Let a command of the shell be carried out in a turn of its own."""
        result = self.owner.take_turn([command], self.now_ms)
        self._keep(result)
        return result

    def wait(self, duration_ms: int) -> None:
        """Let time pass, deadline by deadline."""
        end_ms = self.now_ms + duration_ms
        while (due := self.owner.next_deadline_ms()) is not None and due <= end_ms:
            self.now_ms = max(self.now_ms, due)
            self._keep(self.owner.pass_deadlines(self.now_ms))
        self.now_ms = end_ms

    def answer(self, ref: RequestRef, kind: type[ReplyT]) -> ReplyT:
        """The answer that came to a request."""
        reply = self.replies[ref]
        assert isinstance(reply, kind)
        return reply

    def _keep(self, result: TurnResult) -> None:
        for ref, reply in result.replies:
            assert ref not in self.replies, f"{ref} was answered twice"
            self.replies[ref] = reply


class ClassicClient:
    """A well-behaved classic consumer: eager unless its assignor is cooperative-sticky."""

    def __init__(self, group: OwnedGroup, assignor: str = "range", instance_id: str | None = None) -> None:
        self.group = group
        self.assignor = assignor
        self.instance_id = None if instance_id is None else InstanceId(instance_id)
        self.member_id = MemberId("")
        self.generation = -1
        self.owned: frozenset[TopicPartition] = frozenset()
        self.parked: RequestRef | None = None
        self.session_ms = 10_000

    @property
    def is_cooperative(self) -> bool:
        """Whether the client keeps its partitions while it joins."""
        return self.assignor == "cooperative-sticky"

    def join_request(self) -> JoinGroup:
        """What the client sends to join or rejoin."""
        owned = self.owned if self.is_cooperative else frozenset()
        blob = encode_subscription(Subscription(version=3, topics=(TOPIC,), owned=owned, user_data=None))
        return JoinGroup(
            group_id=GROUP,
            member_id=self.member_id,
            instance_id=self.instance_id,
            protocol_type="consumer",
            protocols=(Protocol(self.assignor, blob),),
            session_timeout_ms=self.session_ms,
            rebalance_timeout_ms=60_000,
        )

    def begin_join(self) -> None:
        """Send JoinGroup, with a second one where the member id is told first; an eager client drops everything."""
        if not self.is_cooperative:
            self.owned = frozenset()
        (ref,) = self.group.send(self.join_request())
        reply = self.group.replies.get(ref)
        if isinstance(reply, JoinGroupReply) and reply.error is ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = reply.member_id
            (ref,) = self.group.send(self.join_request())
        self.parked = ref

    @property
    def is_joined(self) -> bool:
        """Whether the JoinGroup was answered."""
        return self.parked is not None and self.parked in self.group.replies

    def end_join(self) -> frozenset[TopicPartition]:
        """Take the answer, sync, and rejoin as cooperative clients do; gives what is owned in the end."""
        assert self.parked is not None
        reply = self.group.answer(self.parked, JoinGroupReply)
        assert (reply.error, reply.leader, reply.members) == (ErrorCode.NONE, "", ())
        self.member_id, self.generation, self.parked = reply.member_id, reply.generation, None
        before = self.owned
        (ref,) = self.group.send(
            SyncGroup(
                group_id=GROUP,
                generation=self.generation,
                member_id=self.member_id,
                instance_id=self.instance_id,
                protocol_type="consumer",
                protocol_name=self.assignor,
            )
        )
        synced = self.group.answer(ref, SyncGroupReply)
        assert synced.error is ErrorCode.NONE
        self.owned = decode_assignment(synced.assignment).partitions
        if self.is_cooperative and before - self.owned:
            self.begin_join()
            return self.end_join()
        return self.owned

    def join(self) -> frozenset[TopicPartition]:
        """Join and sync at once."""
        self.begin_join()
        return self.end_join()

    def beat(self) -> ErrorCode:
        """Send a heartbeat."""
        (ref,) = self.group.send(Heartbeat(GROUP, self.generation, self.member_id, self.instance_id))
        return self.group.answer(ref, HeartbeatReply).error


def settled_pair(group: OwnedGroup) -> tuple[ClassicClient, ClassicClient]:
    """Two eager clients that share the partitions: the first was called when the second came."""
    first, second = ClassicClient(group), ClassicClient(group)
    first.join()
    second.begin_join()
    first.beat()
    first.join()
    second.end_join()
    return first, second


class ConsumerClient:
    """A KIP-848 member that does what it is told at every heartbeat."""

    def __init__(self, group: OwnedGroup, member_id: str, instance_id: str | None = None) -> None:
        self.group = group
        self.member_id = MemberId(member_id)
        self.instance_id = None if instance_id is None else InstanceId(instance_id)
        self.epoch = 0
        self.assigned: frozenset[TopicPartition] = frozenset()

    def beat(self, epoch: int | None = None) -> ErrorCode:
        """Send a full heartbeat and take over the assignment that comes back."""
        (ref,) = self.group.send(self.heartbeat(epoch))
        return self.take(ref)

    def heartbeat(self, epoch: int | None = None) -> ConsumerGroupHeartbeat:
        """A full heartbeat."""
        sent = self.epoch if epoch is None else epoch
        return ConsumerGroupHeartbeat(
            group_id=GROUP,
            member_id=self.member_id,
            member_epoch=sent,
            instance_id=self.instance_id,
            rebalance_timeout_ms=60_000 if sent >= 0 else -1,
            subscribed_topic_names=(TOPIC,) if sent >= 0 else None,
            owned=self.group.owner.catalog.to_ids(self.assigned) if sent >= 0 else None,
        )

    def take(self, ref: RequestRef) -> ErrorCode:
        """Take over the assignment that came back."""
        catalog = self.group.owner.catalog
        reply = self.group.answer(ref, ConsumerGroupHeartbeatReply)
        if reply.error is ErrorCode.NONE:
            self.epoch = reply.member_epoch
            if reply.assignment is not None:
                self.assigned = catalog.to_names(reply.assignment)
        return reply.error


class ClientsAhead:
    """`ports.Members` of whom nobody has a seat; their clients take up what they were given once it `is_ready`."""

    is_ready = False

    def holder_of(self, group_id: GroupId, instance_id: InstanceId) -> MemberId | None:
        """See `ports.Members`."""
        return None

    def is_settled(self, member: MemberRef, now_ms: int) -> bool:
        """See `ports.Members`."""
        return self.is_ready

    def seat(self, member: MemberRef, now_ms: int) -> ClassicSeat | None:
        """See `ports.Members`."""
        return None
