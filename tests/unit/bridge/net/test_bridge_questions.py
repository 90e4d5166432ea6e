"""The bridge's own questions to the cluster, answered by a broker in memory."""

import threading
from dataclasses import replace

import pytest
import trio
from trio.testing import MockClock

from bridge.net import bridge_questions
from bridge.net.bridge_questions import ANSWER_TIMEOUT_S, BridgeQuestions
from bridge.ports import BrokerUnreachable
from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import Reply, decode_reply
from bridge.wire.versions import KNOWN, VersionRange, VersionTable
from tests.support.memory_cluster import Answers, MemoryCluster, coordinator, replies
from translators.dialects.admin import (
    DescribedGroup,
    DescribedMember,
    DescribeGroups,
    DescribeGroupsReply,
    ListedGroup,
    ListGroupsReply,
)
from translators.dialects.consumer import ConsumerGroupDescribeReply, DescribedConsumerGroup
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId, TopicName
from translators.dialects.offsets import FetchedGroup, FetchedPartition, FetchedTopic, OffsetFetchReply

GROUP = GroupId("g")
DEAD = DescribeGroupsReply(groups=(DescribedGroup(error=ErrorCode.NONE, group_id=GROUP, group_state="Dead"),))
MEMBER = DescribedMember(
    member_id=MemberId("m"), instance_id=None, client_id="c", client_host="h", metadata=b"", assignment=b""
)
NO_GROUPS = ListGroupsReply(error=ErrorCode.NONE, groups=())
FOUND: Answers = {
    ApiKey.FIND_COORDINATOR: coordinator(ErrorCode.NONE),
    ApiKey.LIST_GROUPS: replies(ApiKey.LIST_GROUPS, NO_GROUPS),
}


def no_consumer_group(code: ErrorCode) -> Reply:
    """What a broker with KIP-848 says of a group that is none."""
    return ConsumerGroupDescribeReply((DescribedConsumerGroup(error=code, group_id=GROUP),))


async def test_nothing_is_asked_before_the_cluster_is_known() -> None:
    """The bridge is still starting."""
    with pytest.raises(BrokerUnreachable, match="EB-NET-038"):
        await BridgeQuestions().describe_group(GROUP)


async def test_classic_members_are_found_first() -> None:
    """And whoever stands for the group is remembered."""
    described = DescribeGroupsReply(
        groups=(DescribedGroup(error=ErrorCode.NONE, group_id=GROUP, group_state="Stable", members=(MEMBER,)),)
    )
    questions = MemoryCluster({**FOUND, ApiKey.DESCRIBE_GROUPS: replies(ApiKey.DESCRIBE_GROUPS, described)}).questions()
    assert questions.coordinator_of(GROUP) is None
    assert [member.client_id for member in (await questions.describe_group(GROUP)).members] == ["c"]
    assert questions.coordinator_of(GROUP) == 1


@pytest.mark.parametrize(
    ("code", "seen"),
    [
        (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.NONE),
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
    ],
)
async def test_consumer_group_is_looked_for_where_there_may_be_one(code: ErrorCode, seen: ErrorCode) -> None:
    """Only 69 means that there is none: an error is handed on, not taken for an empty group."""
    answers: Answers = {
        ApiKey.DESCRIBE_GROUPS: replies(ApiKey.DESCRIBE_GROUPS, DEAD),
        ApiKey.CONSUMER_GROUP_DESCRIBE: replies(ApiKey.CONSUMER_GROUP_DESCRIBE, no_consumer_group(code)),
    }
    assert (await MemoryCluster(FOUND | answers).questions().describe_group(GROUP)).error is seen


