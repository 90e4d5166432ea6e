"""Every bound of a client connection, by its name, and which messages count as large."""

from dataclasses import dataclass

from bridge.session.grants import GRANTS_MAX, KEEP_MS
from bridge.wire.codec.registry import Reply, Request
from translators.dialects.admin import DeleteGroupsReply, DescribeGroupsReply, ListGroupsReply
from translators.dialects.classic import JoinGroupReply, LeaveGroupReply
from translators.dialects.configs import DescribeConfigsReply
from translators.dialects.consumer import ConsumerGroupDescribeReply
from translators.dialects.offsets import (
    OffsetCommit,
    OffsetCommitReply,
    OffsetDelete,
    OffsetDeleteReply,
    OffsetFetch,
    OffsetFetchReply,
    TxnOffsetCommit,
)

MIB = 1024 * 1024
UNLIMITED = 2**31 - 1
ELEMENTS_MAX = 25_000
"""A consumer of 20,000 partitions, which Java commits in one request, fits with its topics. Each takes 400 bytes
while it is read.
"""
NAMES_MAX = 10_000
"""Groups, or members, that one request names; each takes up to 30 µs to read."""
LARGE_BODY_BYTES = 65_536
"""Bodies from this size on are decoded and encoded in another thread: that takes 3 µs for each partition."""
LARGE_PARTITIONS = 2_000
"""The same for messages that are not encoded yet."""
KEPT_PARTITION_BYTES = 400
"""What a partition of a request takes that waits for its answer, measured: read, and in the queue of its offsets."""
READ_ELEMENT_BYTES = 150
"""What a topic or partition takes that the subscription of a JoinGroup names, once it is read: 39 MB for 1 MB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of one proxy; each has a defined refusal (`session.close_reasons`) or makes the reader wait."""

    connections_max: int = 10_000
    """Client connections at once; one more is accepted and closed."""
    all_new_connections_max: int = UNLIMITED
    """Connections that all addresses together open within a second, as Kafka's `max.connection.creation.rate`; one more
    is accepted and closed.
    """
    new_connections_max: int = UNLIMITED
    """Connections that one address, or IPv6 network of 64 bits, opens within a second; one more is accepted and
    closed.
    """
    address_connections_max: int = UNLIMITED
    """Connections of one address, or IPv6 network of 64 bits, at once, as Kafka's `max.connections.per.ip`; one more is
    accepted and closed.
    """
    frame_bytes_max: int = 100 * MIB
    """Largest request, as Kafka's `socket.request.max.bytes`; larger ones close the connection."""
    group_frame_bytes_max: int = MIB
    """Largest request of a group API, which is held whole until it is decided."""
    offsets_frame_bytes_max: int = 16 * MIB
    """Largest OffsetCommit, TxnOffsetCommit, OffsetFetch or OffsetDelete, which are held whole too."""
    elements_max: int = ELEMENTS_MAX
    """Elements of all arrays of one held request together; one with more closes the connection."""
    names_max: int = NAMES_MAX
    """Members or groups that one request names to be removed, described or deleted; one with more closes the
    connection: each is looked up on its own, while everybody else waits.
    """
    rewritten_answer_bytes_max: int = 64 * MIB
    """Largest answer that is held whole because addresses in it change (Metadata of a big cluster)."""
    inflight_requests_max: int = 1_000
    """Requests of one connection that wait for their answer; then nothing more is read from it."""
    inflight_bytes_max: int = 4 * MIB
    """Bytes of finished answers that wait for their turn; then nothing more is read from the connection."""
    all_inflight_bytes_max: int = 256 * MIB
    """Bytes in the buffers of all connections together; beyond it large requests and held answers wait for their turn,
    and nobody who has more than a little that waits is given more.
    """
    unauthenticated_bytes_max: int = 16 * MIB
    """Bytes in the buffers of all connections together that have not logged in; beyond it those that hold more than a
    little are closed.
    """
    unauthenticated_frame_bytes_max: int = 524_288
    """Largest request before a login, as Kafka's `sasl.server.max.receive.size`; larger ones close the connection."""
    login_steps_max: int = 10
    """Requests of SASL in a row, on one connection, that bring no login to its end; one more closes it."""
    logins_waiting_max: int = 1_000
    """Logins by PLAIN at the bridge itself whose password waits to be judged; one more closes its connection."""
    idle_max_ms: int = 600_000
    """A connection without traffic for so long is closed, as Kafka's `connections.max.idle.ms`, also one whose answers
    its client does not take.
    """
    frame_time_max_ms: int = 30_000
    """How long the held part of one request may take to arrive; slower clients are closed."""
    handshakes_max: int = 4_096
    """Clients at once whose TLS has not come about yet; one more is accepted and closed."""
    handshake_time_max_ms: int = 30_000
    """How long TLS with one client may take to come about; who has not got it by then is closed."""
    grants_max: int = GRANTS_MAX
    """Rights on groups that are kept for all clients together; beyond it the oldest are asked for again at their next
    use.
    """
    grant_ms: int = KEEP_MS
    """How long a right on a group counts before its broker is asked for it again."""
    upstream_wait_max_ms: int = 10_000
    """How long a request waits for a broker that can't be reached, with backoff between attempts, or that does not say
    what its client may do.
    """


def is_large(message: Request | Reply) -> bool:
    """Whether it names `LARGE_PARTITIONS` or more, of partitions, members, groups or settings; O(topics), O(groups)."""
    return _parts(message) >= LARGE_PARTITIONS


def kept_bytes(frame_bytes: int, request: Request) -> int:
    """What a request takes as long as it waits, whose frame had that many bytes; O(topics).

    Its frame alone tells too little: 1,000 commits of 7 kB that a hung broker did not answer were 140 MB.
    """
    return frame_bytes + KEPT_PARTITION_BYTES * _parts(request)


def _parts(message: Request | Reply) -> int:
    """How many partitions a message names; of an answer that tells of members, groups or settings how many of these.

    One client sends many of partitions only. Answers are long also where little was asked: a group of 100 members that
    is named 10,000 times kept everybody waiting for seconds while its members were written as often.
    """
    match message:
        case OffsetCommit() | TxnOffsetCommit() | OffsetDelete():
            return sum(len(topic.partitions) for topic in message.topics)
        case OffsetCommitReply() | OffsetDeleteReply():
            return sum(len(topic.partitions) for topic in message.topics)
        case OffsetFetch():
            return sum(len(topic.partitions) for group in message.groups for topic in group.topics or ())
        case OffsetFetchReply():
            return sum(len(topic.partitions) for group in message.groups for topic in group.topics)
        case DescribeGroupsReply() | ConsumerGroupDescribeReply():
            return len(message.groups) + sum(len(group.members) for group in message.groups)
        case ListGroupsReply() | DeleteGroupsReply():
            return len(message.groups)
        case JoinGroupReply() | LeaveGroupReply():
            return len(message.members)
        case DescribeConfigsReply():
            return sum(len(one.configs) for one in message.results)
        case _:
            return 0
