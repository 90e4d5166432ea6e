"""What a client may do with an embedded group is its broker's answer, asked on the client's own connection."""

import ipaddress
from dataclasses import dataclass, field, replace

import pytest
import trio
import trio.lowlevel
import trio.testing

from bridge.net import client_rights
from bridge.net.client_questions import OWN_CORRELATION_ID
from bridge.net.client_rights import GROUPS_MAX
from bridge.net.clock import now_ms
from bridge.session.balancers import Balancers
from bridge.session.grants import KEEP_MS
from bridge.session.limits import Limits
from bridge.session.rights import Operation
from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import decode_reply, encode_reply, encode_request
from bridge.wire.frames import RequestHeader, response_frame
from bridge.wire.metadata import NAMED_SINCE, read_topic_errors
from bridge.wire.proxy_protocol import PREFIX_BYTES, Peer, Route, header, read_prefix, read_route
from bridge.wire.versions import VersionRange
from tests.support.front import Front, front_of, running, settings_for
from tests.support.kept_text import kept_chars
from tests.support.scripted_broker import MECHANISMS, RawClient, ScriptedBroker, request
from translators.dialects.admin import DescribedGroup, DescribeGroupsReply
from translators.dialects.classic import (
    Heartbeat,
    HeartbeatReply,
    JoinGroup,
    JoinGroupReply,
    LeaveGroup,
    LeaveGroupReply,
    LeavingMember,
    Protocol,
)
from translators.dialects.consumer import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply
from translators.dialects.consumer_protocol import Subscription, encode_subscription
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId, TopicName
from translators.dialects.offsets import (
    CommittedPartition,
    CommittedTopic,
    OffsetCommitReply,
)

OURS = GroupId("embedded-orders")
MEMBER = MemberId("m-1")
SEEN, UNSEEN = TopicName("seen"), TopicName("unseen")
READ = 1 << Operation.READ
GOOD, BAD = (Route(Peer(f"203.0.113.{host}", 40_000), Peer("10.0.0.2", 9192)) for host in (9, 10))
BALANCERS = Balancers(networks=(ipaddress.ip_network("127.0.0.0/8"),), is_required=True)


@dataclass(slots=True)
class JudgingBroker(ScriptedBroker):
    """Says what may be done with every group, and what topics may be seen."""

    denies_describe: bool = False
    stranger_is_told: ErrorCode = ErrorCode.UNKNOWN_MEMBER_ID
    transaction_is_told: ErrorCode = ErrorCode.GROUP_AUTHORIZATION_FAILED
    unseen: tuple[TopicName, ...] = ()
    questions: list[int] = field(default_factory=list)
    """Api keys of what the bridge asked on clients' connections about rights."""

    async def answer(self, stream: trio.SocketStream, header: RequestHeader) -> None:
        """Answer one question, or what a scripted broker is asked."""
        key, version = header.api_key, header.api_version
        is_own = header.correlation_id == OWN_CORRELATION_ID and header.client_id == "client"
        if not is_own or (key == ApiKey.METADATA and version < NAMED_SINCE):
            await ScriptedBroker.answer(self, stream, header)
            return
        self.questions.append(key)
        if self.gate is not None:
            await self.gate.wait()
        if key == ApiKey.DESCRIBE_GROUPS:
            error = ErrorCode.GROUP_AUTHORIZATION_FAILED if self.denies_describe else ErrorCode.NONE
            operations = -(2**31) if self.denies_describe else self.operations
            group = DescribedGroup(error=error, group_id=OURS, authorized_operations=operations)
            await stream.send_all(encode_reply(key, version, 0, DescribeGroupsReply(groups=(group,))))
        elif key == ApiKey.TXN_OFFSET_COMMIT:
            partition = CommittedPartition(2**31 - 1, self.transaction_is_told)
            told = OffsetCommitReply(topics=(CommittedTopic(name=SEEN, partitions=(partition,)),))
            await stream.send_all(encode_reply(key, version, 0, told))
        elif key == ApiKey.HEARTBEAT:
            await stream.send_all(encode_reply(key, version, 0, HeartbeatReply(self.stranger_is_told)))
        else:
            topics = b"".join(
                b"\x00\x1d" + len(name).to_bytes(2, "big") + name.encode() + b"\x00" + bytes(4) + bytes(4)
                for name in self.unseen
            )
            body = (
                bytes(4) + bytes(4) + b"\xff\xff" + bytes(4) + len(self.unseen).to_bytes(4, "big") + topics + bytes(4)
            )
            await stream.send_all(response_frame(key, version, 0, body))


