"""Which messages are encoded beside, so that others are served meanwhile."""

import pytest

from bridge.session.limits import LARGE_PARTITIONS, is_large
from bridge.wire.codec.registry import Reply, Request
from translators.dialects.admin import (
    DeletedGroup,
    DeleteGroupsReply,
    DescribedGroup,
    DescribedMember,
    DescribeGroupsReply,
    ListedGroup,
    ListGroupsReply,
)
from translators.dialects.classic import (
    Heartbeat,
    JoinedMember,
    JoinGroupReply,
    LeaveGroupReply,
    LeftMember,
)
from translators.dialects.configs import DescribeConfigsReply, DescribedConfig, DescribedResource, Resource
from translators.dialects.consumer import ConsumerGroupDescribeReply, DescribedConsumerGroup
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId, TopicName
from translators.dialects.offsets import (
    CommittedPartition,
    CommittedTopic,
    FetchedGroup,
    FetchedPartition,
    FetchedTopic,
    GroupOffsets,
    OffsetCommit,
    OffsetCommitReply,
    OffsetFetch,
    OffsetFetchReply,
    PartitionCommit,
    TopicCommit,
    TopicOffsets,
)

GROUP = GroupId("g")
TOPIC = TopicName("t")


def messages(count: int) -> list[Request | Reply]:
    """One of each kind that names so many partitions, in two topics or groups."""
    parts = range(count // 2), range(count // 2, count)
    fetched = tuple(
        FetchedTopic(
            name=TOPIC,
            partitions=tuple(FetchedPartition(partition=one, offset=1, error=ErrorCode.NONE) for one in part),
        )
        for part in parts
    )
    return [
        OffsetCommit(
            group_id=GROUP,
            generation=1,
            member_id=MemberId("m"),
            instance_id=None,
            topics=tuple(
                TopicCommit(name=TOPIC, partitions=tuple(PartitionCommit(partition=one, offset=1) for one in part))
                for part in parts
            ),
        ),
        OffsetCommitReply(
            topics=tuple(
                CommittedTopic(name=TOPIC, partitions=tuple(CommittedPartition(one, ErrorCode.NONE) for one in part))
                for part in parts
            )
        ),
        OffsetFetch(
            groups=tuple(
                GroupOffsets(group_id=GROUP, topics=(TopicOffsets(name=TOPIC, partitions=tuple(part)),))
                for part in parts
            )
        ),
        OffsetFetchReply(groups=tuple(FetchedGroup(group_id=GROUP, topics=(topic,)) for topic in fetched)),
    ]


@pytest.mark.parametrize("kind", range(4))
def test_size_is_counted_over_all_topics_and_groups(kind: int) -> None:
    """From the limit on, not before."""
    assert not is_large(messages(LARGE_PARTITIONS - 1)[kind])
    assert is_large(messages(LARGE_PARTITIONS)[kind])


def test_fetch_of_all_partitions_names_none() -> None:
    """Only its answer is large."""
    assert not is_large(OffsetFetch(groups=(GroupOffsets(group_id=GROUP, topics=None),)))


def test_other_messages_are_small() -> None:
    """A heartbeat names nobody but its member."""
    assert not is_large(Heartbeat(GROUP, 1, MemberId("m"), None))


def member(number: int) -> DescribedMember:
    """Somebody in a group."""
    return DescribedMember(
        member_id=MemberId(str(number)), instance_id=None, client_id="c", client_host="/h", metadata=b"", assignment=b""
    )


def answers(count: int) -> list[Reply]:
    """One of each kind that tells of so many members, groups or settings."""
    numbers = range(count)
    group = DescribedGroup(error=ErrorCode.NONE, group_id=GROUP, members=tuple(map(member, range(99))))
    rest = DescribedGroup(error=ErrorCode.NONE, group_id=GROUP, members=tuple(map(member, range(count % 100 - 1))))
    natives = DescribedConsumerGroup(error=ErrorCode.NONE, group_id=GROUP)
    configs = tuple(DescribedConfig(name="n", value="v", source=1) for _ in numbers)
    left = tuple(LeftMember(member_id=MemberId("m"), instance_id=None, error=ErrorCode.NONE) for _ in numbers)
    joined = tuple(JoinedMember(member_id=MemberId("m"), instance_id=None, metadata=b"") for _ in numbers)
    return [
        DescribeGroupsReply(groups=(group,) * (count // 100) + (rest,) * bool(count % 100)),
        ConsumerGroupDescribeReply((natives,) * count),
        ListGroupsReply(error=ErrorCode.NONE, groups=(ListedGroup(group_id=GROUP, protocol_type=""),) * count),
        DeleteGroupsReply(groups=(DeletedGroup(GROUP, ErrorCode.NONE),) * count),
        JoinGroupReply(error=ErrorCode.NONE, member_id=MemberId("m"), members=joined),
        LeaveGroupReply(error=ErrorCode.NONE, members=left),
        DescribeConfigsReply(results=(DescribedResource(resource=Resource(1, "r"), configs=configs),)),
    ]


@pytest.mark.parametrize("kind", range(7))
def test_answers_that_tell_of_many_are_large(kind: int) -> None:
    """A request of a few bytes asks for them: a group that is named again and again is told of as often."""
    assert not is_large(answers(LARGE_PARTITIONS - 1)[kind])
    assert is_large(answers(LARGE_PARTITIONS)[kind])
