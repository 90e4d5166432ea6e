"""Names for the ids, numbers and partitions that every dialect shares."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, NewType

GroupId = NewType("GroupId", str)
MemberId = NewType("MemberId", str)
InstanceId = NewType("InstanceId", str)
TopicName = NewType("TopicName", str)
TopicId = NewType("TopicId", bytes)
"""Sixteen bytes, as on the wire; all zeros means none."""

NO_TOPIC_ID = TopicId(bytes(16))
NO_MEMBER_ID = MemberId("")

LEAVE_EPOCH = -1
"""Member epoch of a member that leaves for good (KIP-848, Consumer Group Heartbeat)."""
STATIC_LEAVE_EPOCH = -2
"""Member epoch of a static member that leaves its seat for a while (KIP-848, Static Membership)."""
JOIN_EPOCH = 0
"""Member epoch of a member that joins."""


BLANKS = "".join(map(chr, range(0x21)))
"""What counts as blank around a name: Java takes away what comes up to U+0020, so control characters, and no other
space of Unicode (4.3.1).
"""


def is_blank(name: str) -> bool:
    """Whether a name is none, as Kafka sees it."""
    return not name.strip(BLANKS)


def classic_member_id(client_id: str, instance_id: InstanceId | None, ending: str) -> MemberId:
    """The id of a newcomer in the classic protocol: named after its instance or else its client (K1.17)."""
    return MemberId(f"{client_id if instance_id is None else instance_id}-{ending}")


class TopicPartition(NamedTuple):
    """One partition of a topic, by the topic's name: the classic protocol's way."""

    topic: TopicName
    partition: int


class TopicIdPartition(NamedTuple):
    """One partition of a topic, by the topic's id: KIP-848's way."""

    topic_id: TopicId
    partition: int


class RequestRef(NamedTuple):
    """Where an answer must go: a plain value, so that the owner of a group may one day be another process.

    `sequence` counts the requests of one connection, `connection` the connections of one node.
    """

    node: int
    connection: int
    sequence: int


class Via(NamedTuple):
    """The client connection that a request came by; whoever has that node's connections can look it up."""

    node: int
    connection: int


NOWHERE = Via(0, -1)
"""No connection: the bridge's own requests, and members of which nothing was heard since the start."""


def via_of(ref: RequestRef) -> Via:
    """The connection by which a request came."""
    return Via(ref.node, ref.connection)


class MemberRef(NamedTuple):
    """One member, by its group's id and its own; and, as the reply address of what its machine asks, which question.

    `number` tells one question of a machine from the next, so that a late answer to a machine that is gone is known.
    """

    group_id: GroupId
    member_id: MemberId
    number: int = 0


ReplyTo = RequestRef | MemberRef


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientIdentity:
    """Who a connection says it is: client id and host for the views, library and version where it told (KIP-511)."""

    client_id: str
    client_host: str
    software_name: str = ""
    software_version: str = ""

    @property
    def shown_host(self) -> str:
        """The host as a broker shows it: as Java prints an address that has no name, with a slash in front."""
        return f"/{self.client_host.removeprefix('/')}"


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as the cluster knows it: id, name and number of partitions."""

    topic_id: TopicId
    name: TopicName
    partition_count: int


Catalog = Mapping[TopicName, Topic]