def beat(correlation_id: int, group_id: GroupId = OURS) -> bytes:
    """A Heartbeat v3."""
    return encode_request(ApiKey.HEARTBEAT, 3, correlation_id, "client", Heartbeat(group_id, 1, MEMBER, None))


def join(correlation_id: int, *topics: TopicName) -> bytes:
    """A JoinGroup v5."""
    blob = encode_subscription(Subscription(version=0, topics=topics))
    message = JoinGroup(
        group_id=OURS,
        member_id=MEMBER,
        instance_id=None,
        protocol_type="consumer",
        protocols=(Protocol("range", blob),),
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
    )
    return encode_request(ApiKey.JOIN_GROUP, 5, correlation_id, "client", message)


def native(correlation_id: int, epoch: int, *topics: TopicName) -> bytes:
    """A ConsumerGroupHeartbeat v0."""
    message = ConsumerGroupHeartbeat(
        group_id=OURS, member_id=MEMBER, member_epoch=epoch, subscribed_topic_names=topics or None
    )
    return encode_request(ApiKey.CONSUMER_GROUP_HEARTBEAT, 0, correlation_id, "client", message)


async def settle() -> None:
    """Let everything that is under way come to rest."""
    await trio.testing.wait_all_tasks_blocked(0.01)


async def code_of(client: RawClient, api_key: int, version: int) -> ErrorCode:
    """What a refused client was told."""
    correlation_id, body = await client.answer()
    frame = correlation_id.to_bytes(4, "big") + body
    _, reply = decode_reply(api_key, version, frame)
    assert isinstance(reply, HeartbeatReply | JoinGroupReply | LeaveGroupReply | ConsumerGroupHeartbeatReply)
    return reply.error


def answer(front: Front, number: int = -1) -> None:
    """Answer what was submitted."""
    front.reply_routes.deliver(front.groups.submitted[number][0], HeartbeatReply(ErrorCode.NONE))


async def test_who_may_read_is_asked_for_once() -> None:
    """The next request, and those of other connections of an open cluster, go on by that."""
    broker = JudgingBroker(operations=READ)
    async with front_of(broker) as front:
        for client in (await front.dial(), await front.dial()):
            for number in range(2):
                await client.send(beat(number))
                await settle()
                answer(front)
                assert await client.ids(1) == [number]
        assert broker.questions == [ApiKey.DESCRIBE_GROUPS]


class HostJudgingBroker(JudgingBroker):
    """Reads who is brought in front of each connection, and lets one host read."""

    async def _talk(self, stream: trio.SocketStream) -> None:
        prefix = read_prefix(await stream.receive_some(PREFIX_BYTES))
        route = read_route(prefix, await stream.receive_some(prefix.rest_bytes)) if prefix.rest_bytes else None
        if route is not None:
            self.operations = READ if route.source.host == GOOD.source.host else 0
        await JudgingBroker._talk(self, stream)


async def test_hosts_share_no_rights_where_brokers_see_them() -> None:
    """An authorizer may let one of them in and not the other; connections of the same host share theirs."""
    broker = HostJudgingBroker()
    async with trio.open_nursery() as nursery:
        await nursery.start(broker.serve)
        settings = replace(settings_for(broker), balancers=BALANCERS, announces_clients=True)
        async with running(settings) as front:
            for route, submitted, asked in ((GOOD, 1, 1), (GOOD, 2, 1), (BAD, 2, 2), (GOOD, 3, 2)):
                client = await front.dial()
                await client.send(header(route), beat(1))
                await settle()
                if route is GOOD:
                    answer(front)
                refused = ErrorCode.NONE if route is GOOD else ErrorCode.GROUP_AUTHORIZATION_FAILED
                assert await code_of(client, ApiKey.HEARTBEAT, 3) is refused
                assert (len(front.groups.submitted), len(broker.questions)) == (submitted, asked)
        nursery.cancel_scope.cancel()