async def test_a_group_is_described_by_one_connection_to_its_coordinator() -> None:
    """As a classic group, a consumer group, and one of another kind."""
    answers: Answers = {
        ApiKey.DESCRIBE_GROUPS: replies(ApiKey.DESCRIBE_GROUPS, DEAD),
        ApiKey.CONSUMER_GROUP_DESCRIBE: replies(
            ApiKey.CONSUMER_GROUP_DESCRIBE, no_consumer_group(ErrorCode.GROUP_ID_NOT_FOUND)
        ),
    }
    cluster = MemoryCluster(FOUND | answers)
    await cluster.questions().describe_group(GROUP)
    assert cluster.opened == [None, 1]


async def test_coordinator_is_found_once_and_asked_by_one_connection(autojump_clock: MockClock) -> None:
    """Until another group's is asked, or it does not answer; what is kept is closed at the end."""
    answers: Answers = {**FOUND, ApiKey.DESCRIBE_GROUPS: replies(ApiKey.DESCRIBE_GROUPS, DEAD)}
    cluster, about = MemoryCluster(answers), DescribeGroups(group_ids=(GROUP,))
    questions = cluster.questions()
    await questions.ask_coordinator(about)
    await questions.ask_coordinator(about)
    assert cluster.opened == [None, 1]
    await questions.ask_coordinator(DescribeGroups(group_ids=(GroupId("other"),)))
    await questions.ask_coordinator(about)
    assert cluster.opened[2:] == [None, 1, None, 1]
    silent = answers.pop(ApiKey.DESCRIBE_GROUPS)
    with pytest.raises(BrokerUnreachable, match="EB-NET-037"):
        await questions.ask_coordinator(about)
    answers[ApiKey.DESCRIBE_GROUPS] = silent
    await questions.ask_coordinator(about)
    assert cluster.opened[6:] == [None, 1]
    assert cluster.open_now() == [1]
    questions.close()
    assert cluster.open_now() == []


@pytest.mark.parametrize("code", [ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE])
async def test_broker_that_stands_for_the_group_no_more_is_asked_no_more(code: ErrorCode) -> None:
    """Its answer is handed on; the next question finds out who does."""
    moved = DescribeGroupsReply(groups=(DescribedGroup(error=code, group_id=GROUP, group_state=""),))
    answers: Answers = {**FOUND, ApiKey.DESCRIBE_GROUPS: replies(ApiKey.DESCRIBE_GROUPS, DEAD, moved, DEAD)}
    cluster, about = MemoryCluster(answers), DescribeGroups(group_ids=(GROUP,))
    questions = cluster.questions()
    assert [await questions.ask_coordinator(about) for _ in range(3)] == [DEAD, moved, DEAD]
    assert cluster.opened == [None, 1, None, 1]


async def test_question_to_a_broker_that_was_restarted_is_asked_anew() -> None:
    """It has closed the connection that was kept."""
    answers: Answers = {**FOUND, ApiKey.DESCRIBE_GROUPS: replies(ApiKey.DESCRIBE_GROUPS, DEAD)}
    cluster, about = MemoryCluster(answers), DescribeGroups(group_ids=(GROUP,))
    questions = cluster.questions()
    await questions.ask_coordinator(about)
    cluster.end_connections()
    assert await questions.ask_coordinator(about) == DEAD
    assert cluster.opened == [None, 1, None, 1]


async def test_answer_that_is_given_twice_is_none_to_the_next_question() -> None:
    """A broker that does so is asked by another connection."""
    answers: Answers = {**FOUND, ApiKey.DESCRIBE_GROUPS: replies(ApiKey.DESCRIBE_GROUPS, DEAD)}
    cluster, about = MemoryCluster(answers), DescribeGroups(group_ids=(GROUP,))
    questions = cluster.questions()
    once = answers[ApiKey.DESCRIBE_GROUPS]
    answers[ApiKey.DESCRIBE_GROUPS] = lambda version, number: 2 * once(version, number)
    assert await questions.ask_coordinator(about) == DEAD
    answers[ApiKey.DESCRIBE_GROUPS] = once
    with pytest.raises(BrokerUnreachable, match="EB-NET-071"):
        await questions.ask_coordinator(about)
    assert cluster.open_now() == []
    assert await questions.ask_coordinator(about) == DEAD


