"""Many questions over one connection, to a broker in memory."""

from collections.abc import Callable

import pytest
from trio.testing import MockClock

from bridge.net.broker_talk import ANSWER_TIMEOUT_S, UNASKED, talk_to
from bridge.ports import BrokerUnreachable
from bridge.wire.api_versions import ApiVersionsAnswer, Features, FinalizedFeature, api_versions_reply
from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import reply_frame
from bridge.wire.frames import response_frame
from bridge.wire.versions import KNOWN
from tests.support.memory_cluster import Answers, MemoryCluster, replies
from translators.dialects.admin import ListGroups, ListGroupsReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import TopicName, TopicPartition

NO_GROUPS = ListGroupsReply(error=ErrorCode.NONE, groups=())
AT_0 = TopicPartition(TopicName("t"), 0)


def always(api_key: int, body: bytes) -> Callable[[int, int], bytes]:
    """The same body each time it is asked."""
    return lambda version, correlation_id: response_frame(api_key, version, correlation_id, body)


def features(version: int, correlation_id: int) -> bytes:
    """A cluster with its consumer protocol on."""
    on = Features(finalized=(FinalizedFeature("group.version", 1, 1),), finalized_epoch=3)
    return api_versions_reply(version, correlation_id, ApiVersionsAnswer(features=on))


def leaders(version: int, correlation_id: int) -> bytes:
    """One partition with a leader, one without."""
    common = {"error_code": 0, "replica_nodes": [], "isr_nodes": [], "offline_replicas": []}
    partitions = [{**common, "partition_index": index, "leader_id": leader} for index, leader in ((0, 1), (1, -1))]
    topic = {"error_code": 0, "name": "t", "is_internal": False, "partitions": partitions}
    fields = {"brokers": [], "controller_id": 1, "topics": [topic]}
    return reply_frame(ApiKey.METADATA, version, correlation_id, fields)


ANSWERS: Answers = {
    ApiKey.LIST_GROUPS: replies(ApiKey.LIST_GROUPS, NO_GROUPS),
    ApiKey.API_VERSIONS: features,
    ApiKey.METADATA: leaders,
}


async def test_questions_follow_each_other_on_one_connection() -> None:
    """Groups, features and leaders."""
    async with talk_to(MemoryCluster(ANSWERS).upstream(), 1) as talk:
        assert await talk.ask(ApiKey.LIST_GROUPS, ListGroups(), ListGroupsReply) == NO_GROUPS
        assert [one.name for one in (await talk.read_features()).finalized] == ["group.version"]
        assert await talk.read_leaders([TopicName("t")]) == {AT_0: 1}


async def test_broker_that_does_not_speak_it_is_not_asked() -> None:
    """An old broker, or one that is no Kafka: nothing is told, and what has to be told is an error."""
    cluster = MemoryCluster({}, {int(ApiKey.METADATA): KNOWN[ApiKey.METADATA]}).upstream()
    async with talk_to(cluster, 1) as talk:
        assert await talk.read_features() == Features()
        assert await talk.read_settings(1, ["a"]) == UNASKED
        assert await talk.read_controller_time() is None
        assert await talk.read_end_offsets([AT_0]) == {}
        with pytest.raises(BrokerUnreachable, match="EB-NET-034: broker 1 does not offer LIST_GROUPS"):
            await talk.ask(ApiKey.LIST_GROUPS, ListGroups(), ListGroupsReply)


@pytest.mark.parametrize("api_key", [ApiKey.LIST_OFFSETS, ApiKey.DESCRIBE_CONFIGS, ApiKey.DESCRIBE_QUORUM])
async def test_answer_that_can_not_be_read_is_said(api_key: ApiKey) -> None:
    """With the broker's name."""
    cluster = MemoryCluster({api_key: always(api_key, b"\x00\x00\x05")}).upstream()
    async with talk_to(cluster, 1) as talk:
        asked = {
            ApiKey.LIST_OFFSETS: lambda: talk.read_end_offsets([AT_0]),
            ApiKey.DESCRIBE_CONFIGS: lambda: talk.read_settings(1, ["a"]),
            ApiKey.DESCRIBE_QUORUM: talk.read_controller_time,
        }
        with pytest.raises(BrokerUnreachable, match="EB-NET-030: an answer of broker 1 can't be read"):
            await asked[api_key]()


async def test_silent_broker_is_given_up(autojump_clock: MockClock) -> None:
    """A hung broker takes connections."""
    async with talk_to(MemoryCluster({}).upstream(), 1) as talk:
        with pytest.raises(BrokerUnreachable, match=f"EB-NET-037: no answer within {ANSWER_TIMEOUT_S:.0f} s"):
            await talk.read_controller_time()


async def test_broker_that_is_down_is_said() -> None:
    """Nobody to talk to."""
    with pytest.raises(BrokerUnreachable, match="EB-NET-036: no connection to broker 1"):
        async with talk_to(MemoryCluster({}, is_down=True).upstream(), 1):
            pass