async def test_who_may_not_read_is_refused_as_by_the_broker() -> None:
    """Nothing is submitted, and the next request asks again: a right that is given counts at once."""
    broker = JudgingBroker(operations=1 << Operation.DESCRIBE)
    async with front_of(broker) as front:
        client = await front.dial()
        await client.send(beat(1))
        assert await code_of(client, ApiKey.HEARTBEAT, 3) is ErrorCode.GROUP_AUTHORIZATION_FAILED
        await client.send(join(2, SEEN))
        assert await code_of(client, ApiKey.JOIN_GROUP, 5) is ErrorCode.GROUP_AUTHORIZATION_FAILED
        assert front.groups.submitted == []
        broker.operations = READ
        await client.send(beat(3))
        await settle()
        assert len(front.groups.submitted) == 1


async def test_who_may_not_describe_may_read_all_the_same() -> None:
    """A heartbeat of a member that nobody has tells it."""
    broker = JudgingBroker(denies_describe=True)
    async with front_of(broker) as front:
        client = await front.dial()
        await client.send(beat(1))
        await settle()
        assert len(front.groups.submitted) == 1
        answer(front)
        broker.stranger_is_told = ErrorCode.GROUP_AUTHORIZATION_FAILED
        await client.send(beat(2, GroupId("embedded-others")))
        assert await client.ids(1) == [1]
        assert await code_of(client, ApiKey.HEARTBEAT, 3) is ErrorCode.GROUP_AUTHORIZATION_FAILED
        assert broker.questions == [ApiKey.DESCRIBE_GROUPS, ApiKey.HEARTBEAT] * 2


async def test_broker_that_knows_no_operations_is_asked_by_a_heartbeat() -> None:
    """They came with DescribeGroups 3."""
    broker = JudgingBroker()
    broker.versions = {**broker.versions, ApiKey.DESCRIBE_GROUPS: VersionRange(0, 2)}
    async with front_of(broker) as front:
        client = await front.dial()
        await client.send(beat(1))
        await settle()
        assert (len(front.groups.submitted), broker.questions) == (1, [ApiKey.HEARTBEAT])


async def test_open_broker_that_has_no_groups_judges_nobody() -> None:
    """It has no API to ask by, neither for groups nor for topics by name."""
    broker = JudgingBroker()
    without = {
        key: one for key, one in broker.versions.items() if key not in (ApiKey.DESCRIBE_GROUPS, ApiKey.HEARTBEAT)
    }
    broker.versions = {**without, ApiKey.METADATA: VersionRange(0, 1)}
    async with front_of(broker) as front:
        client = await front.dial()
        await client.send(native(1, 0, SEEN))
        await settle()
        assert (len(front.groups.submitted), broker.questions) == (1, [])


async def test_open_broker_whose_versions_are_too_old_to_count_grants_nothing() -> None:
    """It has the API, as far as anybody knows: to have none is another thing."""
    broker = JudgingBroker()
    async with trio.open_nursery() as nursery:
        await nursery.start(broker.serve)
        async with running(replace(settings_for(broker), versions_max_age_ms=-1)) as front:
            client = await front.dial()
            await client.send(join(1, SEEN))
            await settle()
            assert front.groups.submitted == []
            assert await code_of(client, ApiKey.JOIN_GROUP, 5) is ErrorCode.COORDINATOR_NOT_AVAILABLE
        nursery.cancel_scope.cancel()


