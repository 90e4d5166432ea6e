"""Which messages take so long to encode that others have to be served meanwhile."""

from bridge.session.limits import LARGE_PARTITIONS
from bridge.wire.codec.registry import Reply, Request
from translators.dialects.offsets import (
    OffsetCommit,
    OffsetCommitReply,
    OffsetDelete,
    OffsetDeleteReply,
    OffsetFetch,
    OffsetFetchReply,
    TxnOffsetCommit,
)


def is_large(message: Request | Reply) -> bool:
    """Whether it names `LARGE_PARTITIONS` or more; O(topics)."""
    return _partitions(message) >= LARGE_PARTITIONS


def _partitions(message: Request | Reply) -> int:
    """How many partitions a message names: only messages about offsets name many that one client sends."""
    match message:
        case OffsetCommit() | TxnOffsetCommit() | OffsetDelete():
            return sum(len(topic.partitions) for topic in message.topics)
        case OffsetCommitReply() | OffsetDeleteReply():
            return sum(len(topic.partitions) for topic in message.topics)
        case OffsetFetch():
            return sum(len(topic.partitions) for group in message.groups for topic in group.topics or ())
        case OffsetFetchReply():
            return sum(len(topic.partitions) for group in message.groups for topic in group.topics)
        case _:
            return 0
