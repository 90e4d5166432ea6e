"""What one room asks of another, as Protocols: the shell's seams.

It must not know any room that offers or uses them.
"""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from translators.dialects.admin import (
    DeleteGroups,
    DeleteGroupsReply,
    DescribeGroups,
    DescribeGroupsReply,
    ListGroups,
    ListGroupsReply,
)
from translators.dialects.classic import ClassicReply, ClassicRequest
from translators.dialects.consumer import (
    ConsumerGroupDescribe,
    ConsumerGroupDescribeReply,
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatReply,
)
from translators.dialects.ids import ClientIdentity, GroupId, MemberId, RequestRef, Topic
from translators.dialects.offsets import (
    OffsetCommit,
    OffsetCommitReply,
    OffsetDelete,
    OffsetDeleteReply,
    OffsetFetch,
    OffsetFetchReply,
    TxnOffsetCommit,
)

OffsetRequest = OffsetCommit | TxnOffsetCommit | OffsetFetch | OffsetDelete
OffsetReply = OffsetCommitReply | OffsetFetchReply | OffsetDeleteReply
AdminRequest = DescribeGroups | ListGroups | DeleteGroups | ConsumerGroupDescribe
AdminReply = DescribeGroupsReply | ListGroupsReply | DeleteGroupsReply | ConsumerGroupDescribeReply
GroupRequest = ClassicRequest | ConsumerGroupHeartbeat | OffsetRequest | AdminRequest
GroupReply = ClassicReply | ConsumerGroupHeartbeatReply | OffsetReply | AdminReply

StepT_contra = TypeVar("StepT_contra", contravariant=True)
RecordT_contra = TypeVar("RecordT_contra", contravariant=True)

Deliver = Callable[[RequestRef, GroupReply], None]
"""Hands an answer to the connection that waits for it; an answer to a connection that is gone is dropped."""


class Via(Protocol):
    """The client connection that a request came by, and its own authenticated way to the broker behind it."""

    @property
    def identity(self) -> ClientIdentity:
        """Who the client says it is."""

    @property
    def node_id(self) -> int | None:
        """The broker that this connection's listener stands for; None on the bootstrap listener."""

    @property
    def authenticates(self) -> bool:
        """Whether the client showed credentials (SASL or a TLS certificate)."""

    def ask_upstream(
        self, ref: RequestRef, request: GroupRequest, answered: Callable[[GroupReply | None], None]
    ) -> None:
        """Send `request` to the broker in the place of the client's request `ref`.

        The message is encoded at the newest version that both sides know. `answered` is called once: with the broker's
        answer, or with None when the connection was lost first and the outcome is unknown. It has to deliver the
        client's answer itself.
        """


class Groups(Protocol):
    """The owner of the groups that are not passed through."""

    def submit(self, ref: RequestRef, via: Via, request: GroupRequest) -> None:
        """Take one request; its answer comes through `Deliver`, at once or later."""

    def lose_connection(self, node: int, connection: int) -> None:
        """A client connection is gone: nobody waits any more for the answers to its requests."""


class Broker(Protocol):
    """The bridge's own way to the cluster, for what no client asked for."""

    async def fetch_topics(self) -> tuple[Topic, ...]:
        """All topics of the cluster with ids and partition counts; raises BrokerUnreachable."""

    async def ask_coordinator(self, group_id: GroupId, request: GroupRequest) -> GroupReply:
        """Ask the coordinator of `group_id`; raises BrokerUnreachable when there is none or the answer does not
        come.
        """


class BrokerUnreachable(Exception):
    """No broker answered; the text says which address, what was tried and what to do."""


class Journal(Protocol):
    """Where durable records go before the answers that depend on them."""

    def append(self, records: tuple[bytes, ...]) -> Awaitable[None] | None:
        """Write all or none; None means it is already durable."""

    def replay(self) -> tuple[bytes, ...]:
        """Every record in the order written."""


class Clock(Protocol):
    """The only source of time."""

    def now_ms(self) -> int:
        """Milliseconds that never go back."""


class IdSource(Protocol):
    """The only source of chance."""

    def fresh_member_id(self) -> MemberId:
        """An id that no member has had: 22 characters of URL-safe base64, as Kafka makes them (K4.2)."""


class Observer(Protocol[StepT_contra, RecordT_contra]):
    """Sees every step of a member and every record of a group; decides nothing."""

    def stepped(self, group_id: GroupId, member_id: MemberId, step: StepT_contra) -> None:
        """A member's machine took a step."""

    def recorded(self, record: RecordT_contra) -> None:
        """A record was applied."""