async def test_answer_to_a_question_that_was_given_up_is_nobody_elses(autojump_clock: MockClock) -> None:
    """It may still come: the connection is closed."""
    answers: Answers = {**FOUND, ApiKey.DESCRIBE_GROUPS: replies(ApiKey.DESCRIBE_GROUPS, DEAD)}
    cluster, about = MemoryCluster(answers), DescribeGroups(group_ids=(GROUP,))
    questions = cluster.questions()
    await questions.ask_coordinator(about)
    late = answers.pop(ApiKey.DESCRIBE_GROUPS)
    with trio.move_on_after(1) as patience:
        await questions.ask_coordinator(about)
    assert (patience.cancelled_caught, cluster.open_now()) == (True, [])
    answers[ApiKey.DESCRIBE_GROUPS] = late
    assert await questions.ask_coordinator(about) == DEAD


async def test_broker_that_cannot_describe_knows_nobody() -> None:
    """Librdkafka's mock cluster."""
    versions: VersionTable = {int(ApiKey.FIND_COORDINATOR): VersionRange(0, 2)}
    assert not (await MemoryCluster(FOUND, versions).questions().describe_group(GROUP)).members


async def test_old_answer_gets_the_groups_name() -> None:
    """Before version 8 OffsetFetch names no group in its answer."""
    reply = OffsetFetchReply(groups=(FetchedGroup(group_id=GROUP, topics=()),))
    versions = {**KNOWN, ApiKey.OFFSET_FETCH: VersionRange(1, 7)}
    answers: Answers = {**FOUND, ApiKey.OFFSET_FETCH: replies(ApiKey.OFFSET_FETCH, reply)}
    assert (await MemoryCluster(answers, versions).questions().fetch_offsets(GROUP)).group_id == GROUP
    failed = OffsetFetchReply(groups=(FetchedGroup(group_id=GROUP, topics=(), error=ErrorCode.NOT_COORDINATOR),))
    answers = {**FOUND, ApiKey.OFFSET_FETCH: replies(ApiKey.OFFSET_FETCH, failed)}
    with pytest.raises(BrokerUnreachable, match=r"EB-NET-031.*NOT_COORDINATOR"):
        await MemoryCluster(answers, versions).questions().fetch_offsets(GROUP)


async def test_coordinator_that_is_not_there_yet_is_waited_for(autojump_clock: MockClock) -> None:
    """A broker makes its offsets topic at the first question; other errors are told at once, and patience ends."""
    not_yet = ErrorCode.COORDINATOR_NOT_AVAILABLE
    described: Answers = {ApiKey.DESCRIBE_GROUPS: replies(ApiKey.DESCRIBE_GROUPS, DEAD)}
    versions = {int(api): KNOWN[api] for api in (ApiKey.FIND_COORDINATOR, ApiKey.DESCRIBE_GROUPS)}

    async def ask(*codes: ErrorCode, node_id: int = 1) -> None:
        answers = {**described, ApiKey.FIND_COORDINATOR: coordinator(*codes, node_id=node_id)}
        await MemoryCluster(answers, versions).questions().describe_group(GROUP)

    await ask(not_yet, not_yet, ErrorCode.NONE)
    for codes, seen in (((not_yet,), "EB-NET-032"), ((ErrorCode.GROUP_AUTHORIZATION_FAILED,), "EB-NET-203.*DESCRIBE")):
        with pytest.raises(BrokerUnreachable, match=seen):
            await ask(*codes)
    with pytest.raises(BrokerUnreachable, match="EB-NET-033"):
        await ask(ErrorCode.NONE, node_id=9)


