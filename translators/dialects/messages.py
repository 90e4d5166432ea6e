"""Every request that names a group, or may, and every answer to one, as two unions."""

from translators.dialects.admin import (
    DeleteGroups,
    DeleteGroupsReply,
    DescribeGroups,
    DescribeGroupsReply,
    ListGroups,
    ListGroupsReply,
)
from translators.dialects.classic import ClassicReply, ClassicRequest
from translators.dialects.configs import ConfigReply, ConfigRequest
from translators.dialects.consumer import (
    ConsumerGroupDescribe,
    ConsumerGroupDescribeReply,
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatReply,
)
from translators.dialects.offsets import (
    OffsetCommit,
    OffsetCommitReply,
    OffsetDelete,
    OffsetDeleteReply,
    OffsetFetch,
    OffsetFetchReply,
    TxnOffsetCommit,
)

GroupRequest = (
    ClassicRequest
    | ConsumerGroupHeartbeat
    | ConsumerGroupDescribe
    | OffsetCommit
    | TxnOffsetCommit
    | OffsetFetch
    | OffsetDelete
    | DescribeGroups
    | ListGroups
    | DeleteGroups
    | ConfigRequest
)
GroupReply = (
    ClassicReply
    | ConsumerGroupHeartbeatReply
    | ConsumerGroupDescribeReply
    | OffsetCommitReply
    | OffsetFetchReply
    | OffsetDeleteReply
    | DescribeGroupsReply
    | ListGroupsReply
    | DeleteGroupsReply
    | ConfigReply
)
