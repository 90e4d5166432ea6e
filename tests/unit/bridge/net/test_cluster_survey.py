"""All groups of all brokers, asked of a cluster in memory."""

import pytest
from trio.testing import MockClock

from bridge.net.cluster_survey import BATCH_GROUPS, ClusterSurvey
from bridge.wire.api_versions import ApiVersionsAnswer, api_versions_reply
from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import decode_request
from bridge.wire.frames import read_request_header
from bridge.wire.versions import KNOWN, VersionRange
from tests.support.memory_cluster import Answers, MemoryCluster, replies
from translators.dialects.admin import (
    DescribedGroup,
    DescribeGroups,
    DescribeGroupsReply,
    ListedGroup,
    ListGroupsReply,
)
from translators.dialects.consumer import ConsumerGroupDescribeReply, DescribedConsumerGroup
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, TopicName, TopicPartition
from translators.dialects.offsets import FetchedGroup, OffsetFetchReply

CLASSIC, CONSUMER, SHARE = GroupId("classic"), GroupId("consumer"), GroupId("share")
LISTED = tuple(
    ListedGroup(group_id=name, protocol_type="consumer", group_state="Empty", group_type=name.title())
    for name in (CLASSIC, CONSUMER, SHARE)
)
DESCRIBED = DescribedGroup(error=ErrorCode.NONE, group_id=CLASSIC, group_state="Empty")
DESCRIBED_CONSUMER = DescribedConsumerGroup(error=ErrorCode.NONE, group_id=CONSUMER, group_state="Empty")
FETCHED = tuple(FetchedGroup(group_id=name, topics=()) for name in (CLASSIC, CONSUMER))
ANSWERS: Answers = {
    ApiKey.LIST_GROUPS: replies(ApiKey.LIST_GROUPS, ListGroupsReply(error=ErrorCode.NONE, groups=LISTED)),
    ApiKey.DESCRIBE_GROUPS: replies(ApiKey.DESCRIBE_GROUPS, DescribeGroupsReply(groups=(DESCRIBED,))),
    ApiKey.CONSUMER_GROUP_DESCRIBE: replies(
        ApiKey.CONSUMER_GROUP_DESCRIBE, ConsumerGroupDescribeReply((DESCRIBED_CONSUMER,))
    ),
    ApiKey.OFFSET_FETCH: replies(ApiKey.OFFSET_FETCH, OffsetFetchReply(groups=FETCHED)),
}


async def test_groups_are_listed_described_and_their_offsets_fetched() -> None:
    """Each kind by its own request; share and streams groups are listed only."""
    (found,) = await ClusterSurvey(MemoryCluster(ANSWERS).upstream()).find_groups([1])
    assert (found.listed, found.faults) == (LISTED, ())
    assert (found.classic, found.consumer) == ({CLASSIC: DESCRIBED}, {CONSUMER: DESCRIBED_CONSUMER})
    assert found.offsets == {CLASSIC: FETCHED[0], CONSUMER: FETCHED[1]}


async def test_broker_that_lists_nothing_says_why() -> None:
    """A login without DESCRIBE on the cluster."""
    refused = ListGroupsReply(error=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, groups=())
    cluster = MemoryCluster({**ANSWERS, ApiKey.LIST_GROUPS: replies(ApiKey.LIST_GROUPS, refused)})
    (found,) = await ClusterSurvey(cluster.upstream()).find_groups([1])
    assert found.faults == ("broker 1 does not list its groups (CLUSTER_AUTHORIZATION_FAILED)",)


async def test_what_came_before_a_broker_fell_silent_counts(autojump_clock: MockClock) -> None:
    """Its groups are listed, and the fault says what is missing."""
    (found,) = await ClusterSurvey(
        MemoryCluster({ApiKey.LIST_GROUPS: ANSWERS[ApiKey.LIST_GROUPS]}).upstream()
    ).find_groups([1])
    assert found.listed == LISTED
    assert found.faults == ("broker 1: EB-NET-037: no answer within 10 s",)


async def test_groups_are_described_in_batches() -> None:
    """A question for a hundred groups, and one for the rest."""
    names = [GroupId(f"g-{number}") for number in range(BATCH_GROUPS + 1)]
    listed = tuple(ListedGroup(group_id=name, protocol_type="consumer") for name in names)
    asked: list[int] = []
    cluster = MemoryCluster(
        {
            **ANSWERS,
            ApiKey.LIST_GROUPS: replies(ApiKey.LIST_GROUPS, ListGroupsReply(error=ErrorCode.NONE, groups=listed)),
            ApiKey.OFFSET_FETCH: replies(ApiKey.OFFSET_FETCH, OffsetFetchReply(groups=())),
        }
    )
    upstream = cluster.upstream()
    transport = await cluster.connect(1)
    assert transport is not None
    send = transport.try_send

    def count(data: bytes | memoryview) -> int:
        header = read_request_header(bytes(data))
        assert header is not None
        if header.api_key == ApiKey.DESCRIBE_GROUPS:
            request = decode_request(header.api_key, header.api_version, bytes(data)[header.body_offset :])
            assert isinstance(request, DescribeGroups)
            asked.append(len(request.group_ids))
        return send(data)

    async def connect(broker_id: int | None) -> object:
        return transport

    patch = pytest.MonkeyPatch()
    patch.setattr(transport, "try_send", count)
    patch.setattr(upstream, "connect", connect)
    await ClusterSurvey(upstream).find_groups([1])
    assert asked == [BATCH_GROUPS, 1]


async def test_ends_are_nothing_where_nobody_tells() -> None:
    """No broker, or none that leads the partition."""
    wanted = [TopicPartition(TopicName("t"), 0)]
    assert await ClusterSurvey(MemoryCluster({}, is_down=True).upstream()).find_end_offsets(wanted) == {}
    assert await ClusterSurvey(MemoryCluster({}).upstream()).find_end_offsets([]) == {}


async def test_broker_tells_of_itself_or_why_it_does_not() -> None:
    """Versions, features and settings, each as far as it speaks of them."""
    answers: Answers = {
        ApiKey.API_VERSIONS: lambda version, number: api_versions_reply(version, number, ApiVersionsAnswer())
    }
    versions = {int(ApiKey.API_VERSIONS): VersionRange(0, 4), int(ApiKey.METADATA): KNOWN[ApiKey.METADATA]}
    survey = ClusterSurvey(MemoryCluster(answers, versions).upstream())
    (found,) = await survey.describe_brokers([1])
    assert (found.versions, found.settings.error, found.skew_ms, found.fault) == (
        versions,
        ErrorCode.UNSUPPORTED_VERSION,
        None,
        "",
    )
    (lost,) = await ClusterSurvey(MemoryCluster({}, is_down=True).upstream()).describe_brokers([1])
    assert lost.fault.startswith("broker 1: EB-NET-036: no connection to broker 1")
    assert await survey.find_brokers() == (1,)
