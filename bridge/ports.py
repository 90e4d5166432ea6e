"""What one room asks of another, as Protocols: the shell's seams.

It must not know any room that offers or uses them.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from translators.dialects.admin import DescribedGroup
from translators.dialects.classic import JoinGroup
from translators.dialects.consumer import ConsumerGroupHeartbeat, DescribedConsumerGroup
from translators.dialects.coordinator import (
    ClassicGroupRequest,
    ClassicSeat,
    CommitAdmitted,
    CommitRefused,
    CoordinatorCommand,
    CoordinatorEvent,
    DepartReason,
)
from translators.dialects.errors import ErrorCode, Refusal
from translators.dialects.ids import (
    ClientIdentity,
    GroupId,
    InstanceId,
    MemberId,
    MemberRef,
    ReplyTo,
    RequestRef,
    Topic,
    Via,
)
from translators.dialects.messages import GroupReply, GroupRequest
from translators.dialects.offsets import (
    FetchedGroup,
    GroupOffsets,
    OffsetCommit,
    OffsetCommitReply,
    TxnOffsetCommit,
)

Condense = Callable[[Iterable[bytes]], Iterable[bytes]]
"""Fewer entries with the same meaning."""


@dataclass(frozen=True, slots=True)
class ClusterTopics:
    """Every topic of the cluster, and the cluster's id ("" where it has none)."""

    cluster_id: str
    topics: tuple[Topic, ...]


OrderT = TypeVar("OrderT", contravariant=True)


class Members(Protocol):
    """What a coordinator may see of the members that have a machine; the owner of their group offers it."""

    def holder_of(self, group_id: GroupId, instance_id: InstanceId) -> MemberId | None:
        """Who sits on a static seat, None if nobody with a machine does."""
        ...

    def is_settled(self, member: MemberRef, now_ms: int) -> bool:
        """Whether its client has exactly what the coordinator granted, and nobody waits for an answer."""
        ...

    def seat(self, member: MemberRef, now_ms: int) -> ClassicSeat | None:
        """What a classic group would go on with; None for one that is no member any more as far as it knows."""
        ...


class Coordinator(Protocol[OrderT]):
    """Who decides for the members of groups: it takes what they ask, and says what it has to say when it is asked to.

    The owner of the groups calls it, from one task and never from within a call of its own. What `submit` took is
    answered by an event of a later `advance`: soon, late or, where the way to a coordinator was lost, never; then the
    member's machine asks again when its patience ends. An order is what only this kind of coordinator understands.
    """

    @property
    def is_urgent(self) -> bool:
        """Whether what was submitted last must be carried out before the next request is looked at."""
        ...

    def submit(self, ref: ReplyTo, via: Via, client: ClientIdentity, command: CoordinatorCommand) -> None:
        """Take a question of the member `ref`, or the request `ref` of a client, that came by `via`.

        A member asks one question at a time, by its own connection; a Farewell may come by anybody's.
        """
        ...

    def order(self, order: OrderT) -> None:
        """Take an order."""
        ...

    def advance(self, now_ms: int) -> Sequence[CoordinatorEvent] | None:
        """Carry out what was taken; what there is to say since the last call, in order; None: nothing was to do."""
        ...

    def go_on(self, now_ms: int) -> bool:
        """Everybody is at rest: take up what was put off until then; whether there is anything to `advance` now."""
        ...

    def pass_deadlines(self, now_ms: int) -> bool:
        """Take up what is due; whether there is anything to `advance` now."""
        ...

    def next_deadline_ms(self) -> int | None:
        """When `pass_deadlines` has to be called, perhaps too early."""
        ...

    def lose_connection(self, connection: int) -> None:
        """A client connection of this node is gone: nothing can be asked by it any more."""
        ...

    def release(self, member: MemberRef, reason: DepartReason | None) -> None:
        """The member has no machine any more: let it go, should it still be there, without another word.

        None: it never had one since the start, as its client had been handed out nothing before.
        """
        ...

    def recover(self) -> None:
        """A turn failed: forget what was taken and not carried out; what was decided before counts."""
        ...

    def clear(self) -> None:
        """Forget everything that was taken or is to be said: the state it belongs to is gone."""
        ...

    def open_questions(self) -> Collection[MemberRef]:
        """The questions, by their numbers, that it still holds and will answer."""
        ...

    def has_news(self, member: MemberRef, /) -> bool:
        """Whether the next heartbeat of a member could bring news that were not called out; O(1)."""
        ...

    def beat(self, client: ClientIdentity, request: ConsumerGroupHeartbeat, now_ms: int) -> bool:
        """Whether this heartbeat is answered NONE with its own epoch and concerns nobody else: then it counts, O(1).

        Otherwise nothing has happened, and it is to be submitted.
        """
        ...

    def takes(self, request: ClassicGroupRequest, /) -> bool:
        """Whether a classic client's request goes to a classic group here, and not to the member's machine."""
        ...

    def looks_classic(self, group_id: GroupId) -> bool:
        """Whether Kafka would have this group as a classic one."""
        ...

    def judge_newcomer(self, request: JoinGroup) -> Refusal | None:
        """Why a group takes in nobody who is to be translated."""
        ...

    def newcomer_id(self, client: ClientIdentity, request: JoinGroup) -> MemberId:
        """The id that a newcomer to be translated gets if it has none."""
        ...

    def holder_of(self, group_id: GroupId, instance_id: InstanceId) -> MemberId | None:
        """Who sits on a static seat as the coordinator knows it."""
        ...

    def begin_commit(
        self, ref: RequestRef, request: OffsetCommit | TxnOffsetCommit, now_ms: int
    ) -> CommitAdmitted | CommitRefused:
        """Judge a commit; its partitions stay the member's until `end_commit` (decision 2)."""
        ...

    def end_commit(self, commit_id: int) -> None:
        """The broker answered a commit, or its time is over."""
        ...

    def check_fetch(self, request: GroupOffsets) -> ErrorCode:
        """Whether a member without a machine may fetch offsets (K5.20)."""
        ...


