"""Who may not READ a group decides nothing about it, and is told what Kafka tells first."""

from dataclasses import replace

import pytest
import trio

from bridge.migration.route import Road, Rule
from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import decode_reply, encode_request
from bridge.wire.versions import KNOWN
from tests.support.front import front_of, running, settings_for
from tests.support.scripted_broker import request
from tests.unit.bridge.net.test_client_rights import (
    MEMBER,
    OURS,
    READ,
    SEEN,
    UNSEEN,
    JudgingBroker,
    join,
    native,
    settle,
)
from translators.dialects.classic import SyncGroup, SyncGroupReply
from translators.dialects.consumer import ConsumerGroupHeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import TopicId, TopicIdPartition, TopicName
from translators.dialects.offsets import OffsetCommitReply, PartitionCommit, TopicCommit, TxnOffsetCommit


@pytest.mark.parametrize("may_read", [False, True])
async def test_who_may_not_read_a_group_does_not_decide_where_it_goes(*, may_read: bool) -> None:
    """Where a rule asks who joins first: whoever knew the name of a group decided for those whose group it is."""
    broker = JudgingBroker(operations=READ if may_read else 0)
    rules = (Rule("embedded-*", Road.EMBEDDED, client_id="cli*"),)
    async with trio.open_nursery() as nursery:
        await nursery.start(broker.serve)
        async with running(replace(settings_for(broker), rules=rules)) as front:
            client = await front.dial()
            await client.send(join(1))
            await settle()
            assert len(front.groups.submitted) == may_read
            assert [key for key, *_ in broker.requests].count(ApiKey.JOIN_GROUP) == (not may_read), (
                "its broker refuses it"
            )
            broker.operations = READ
            other = await front.dial()
            await other.send(join(1))
            await settle()
            assert len(front.groups.submitted) == 1 + may_read, "the first that may has decided"
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize(
    "told", [ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, ErrorCode.GROUP_AUTHORIZATION_FAILED]
)
async def test_producer_hears_of_its_transactional_id_before_the_group(told: ErrorCode) -> None:
    """Kafka looks at that first, and the answer says which right is to be given."""
    commit = TxnOffsetCommit(
        transactional_id="t",
        group_id=OURS,
        producer_id=1,
        producer_epoch=0,
        topics=(TopicCommit(name=SEEN, partitions=(PartitionCommit(partition=0, offset=1),)),),
    )
    broker = JudgingBroker(operations=0, transaction_is_told=told)
    async with front_of(broker) as front:
        client = await front.dial()
        await client.send(encode_request(ApiKey.TXN_OFFSET_COMMIT, 3, 7, "client", commit))
        correlation_id, body = await client.answer()
        _, reply = decode_reply(ApiKey.TXN_OFFSET_COMMIT, 3, correlation_id.to_bytes(4, "big") + body)
        assert isinstance(reply, OffsetCommitReply)
        assert [item.error for topic in reply.topics for item in topic.partitions] == [told]
        assert front.groups.submitted == []
        assert broker.questions == [ApiKey.DESCRIBE_GROUPS, ApiKey.TXN_OFFSET_COMMIT]


@pytest.mark.parametrize(
    ("names", "code", "asked"),
    [
        ((None, None), ErrorCode.INCONSISTENT_GROUP_PROTOCOL, 0),
        (("consumer", None), ErrorCode.INCONSISTENT_GROUP_PROTOCOL, 0),
        (("consumer", "range"), ErrorCode.GROUP_AUTHORIZATION_FAILED, 1),
    ],
)
async def test_sync_without_its_protocol_is_refused_before_anybody_looks_at_rights(
    names: tuple[str | None, str | None], code: ErrorCode, asked: int
) -> None:
    """From version 5 on both are mandatory, and Kafka looks whether they are there first (K1.47)."""
    sync = SyncGroup(
        group_id=OURS, generation=1, member_id=MEMBER, instance_id=None, protocol_type=names[0], protocol_name=names[1]
    )
    broker = JudgingBroker(operations=0)
    async with front_of(broker) as front:
        client = await front.dial()
        await client.send(encode_request(ApiKey.SYNC_GROUP, 5, 7, "client", sync))
        correlation_id, body = await client.answer()
        _, reply = decode_reply(ApiKey.SYNC_GROUP, 5, correlation_id.to_bytes(4, "big") + body)
        assert reply == SyncGroupReply(error=code)
        assert front.groups.submitted == []
        assert broker.questions == [ApiKey.DESCRIBE_GROUPS] * asked


@pytest.mark.parametrize(
    "api_key", [ApiKey.SHARE_GROUP_HEARTBEAT, ApiKey.STREAMS_GROUP_HEARTBEAT, ApiKey.ALTER_SHARE_GROUP_OFFSETS]
)
async def test_who_may_not_read_a_group_is_not_told_that_its_name_is_taken(api_key: ApiKey) -> None:
    """Not by those requests either that are of groups of another kind: brokers say 30 before they look at the name."""
    version = KNOWN[api_key].highest
    rest = b"\x01\x00" if api_key == ApiKey.ALTER_SHARE_GROUP_OFFSETS else b"\x02m" + bytes(20)
    body = b"\x10embedded-orders" + rest
    broker = JudgingBroker(operations=0)
    async with front_of(broker) as front:
        front.groups.held = frozenset({OURS})
        client = await front.dial()
        for number, (operations, code) in enumerate(
            [(0, ErrorCode.GROUP_AUTHORIZATION_FAILED), (READ, ErrorCode.GROUP_ID_NOT_FOUND)]
        ):
            broker.operations = operations
            await client.send(request(api_key, version, number, body))
            correlation_id, answer = await client.answer()
            assert correlation_id == number
            assert int.from_bytes(answer[5:7], "big") == code
        assert broker.questions == [ApiKey.DESCRIBE_GROUPS] * 2
        assert broker.requests == [], "a broker would make such a group"


@pytest.mark.parametrize("unseen", [(), (UNSEEN,)])
async def test_topics_that_a_pattern_gives_and_nobody_tells_are_told_in_the_log(
    caplog: pytest.LogCaptureFixture, unseen: tuple[TopicName, ...]
) -> None:
    """Java's consumer reads nothing at all any more, and says nothing of topics; who has a name for all it is given is
    not asked about. The answer waits for nothing.
    """
    broker = JudgingBroker(operations=READ, unseen=unseen)
    async with front_of(broker) as front:
        front.groups.matched = frozenset({SEEN, UNSEEN})
        client = await front.dial()
        await client.send(native(1, 0))
        await settle()
        given = frozenset({TopicIdPartition(TopicId(bytes(16)), 0)})
        for assignment in (None, frozenset[TopicIdPartition](), given):
            asked = len(broker.questions)
            reply = ConsumerGroupHeartbeatReply(
                error=ErrorCode.NONE, member_id=MEMBER, member_epoch=1, assignment=assignment
            )
            front.reply_routes.deliver(front.groups.submitted[-1][0], reply)
            assert await client.ids(1)
            await settle()
            assert len(broker.questions) - asked == bool(assignment)
            await client.send(native(2, 1))
            await settle()
    assert broker.questions[-1] == ApiKey.METADATA
    told = [record.getMessage() for record in caplog.records if "EB-GROUP-028" in record.getMessage()]
    assert len(told) == len(unseen)
    assert all(str(UNSEEN) in line and str(OURS) in line for line in told)