async def test_nobody_waits_long_for_the_question_of_another_connection() -> None:
    """Its broker may be frozen, or its client read no answers: everybody in the group would hang by that."""
    broker = JudgingBroker()
    async with front_of(broker) as front:
        first, second = await front.dial(), await front.dial()
        broker.gate = trio.Event()
        await first.send(join(1, SEEN))
        with trio.fail_after(60):
            while not broker.questions:
                await trio.lowlevel.checkpoint()
        broker.gate = None
        await second.send(join(1, SEEN))
        with trio.fail_after(60):
            while not front.groups.submitted:
                await trio.lowlevel.checkpoint()


@pytest.mark.parametrize(("topics", "read"), [((SEEN,), 1), ((SEEN, UNSEEN), 2)])
async def test_newcomers_that_ask_side_by_side_read_one_answer(
    topics: tuple[TopicName, ...], read: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each answer names all partitions of its topics: 1,000 newcomers read 4 million of them, for 8 s of CPU. Whoever
    may not see all that it asks about is told by its own answer.
    """
    read_by = list[int]()

    def count(version: int, frame: bytes) -> dict[TopicName, int]:
        read_by.append(version)
        return read_topic_errors(version, frame)

    monkeypatch.setattr(client_rights, "read_topic_errors", count)
    broker = JudgingBroker(operations=READ, unseen=(UNSEEN,), gate=trio.Event())
    async with front_of(broker) as front:
        clients = [await front.dial(), await front.dial()]
        for number, client in enumerate(clients):
            await client.send(join(number, *topics))
        assert broker.gate is not None
        with trio.fail_after(60):
            while len(broker.questions) < len(clients):
                await trio.lowlevel.checkpoint()
            broker.gate.set()
            while len(front.groups.submitted) < len(clients):
                await trio.lowlevel.checkpoint()
        assert sorted(broker.questions) == [ApiKey.METADATA] * 2 + [ApiKey.DESCRIBE_GROUPS] * 2
        assert (len(front.groups.submitted), len(read_by)) == (2, read)


@pytest.mark.parametrize("is_beside", [False, True])
async def test_join_that_waits_in_vain_goes_by_what_another_connection_was_told_meanwhile(
    monkeypatch: pytest.MonkeyPatch, *, is_beside: bool
) -> None:
    """Whoever brokers take for the same may do the same; also where it waits for a question that was asked beside."""
    broker, ahead_ms = JudgingBroker(), 0
    monkeypatch.setattr(client_rights, "now_ms", lambda: now_ms() + ahead_ms)
    async with front_of(broker, Limits(upstream_wait_max_ms=3_000)) as front:
        first, second = await front.dial(), await front.dial()
        if is_beside:
            await first.send(beat(1))
            await settle()
            answer(front)
            assert await first.ids(1) == [1]
            ahead_ms = KEEP_MS
        seen, asked = len(front.groups.submitted), len(broker.questions)
        broker.gate = trio.Event()
        await first.send(*[beat(2)] * is_beside, join(3, SEEN))
        with trio.fail_after(60):
            while len(broker.questions) == asked:
                await trio.lowlevel.checkpoint()
        broker.gate = None
        await second.send(join(1, SEEN))
        with trio.fail_after(60):
            while len(front.groups.submitted) < seen + is_beside + 2:
                await trio.lowlevel.checkpoint()


async def test_request_waits_for_a_frozen_broker_as_long_as_for_one_that_is_away() -> None:
    """It waited until its client hung up. The next ones do not wait again, and an answer counts when it comes."""
    broker = JudgingBroker()
    async with front_of(broker, Limits(upstream_wait_max_ms=1_500)) as front:
        client = await front.dial()
        await client.send(request(ApiKey.API_VERSIONS, 0, 0))
        assert await client.ids(1) == [0]
        broker.gate = trio.Event()
        with trio.fail_after(30):
            for number in (1, 2):
                await client.send(join(number, SEEN))
                assert await code_of(client, ApiKey.JOIN_GROUP, 5) is ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert (front.groups.submitted, broker.questions) == ([], [ApiKey.DESCRIBE_GROUPS])
        broker.gate.set()
        await settle()
        await client.send(join(3, SEEN))
        with trio.fail_after(30):
            while not front.groups.submitted:
                await trio.lowlevel.checkpoint()


async def test_not_knowing_is_no_verdict() -> None:
    """A client ends at a verdict; one that is told to come again does so."""
    broker = JudgingBroker(denies_describe=True, stranger_is_told=ErrorCode.UNKNOWN_SERVER_ERROR)
    async with front_of(broker) as front:
        client = await front.dial()
        await client.send(join(1, SEEN))
        assert await code_of(client, ApiKey.JOIN_GROUP, 5) is ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert front.groups.submitted == []


async def test_member_of_an_open_cluster_that_is_away_goes_on() -> None:
    """It was let in before; nobody else is."""
    broker = JudgingBroker()
    async with front_of(broker) as front:
        client = await front.dial()
        await client.send(request(ApiKey.API_VERSIONS, 0, 0))
        assert await client.ids(1) == [0]
        front.proxy.cluster.is_reachable = False
        await client.send(beat(1))
        await settle()
        assert (len(front.groups.submitted), broker.questions) == (1, [])


async def test_member_of_an_open_cluster_that_is_away_gets_nothing_new(monkeypatch: pytest.MonkeyPatch) -> None:
    """It went on, and was assigned what it might not have been allowed to see; what it had before goes on for good."""
    broker, ahead_ms = JudgingBroker(), 0
    monkeypatch.setattr(client_rights, "now_ms", lambda: now_ms() + ahead_ms)
    async with front_of(broker) as front:
        client = await front.dial()
        await client.send(native(1, 0, SEEN))
        await settle()
        front.proxy.cluster.is_reachable = False
        front.reply_routes.deliver(front.groups.submitted[0][0], ConsumerGroupHeartbeatReply(error=ErrorCode.NONE))
        assert await code_of(client, ApiKey.CONSUMER_GROUP_HEARTBEAT, 0) is ErrorCode.NONE
        # Until what is known is void, and was swept several times.
        ahead_ms = 4 * KEEP_MS
        for _ in range(4):
            front.proxy._shared.grants.sweep(now_ms() + ahead_ms, forgets=front.proxy.cluster.is_reachable)
        await client.send(native(2, 3, SEEN, UNSEEN))
        assert await code_of(client, ApiKey.CONSUMER_GROUP_HEARTBEAT, 0) is ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert len(front.groups.submitted) == 1
        await client.send(native(3, 3, SEEN))
        await settle()
        assert len(front.groups.submitted) == 2


async def test_member_says_again_what_its_coordinator_knows_from_an_earlier_life() -> None:
    """The bridge was started anew while the cluster is away, and Java says all that it subscribes to again."""
    broker = JudgingBroker()
    async with front_of(broker) as front:
        front.groups.subscribed = frozenset({SEEN})
        client = await front.dial()
        await client.send(request(ApiKey.API_VERSIONS, 0, 0))
        assert await client.ids(1) == [0]
        front.proxy.cluster.is_reachable = False
        await client.send(native(1, 3, SEEN, UNSEEN))
        assert await code_of(client, ApiKey.CONSUMER_GROUP_HEARTBEAT, 0) is ErrorCode.COORDINATOR_NOT_AVAILABLE
        await client.send(native(2, 3, SEEN))
        await settle()
        (_, asked, _, _) = front.groups.submitted[0]
        assert isinstance(asked, ConsumerGroupHeartbeat)
        assert (len(front.groups.submitted), asked.subscribed_topic_names) == (1, (SEEN,))


async def test_join_is_told_at_once_that_a_cluster_is_away() -> None:
    """It waited for the broker as long as one may, and the heartbeats behind it on its connection with it."""
    broker = JudgingBroker()
    async with front_of(broker) as front:
        client = await front.dial()
        await client.send(request(ApiKey.API_VERSIONS, 0, 0))
        assert await client.ids(1) == [0]
        front.proxy.cluster.is_reachable = False
        await client.send(join(1, SEEN))
        assert await code_of(client, ApiKey.JOIN_GROUP, 5) is ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert (front.groups.submitted, broker.questions) == ([], [])


async def test_classic_member_is_not_told_of_topics_that_it_may_not_see() -> None:
    """It joins without them, and the log says so."""
    broker = JudgingBroker(unseen=(UNSEEN,))
    async with front_of(broker) as front:
        client = await front.dial()
        await client.send(join(1, SEEN, UNSEEN))
        await settle()
        _, submitted, _, _ = front.groups.submitted[0]
        assert isinstance(submitted, JoinGroup)
        assert submitted.subscription(submitted.protocols[0]).topics == (SEEN,)
        assert broker.questions == [ApiKey.DESCRIBE_GROUPS, ApiKey.METADATA]


async def test_native_member_is_refused_for_a_topic_that_it_may_not_see() -> None:
    """As by Kafka, with TOPIC_AUTHORIZATION_FAILED for all of its heartbeat."""
    broker = JudgingBroker(unseen=(UNSEEN,))
    async with front_of(broker) as front:
        client = await front.dial()
        await client.send(native(1, 0, SEEN, UNSEEN))
        assert await code_of(client, ApiKey.CONSUMER_GROUP_HEARTBEAT, 0) is ErrorCode.TOPIC_AUTHORIZATION_FAILED
        await client.send(native(2, 0, SEEN))
        await settle()
        assert len(front.groups.submitted) == 1


async def beat_until_refused(front: Front, client: RawClient) -> None:
    """Beat until a broker's no arrives."""
    for number in range(10_000):
        seen = len(front.groups.submitted)
        await client.send(beat(number + 2))
        await settle()
        if len(front.groups.submitted) > seen:
            answer(front)
        if await code_of(client, ApiKey.HEARTBEAT, 3) is not ErrorCode.NONE:
            return
    raise AssertionError("nobody was refused")


async def test_right_that_is_lost_is_noticed_beside_what_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Heartbeats take the short way until it is due, and go on while the broker thinks about it; then no more."""
    broker, ahead_ms = JudgingBroker(), 0
    monkeypatch.setattr(client_rights, "now_ms", lambda: now_ms() + ahead_ms)
    async with front_of(broker) as front:
        front.groups.beats = []
        client = await front.dial()
        await client.send(beat(1))
        await settle()
        answer(front)
        assert await code_of(client, ApiKey.HEARTBEAT, 3) is ErrorCode.NONE
        broker.operations, broker.gate = 0, trio.Event()
        with trio.fail_after(60):
            await client.send(beat(2))
            assert await code_of(client, ApiKey.HEARTBEAT, 3) is ErrorCode.NONE
            assert len(front.groups.submitted) == len(broker.questions) == len(front.groups.beats) == 1, "the short way"
            ahead_ms = KEEP_MS
            front.proxy._shared.grants.sweep(now_ms() + ahead_ms)
            await client.send(beat(2))
            await settle()
            assert (len(front.groups.submitted), len(broker.questions)) == (2, 2), "it goes on, and is asked for"
            answer(front)
            assert await code_of(client, ApiKey.HEARTBEAT, 3) is ErrorCode.NONE
            broker.gate.set()
            await beat_until_refused(front, client)
            broker.operations = READ
            await client.send(beat(9))
            await settle()
            answer(front)
            assert await code_of(client, ApiKey.HEARTBEAT, 3) is ErrorCode.NONE, "given back, it counts at once"


async def log_in(client: RawClient) -> None:
    """As far as the broker is concerned."""
    await client.send(request(ApiKey.SASL_HANDSHAKE, 1, 1), request(ApiKey.SASL_AUTHENTICATE, 1, 2))
    assert await client.ids(2) == [1, 2]


async def test_each_connection_of_a_cluster_with_logins_asks_for_itself_and_anew_after_a_login() -> None:
    """Nobody has the rights of another connection."""
    broker = JudgingBroker()
    async with front_of(broker) as front:
        broker.hangs_up_at, broker.bodies[ApiKey.SASL_HANDSHAKE] = ApiKey.METADATA, MECHANISMS
        await front.proxy.cluster.refresh()
        broker.hangs_up_at = None
        first, second = await front.dial(), await front.dial()
        for client, asked in ((first, 1), (second, 2), (first, 3)):
            await log_in(client)
            for number in (3, 4):
                await client.send(beat(number))
                await settle()
                answer(front)
                assert await client.ids(1) == [number]
            assert len(broker.questions) == asked


async def test_answer_about_whoever_was_in_before_a_login_counts_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """The question had been asked when the login came, and was answered behind it."""
    broker, ahead_ms = JudgingBroker(), 0
    monkeypatch.setattr(client_rights, "now_ms", lambda: now_ms() + ahead_ms)
    async with front_of(broker) as front:
        broker.hangs_up_at, broker.bodies[ApiKey.SASL_HANDSHAKE] = ApiKey.METADATA, MECHANISMS
        await front.proxy.cluster.refresh()
        broker.hangs_up_at = None
        client = await front.dial()
        await log_in(client)
        for number, gate in ((3, None), (4, trio.Event())):
            broker.gate = gate
            await client.send(beat(number))
            await settle()
            answer(front)
            assert await client.ids(1) == [number]
            ahead_ms = KEEP_MS
        assert len(broker.questions) == 2
        await client.send(request(ApiKey.SASL_HANDSHAKE, 1, 1), request(ApiKey.SASL_AUTHENTICATE, 1, 2))
        await settle()
        assert broker.gate is not None
        broker.gate.set()
        assert await client.ids(2) == [1, 2]
        broker.operations = 0
        await client.send(beat(5))
        await settle()
        assert len(front.groups.submitted) == 2
        assert await code_of(client, ApiKey.HEARTBEAT, 3) is ErrorCode.GROUP_AUTHORIZATION_FAILED


async def test_rights_on_groups_with_long_names_are_kept_by_short_ones() -> None:
    """100,000 of 32 kB would be 3 GB; none is taken for another."""
    broker = JudgingBroker(operations=READ)
    async with front_of(broker) as front:
        client = await front.dial()
        for number, suffix in enumerate("abab"):
            await client.send(beat(number, GroupId(f"embedded-{'n' * 30_000}{suffix}")))
            await settle()
            answer(front)
            assert await client.ids(1) == [number]
        assert (len(broker.questions), kept_chars(front.proxy._shared.grants) < 2_000) == (2, True)


async def test_one_connection_keeps_few_groups() -> None:
    """Whoever names more has them all asked for again."""
    broker = JudgingBroker()
    async with front_of(broker) as front:
        broker.hangs_up_at, broker.bodies[ApiKey.SASL_HANDSHAKE] = ApiKey.METADATA, MECHANISMS
        await front.proxy.cluster.refresh()
        broker.hangs_up_at = None
        client = await front.dial()
        await log_in(client)
        for number in range(GROUPS_MAX + 1):
            await client.send(beat(3, GroupId(f"embedded-{number}")))
            with trio.fail_after(60):
                while len(front.groups.submitted) <= number:
                    await trio.lowlevel.checkpoint()
            answer(front)
            assert await client.ids(1) == [3]
        await client.send(beat(4, GroupId("embedded-0")))
        await settle()
        assert len(broker.questions) == GROUPS_MAX + 2


async def test_member_that_leaves_two_roads_is_refused_on_one() -> None:
    """LeaveGroup of nobody is answered for its group."""
    broker = JudgingBroker(operations=0)
    async with front_of(broker) as front:
        client = await front.dial()
        leaving = LeaveGroup(group_id=OURS, members=(LeavingMember(member_id=MEMBER, instance_id=None),))
        await client.send(encode_request(ApiKey.LEAVE_GROUP, 3, 1, "client", leaving))
        assert await code_of(client, ApiKey.LEAVE_GROUP, 3) is ErrorCode.GROUP_AUTHORIZATION_FAILED
        assert front.groups.submitted == []