class BrokerUnreachable(Exception):
    """No broker answered; the text says which address, what was tried and what to do."""


class GroupRefused(BrokerUnreachable):
    """A broker answered that it does not let the bridge's own login at a group: no second try mends that."""


class Broker(Protocol):
    """The bridge's own way to the cluster, for what no client asked for; every method raises BrokerUnreachable."""

    async def fetch_topics(self) -> ClusterTopics:
        """All topics of the cluster with ids and partition counts."""
        ...

    async def describe_group(self, group_id: GroupId) -> DescribedGroup | DescribedConsumerGroup:
        """The group as its broker knows it: a consumer group where the broker has one of that name, else classic.

        A share or streams group of that name is a classic one without members, whose protocol type is its kind.
        """
        ...

    async def ask_coordinator(self, request: GroupRequest) -> GroupReply:
        """The answer of the coordinator of the request's only group to what the bridge asks in its own name."""
        ...

    async def fetch_offsets(self, group_id: GroupId) -> FetchedGroup:
        """Every committed offset of a group, asked without a member."""
        ...

    async def commit_offsets(self, commit: OffsetCommit) -> OffsetCommitReply:
        """A commit sent to the group's coordinator."""
        ...


class CoordinatorConnection(Protocol):
    """A connection of the bridge's own to a coordinator, for one request at a time, however long its answer takes."""

    async def ask(self, request: GroupRequest, client_id: str) -> GroupReply:
        """The coordinator's answer, to a request in the name of a client; raises BrokerUnreachable."""
        ...

    def close(self) -> None:
        """End it; what is open stays open at the coordinator."""
        ...


class Coordinators(Protocol):
    """The bridge's own ways to the coordinators of groups; every method raises BrokerUnreachable."""

    async def find_coordinator(self, group_id: GroupId) -> int:
        """The id of the broker that coordinates a group now."""
        ...

    async def connect_coordinator(self, broker_id: int) -> CoordinatorConnection:
        """A new connection to a broker, logged in where the cluster asks for that."""
        ...

    def reserve(self, connections: int) -> int:
        """Keep room for so many at once, all or none: gives for how many of them there is none; nothing is asked."""
        ...

    def give_back(self, connections: int) -> None:
        """So many of the reserved ones are closed, or will not be opened."""
        ...


class JournalUnavailable(Exception):
    """Entries could not be made durable, none of them; the text says what happened and what to do."""


class JournalFull(JournalUnavailable):
    """There is no room for the entries; what was written before is safe."""


class TellsGroups(ABC):
    """Entries that tell which groups they concern, so that a journal can name what it lost.

    A class and no protocol: who looks whether something fits a protocol reads all that it names, the groups, too.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def groups(self) -> Collection[GroupId]:
        """Each of them once."""


class Journal(Protocol):
    """Where durable entries go before the answers that depend on them; it does not know what they mean."""

    def append(self, entries: Collection[bytes]) -> Awaitable[None] | None:
        """Write all or none, after everything appended before; None means that they are durable already.

        Raises JournalUnavailable, at once or when awaited.
        """
        ...

    def replay(self) -> Iterator[bytes]:
        """Every entry in the order written."""
        ...

    def is_overgrown(self) -> bool:
        """Whether it has grown so much that compaction pays."""
        ...

    async def compact(self, condense: Condense) -> None:
        """Put what `condense` makes of the entries in their place, while others are appended; changes all or nothing.

        `condense` runs in another thread. Raises JournalUnavailable.
        """
        ...

    def close(self) -> None:
        """Let go of it; nothing may be asked of it any more."""
        ...


class Clock(Protocol):
    """The only source of time."""

    def now_ms(self) -> int:
        """Milliseconds that never go back."""
        ...

    def now_ns(self) -> int:
        """Nanoseconds of a fine clock that never goes back, to measure the bridge's own work with."""