async def test_bad_or_missing_answers_are_told(autojump_clock: MockClock) -> None:
    """Unreadable, silent, not offered, or nobody there: one kind of failure, each with its code."""
    garbage: Answers = {ApiKey.FIND_COORDINATOR: lambda _version, _correlation: b"\x00\x00\x00\x05\0\0\0\0o"}
    strange: Answers = {ApiKey.FIND_COORDINATOR: lambda _version, _correlation: b"\x00\x00\x00\x05hello"}
    for cluster, code in (
        (MemoryCluster(garbage), "EB-NET-030"),
        (MemoryCluster(strange), "EB-NET-071"),
        (MemoryCluster({}), "EB-NET-037"),
        (MemoryCluster({}, {}), "EB-NET-034"),
        (MemoryCluster({}, is_down=True), "EB-NET-036"),
    ):
        with pytest.raises(BrokerUnreachable, match=code):
            await cluster.questions().describe_group(GROUP)
    assert trio.current_time() >= ANSWER_TIMEOUT_S


LISTED = ListedGroup(group_id=GROUP, protocol_type="share", group_state="Empty", group_type="share")


@pytest.mark.parametrize(
    ("listed", "kind"),
    [
        ((replace(LISTED, group_id=GroupId("other")), LISTED), "share"),
        ((replace(LISTED, protocol_type="streams", group_type="streams"),), "streams"),
        ((replace(LISTED, protocol_type="consumer", group_type="classic"),), ""),
        ((), ""),
    ],
)
async def test_group_of_another_kind_is_found(listed: tuple[ListedGroup, ...], kind: str) -> None:
    """DescribeGroups and ConsumerGroupDescribe say nothing of a share or streams group but that it is not theirs."""
    listing = replies(ApiKey.LIST_GROUPS, ListGroupsReply(error=ErrorCode.NONE, groups=listed))
    answers = {
        ApiKey.DESCRIBE_GROUPS: replies(ApiKey.DESCRIBE_GROUPS, DEAD),
        ApiKey.CONSUMER_GROUP_DESCRIBE: replies(
            ApiKey.CONSUMER_GROUP_DESCRIBE, no_consumer_group(ErrorCode.GROUP_ID_NOT_FOUND)
        ),
        ApiKey.LIST_GROUPS: listing,
    }
    described = await MemoryCluster(FOUND | answers).questions().describe_group(GROUP)
    assert isinstance(described, DescribedGroup)
    assert described.protocol_type == kind


async def test_broker_without_other_kinds_is_not_asked_for_them() -> None:
    """It may refuse a filter that it does not know."""
    versions: VersionTable = {
        key: KNOWN[key] for key in (ApiKey.FIND_COORDINATOR, ApiKey.DESCRIBE_GROUPS, ApiKey.LIST_GROUPS)
    }
    answers: Answers = {
        ApiKey.FIND_COORDINATOR: coordinator(ErrorCode.NONE),
        ApiKey.DESCRIBE_GROUPS: replies(ApiKey.DESCRIBE_GROUPS, DEAD),
    }
    cluster = MemoryCluster(answers, versions)
    assert not (await cluster.questions().describe_group(GROUP)).members


@pytest.mark.parametrize(("partitions", "beside"), [(10, 0), (20_000, 1)])
async def test_large_answer_is_read_beside(partitions: int, beside: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The offsets of a large live group are asked for every few seconds, and clients are served meanwhile."""
    found = tuple(FetchedPartition(partition=number, offset=7) for number in range(partitions))
    topics = (FetchedTopic(name=TopicName("t"), partitions=found),)
    offsets = OffsetFetchReply(groups=(FetchedGroup(group_id=GROUP, topics=topics),))
    questions = MemoryCluster({**FOUND, ApiKey.OFFSET_FETCH: replies(ApiKey.OFFSET_FETCH, offsets)}).questions()
    threads = list[int]()

    def read(api_key: int, version: int, body: bytes) -> tuple[int, Reply]:
        threads.append(threading.get_ident())
        return decode_reply(api_key, version, body)

    monkeypatch.setattr(bridge_questions, "decode_reply", read)
    assert (await questions.fetch_offsets(GROUP)).topics == topics
    assert (len(threads), sum(one != threading.get_ident() for one in threads)) == (1, beside)
