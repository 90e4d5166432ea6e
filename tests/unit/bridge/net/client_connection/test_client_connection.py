"""Order, backpressure and questions of one client connection, with raw clients and a scripted broker."""

import sys
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Self

import pytest
import trio
import trio.testing

from bridge.migration.route import Road
from bridge.net.broker_side import PIECE_BYTES, PIECES_WITHOUT_CHECKPOINT
from bridge.net.shared import Shared
from bridge.session.client_session import ClientSession
from bridge.session.close_reasons import CloseReason
from bridge.session.limits import Limits
from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import Reply, decode_reply, encode_reply, encode_request
from tests.support.front import front_of
from tests.support.longest_turn import LongestTurn
from tests.support.scripted_broker import ScriptedBroker, request
from translators.dialects.classic import Heartbeat, HeartbeatReply, JoinGroup, JoinGroupReply, Protocol
from translators.dialects.consumer_protocol import Subscription, encode_subscription
from translators.dialects.errors import ErrorCode, Refusal
from translators.dialects.ids import GroupId, MemberId, TopicName, TopicPartition
from translators.dialects.offsets import (
    CommittedPartition,
    CommittedTopic,
    FetchedGroup,
    GroupOffsets,
    OffsetCommit,
    OffsetCommitReply,
    OffsetFetch,
    OffsetFetchReply,
    PartitionCommit,
    TopicCommit,
)

OURS = GroupId("embedded-orders")
THEIRS = GroupId("payments")
MEMBER = MemberId("m-1")
NO_TRANSACTION_ACKS_0 = b"\xff\xff\x00\x00"
NO_TRANSACTION_ACKS_ALL = b"\xff\xff\xff\xff"


def heartbeat(group_id: GroupId, correlation_id: int) -> bytes:
    """A Heartbeat v3 frame."""
    return encode_request(ApiKey.HEARTBEAT, 3, correlation_id, "client", Heartbeat(group_id, 1, MEMBER, None))


def join(correlation_id: int, wanted: bytes = b"") -> bytes:
    """A JoinGroup v5 frame of the embedded group."""
    message = JoinGroup(
        group_id=OURS,
        member_id=MEMBER,
        instance_id=None,
        protocol_type="consumer",
        protocols=(Protocol("range", wanted),),
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
    )
    return encode_request(ApiKey.JOIN_GROUP, 5, correlation_id, "client", message)


async def settle() -> None:
    """Let everything that is under way come to rest."""
    await trio.testing.wait_all_tasks_blocked(0.01)


async def test_parked_join_holds_its_place_and_other_connections_go_on() -> None:
    """Replies leave in request order; heartbeats on another connection are answered."""
    broker = ScriptedBroker(bodies={ApiKey.FETCH: b"records"})
    async with front_of(broker) as front:
        first, second = await front.dial(), await front.dial()
        await first.send(join(1), request(ApiKey.FETCH, 11, 2), request(ApiKey.API_VERSIONS, 0, 3), heartbeat(OURS, 4))
        await settle()
        (join_ref, *_), (beat_ref, *_) = front.groups.submitted
        front.reply_routes.deliver(beat_ref, HeartbeatReply(ErrorCode.NONE))
        await second.send(heartbeat(OURS, 9))
        await settle()
        front.reply_routes.deliver(front.groups.submitted[2][0], HeartbeatReply(ErrorCode.NONE))
        assert await second.ids(1) == [9]
        front.reply_routes.deliver(join_ref, JoinGroupReply(error=ErrorCode.NONE, member_id=MEMBER, generation=1))
        assert await first.ids(4) == [1, 2, 3, 4]


async def test_acks_0_takes_no_place() -> None:
    """A Produce with acks=0 is never answered, so the next answer belongs to the next request (proxies.md 3.4)."""
    broker = ScriptedBroker(unanswered=frozenset({(ApiKey.PRODUCE, 1), (ApiKey.PRODUCE, 3)}))
    async with front_of(broker) as front:
        client = await front.dial()
        await client.send(
            request(ApiKey.PRODUCE, 7, 1, NO_TRANSACTION_ACKS_0),
            request(ApiKey.FETCH, 11, 2),
            request(ApiKey.PRODUCE, 7, 3, NO_TRANSACTION_ACKS_0),
            request(ApiKey.PRODUCE, 7, 4, NO_TRANSACTION_ACKS_ALL),
        )
        assert await client.ids(2) == [2, 4]
    assert [correlation_id for _, correlation_id, _ in broker.requests] == [1, 2, 3, 4]


async def test_frames_in_single_bytes_are_understood() -> None:
    """Where a receive ends has no meaning."""
    async with front_of(ScriptedBroker()) as front:
        client = await front.dial()
        frames = request(ApiKey.API_VERSIONS, 3, 1, b"\x05test\x021\x00") + request(ApiKey.FETCH, 11, 2, b"body")
        for byte in frames:
            await client.send(bytes([byte]))
        assert await client.ids(2) == [1, 2]


async def test_large_frames_go_through_whole_and_unheld() -> None:
    """Megabytes pass both ways unchanged, and no connection ever holds one."""
    body = bytes(range(256)) * 16 * 1024
    broker = ScriptedBroker(bodies={ApiKey.FETCH: body})
    async with front_of(broker) as front:
        client = await front.dial()
        sent = request(ApiKey.PRODUCE, 7, 1, NO_TRANSACTION_ACKS_ALL + body)
        await client.send(sent, request(ApiKey.FETCH, 11, 2))
        assert await client.answer() == (1, b"")
        assert await client.answer() == (2, body)
        assert broker.requests[0] == (ApiKey.PRODUCE, 1, len(sent))
        assert front.proxy.statistics().bytes_held_peak <= 512 * 1024


async def test_client_that_does_not_read_stops_the_broker() -> None:
    """Backpressure: what a slow client doesn't take stays with the broker, not in the bridge's buffers."""
    broker = ScriptedBroker(bodies={ApiKey.FETCH: bytes(32 * 1024 * 1024)})
    async with front_of(broker) as front:
        client = await front.dial()
        await client.send(request(ApiKey.FETCH, 11, 1), request(ApiKey.FETCH, 11, 2))
        await settle()
        assert max(front.proxy.bytes_held().values()) <= 512 * 1024
        assert len(broker.requests) == 1, "the broker is still busy with sending its first answer"
        assert [len((await client.answer())[1]) for _ in range(2)] == [32 * 1024 * 1024] * 2


async def test_full_connection_is_not_read_until_answers_leave() -> None:
    """At the limit of open requests the reader waits; it does not kill (proxies.md 3.3)."""
    async with front_of(ScriptedBroker(), Limits(inflight_requests_max=2)) as front:
        client = await front.dial()
        await client.send(*(heartbeat(OURS, number) for number in range(5)))
        await settle()
        assert len(front.groups.submitted) == 2
        while front.groups.submitted:
            front.reply_routes.deliver(front.groups.submitted.pop(0)[0], HeartbeatReply(ErrorCode.NONE))
            await settle()
        assert await client.ids(5) == [0, 1, 2, 3, 4]


def commit() -> OffsetCommit:
    """A commit of the embedded group's member."""
    topic = TopicCommit(name=TopicName("t"), partitions=(PartitionCommit(partition=0, offset=7),))
    return OffsetCommit(group_id=OURS, generation=3, member_id=MEMBER, instance_id=None, topics=(topic,))


async def test_question_to_the_broker_keeps_the_order_of_answers() -> None:
    """A commit that is forwarded late comes before the Fetch that was sent behind it."""
    committed = OffsetCommitReply(
        topics=(CommittedTopic(name=TopicName("t"), partitions=(CommittedPartition(0, ErrorCode.NONE),)),)
    )
    broker = ScriptedBroker(bodies={ApiKey.OFFSET_COMMIT: encode_reply(ApiKey.OFFSET_COMMIT, 7, 0, committed)[8:]})
    async with front_of(broker) as front:
        client = await front.dial()
        await client.send(encode_request(ApiKey.OFFSET_COMMIT, 7, 1, "client", commit()), request(ApiKey.FETCH, 11, 2))
        await settle()
        assert broker.requests == []
        ref, message, via, _ = front.groups.submitted[0]
        got: list[Reply | None] = []
        via.ask(ref, message, got.append)
        await settle()
        assert got == [committed]
        front.reply_routes.deliver(ref, committed)
        assert await client.ids(2) == [1, 2]
    assert [key for key, *_ in broker.requests] == [ApiKey.OFFSET_COMMIT, ApiKey.FETCH]


async def test_requests_are_counted_by_api_and_measured_until_they_go_on() -> None:
    """One that had to wait behind a commit was inside the bridge all the while; the commit was never sent on."""
    async with front_of(ScriptedBroker()) as front:
        client = await front.dial()
        await client.send(encode_request(ApiKey.OFFSET_COMMIT, 7, 1, "client", commit()), request(ApiKey.FETCH, 11, 2))
        await settle()
        waiting = front.proxy.statistics().apis
        assert (waiting[ApiKey.FETCH].requests, waiting[ApiKey.FETCH].passed) == (1, 0)
        front.reply_routes.deliver(front.groups.submitted[0][0], OffsetCommitReply(topics=()))
        assert await client.ids(2) == [1, 2]
        passed = front.proxy.statistics().apis
    assert (passed[ApiKey.FETCH].passed, passed[ApiKey.OFFSET_COMMIT].passed) == (1, 0)
    assert passed[ApiKey.FETCH].inside_ns > 0


async def test_question_on_a_lost_connection_is_answered_none() -> None:
    """Whoever asked hears that no answer will come, exactly once."""
    broker = ScriptedBroker(gate=trio.Event())
    async with front_of(broker) as front:
        client = await front.dial()
        await client.send(encode_request(ApiKey.OFFSET_COMMIT, 7, 1, "client", commit()))
        await settle()
        ref, message, via, _ = front.groups.submitted[0]
        got: list[Reply | None] = []
        via.ask(ref, message, got.append)
        await settle()
        await broker.hang_up()
        await settle()
        assert got == [None]
        via.ask(ref, message, got.append)
        assert got == [None, None]
        assert front.groups.gone == [1]


async def test_question_of_a_client_that_went_is_answered_all_the_same() -> None:
    """A commit that the broker answers is over then, and does not keep its partitions for a drain (decision 2)."""
    committed = OffsetCommitReply(topics=())
    broker = ScriptedBroker(
        bodies={ApiKey.OFFSET_COMMIT: encode_reply(ApiKey.OFFSET_COMMIT, 7, 0, committed)[8:]}, gate=trio.Event()
    )
    async with front_of(broker) as front:
        client = await front.dial()
        await client.send(encode_request(ApiKey.OFFSET_COMMIT, 7, 1, "client", commit()))
        await settle()
        ref, message, via, _ = front.groups.submitted[0]
        got: list[Reply | None] = []
        via.ask(ref, message, got.append)
        await settle()
        await client.stream.aclose()
        await settle()
        assert (got, front.groups.gone) == ([], [1])
        assert broker.gate is not None
        broker.gate.set()
        await settle()
        assert got == [committed]


async def test_batch_over_two_roads_is_split_and_merged_in_order() -> None:
    """Each side answers its groups, the client sees the order it asked in (decision 22)."""
    theirs = OffsetFetchReply(groups=(FetchedGroup(group_id=THEIRS, topics=()),))
    broker = ScriptedBroker(bodies={ApiKey.OFFSET_FETCH: encode_reply(ApiKey.OFFSET_FETCH, 8, 0, theirs)[9:]})
    asked = OffsetFetch(groups=(GroupOffsets(group_id=THEIRS, topics=None), GroupOffsets(group_id=OURS, topics=None)))
    async with front_of(broker) as front:
        client = await front.dial()
        await client.send(encode_request(ApiKey.OFFSET_FETCH, 8, 1, "client", asked))
        await settle()
        ref, message, _, _ = front.groups.submitted[0]
        assert message == OffsetFetch(groups=(GroupOffsets(group_id=OURS, topics=None),))
        ours = FetchedGroup(group_id=OURS, topics=(), error=ErrorCode.NOT_COORDINATOR)
        front.reply_routes.deliver(ref, OffsetFetchReply(groups=(ours,)))
        whole = OffsetFetchReply(groups=(*theirs.groups, ours))
        assert await client.answer() == (1, encode_reply(ApiKey.OFFSET_FETCH, 8, 1, whole)[8:])


async def test_bug_ends_its_own_connection_only() -> None:
    """A bug in one session is counted and leaves the rest running."""
    async with front_of(ScriptedBroker()) as front:
        struck, other = await front.dial(), await front.dial()
        front.groups.fails = True
        await struck.send(heartbeat(OURS, 1))
        assert await struck.is_closed()
        await other.send(heartbeat(THEIRS, 2))
        assert await other.ids(1) == [2]
        assert front.closed(CloseReason.BUG) == 1


async def test_late_reply_is_dropped_and_counted() -> None:
    """A reply to a connection that is gone, or a second one, has nowhere to go."""
    async with front_of(ScriptedBroker()) as front:
        client = await front.dial()
        await client.send(heartbeat(OURS, 1))
        await settle()
        ref = front.groups.submitted[0][0]
        for _ in range(2):
            front.reply_routes.deliver(ref, HeartbeatReply(ErrorCode.NONE))
        assert await client.ids(1) == [1]
        assert front.proxy.statistics().late_replies == 1


async def test_overheard_answer_reaches_the_client_unchanged_and_in_its_turn() -> None:
    """It is shown whole, and is the very same bytes for the client."""
    answer = encode_reply(ApiKey.HEARTBEAT, 3, 2, HeartbeatReply(ErrorCode.REBALANCE_IN_PROGRESS))
    broker = ScriptedBroker(bodies={ApiKey.FETCH: b"records", ApiKey.HEARTBEAT: answer[8:]})
    async with front_of(broker) as front:
        front.passing.listens = True
        client = await front.dial()
        await client.send(request(ApiKey.FETCH, 11, 1), heartbeat(THEIRS, 2), request(ApiKey.FETCH, 11, 3))
        assert await client.ids(3) == [1, 2, 3]
        assert front.passing.answers == [answer]
        assert len(front.passing.fetches) == 2


async def test_answer_that_cannot_be_written_ends_its_connection_and_nothing_else() -> None:
    """Whoever answers, from whatever task, goes on: the answer concerned one client."""
    broker = ScriptedBroker()
    async with front_of(broker) as front:
        client, other = await front.dial(), await front.dial()
        await client.send(join(1))
        await settle()
        await other.send(heartbeat(OURS, 1))
        await settle()
        (first, *_), (second, *_) = front.groups.submitted
        front.reply_routes.deliver(first, JoinGroupReply(error=ErrorCode.NONE, member_id=MemberId("m" * 40_000)))
        front.reply_routes.deliver(second, HeartbeatReply(ErrorCode.NONE))
        assert await client.is_closed()
        assert await other.ids(1) == [1]
        assert front.closed(CloseReason.BUG) == 1


def large_commit(partitions: int) -> OffsetCommit:
    """As a Java consumer commits all that it has, in one request."""
    items = tuple(PartitionCommit(partition=number, offset=1) for number in range(partitions))
    topics = (TopicCommit(name=TopicName("t"), partitions=items),)
    return OffsetCommit(group_id=OURS, generation=1, member_id=MEMBER, instance_id=None, topics=topics)


def all_committed(commit: OffsetCommit) -> OffsetCommitReply:
    """What the broker says to it."""
    return OffsetCommitReply(
        topics=tuple(
            CommittedTopic(
                name=topic.name,
                partitions=tuple(CommittedPartition(item.partition, ErrorCode.NONE) for item in topic.partitions),
            )
            for topic in commit.topics
        )
    )


async def until(holds: Callable[[], bool]) -> None:
    """Wait without a call into the bridge."""
    with trio.fail_after(60):
        while not holds():  # noqa: ASYNC110 - what is waited for sets no Event
            await trio.sleep(0.001)


class Calls:
    """Counts the calls of the bridge's functions in this thread, which serves everybody."""

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> Self:
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        path = frame.f_code.co_filename
        self.count += event == "call" and ("/bridge/" in path or "/translators/" in path) and "/tests/" not in path


async def calls_of_commit(partitions: int) -> int:
    """What a commit costs the thread that serves, answered as the groups do: by asking the broker."""
    commit = large_commit(partitions)
    reply = all_committed(commit)
    body = encode_reply(ApiKey.OFFSET_COMMIT, 8, 0, reply)[9:]
    heard: list[Reply | None] = []
    frame = encode_request(ApiKey.OFFSET_COMMIT, 8, 7, "client", commit)
    async with front_of(ScriptedBroker(bodies={ApiKey.OFFSET_COMMIT: body})) as front:
        committing = await front.dial()
        with Calls() as calls:
            await committing.send(frame)
            await until(lambda: bool(front.groups.submitted))
            ref, message, via, _ = front.groups.submitted[0]
            via.ask(ref, message, heard.append, 8)
            await until(lambda: bool(heard))
            front.reply_routes.deliver(ref, reply)
            await until(lambda: front.proxy.statistics().bytes_to_clients > len(body))
        assert isinstance(message, OffsetCommit)
        assert message.topics == commit.topics
        assert heard == [reply]
        assert await committing.answer() == (7, b"\x00" + body)
    return calls.count


async def test_large_commit_keeps_others_no_longer_than_a_smaller_one() -> None:
    """In the thread that serves nothing is done for each of its partitions: bytes become a message, and a message
    bytes, beside it, four times.
    """
    await calls_of_commit(5_000)
    smaller, larger = await calls_of_commit(5_000), await calls_of_commit(20_000)
    assert larger < 1.5 * smaller
    assert larger < 5_000


async def calls_of_join(topics: int) -> int:
    """What a JoinGroup of who owns a part of so many topics costs the thread that serves, until all of it is known."""
    owned = frozenset(TopicPartition(TopicName(f"topic-{number:05}"), 0) for number in range(topics))
    frame = join(7, encode_subscription(Subscription(version=1, topics=(TopicName("t"),), owned=owned)))
    async with front_of(ScriptedBroker()) as front:
        joining = await front.dial()
        with Calls() as calls:
            await joining.send(frame)
            await until(lambda: bool(front.groups.submitted))
            found = front.groups.submitted[0][1]
            assert isinstance(found, JoinGroup)
            assert found.subscription(found.protocols[0]).owned == owned
    return calls.count


async def test_long_subscription_keeps_others_no_longer_than_a_shorter_one() -> None:
    """A megabyte was read in one piece, in the thread that serves: others waited for it."""
    await calls_of_join(8_000)
    smaller, larger = await calls_of_join(8_000), await calls_of_join(20_000)
    assert larger < 1.5 * smaller
    assert larger < 5_000


async def test_request_whose_group_is_placed_is_read_beside_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or refused there, where that can't be found out: also its refusal names all that it names."""
    work_beside: list[str] = []
    beside = Shared.beside

    async def note(shared: Shared, work: Callable[[], object]) -> object:
        assert isinstance(work, partial)
        work_beside.append(work.func.__name__)
        return await beside(shared, work)

    monkeypatch.setattr(Shared, "beside", note)
    places: list[Refusal | None] = [None, Refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE, "nobody knows")]

    async def place(group_id: GroupId, client_host: str) -> Refusal | None:
        del group_id, client_host
        return places.pop(0)

    async with front_of(ScriptedBroker(), place=place) as front:
        committing = await front.dial()
        frame = encode_request(ApiKey.OFFSET_COMMIT, 8, 7, "client", large_commit(20_000))
        await committing.send(frame)
        await until(lambda: bool(front.groups.submitted))
        assert work_beside == ["read", "read_placed"]
        del work_beside[:]
        other = await front.dial()
        await other.send(frame)
        correlation_id, body = await other.answer()
        _, reply = decode_reply(ApiKey.OFFSET_COMMIT, 8, correlation_id.to_bytes(4) + body)
        assert isinstance(reply, OffsetCommitReply)
        codes = [item.error for topic in reply.topics for item in topic.partitions]
        assert codes == [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 20_000
        assert work_beside == ["read", "refusal"]


async def test_heartbeat_is_answered_while_a_large_commit_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long that takes: here it waits for the heartbeat."""
    begun, may_end = trio.Event(), trio.Event()
    beside = Shared.beside

    async def wait_and_work(shared: Shared, work: Callable[[], object]) -> object:
        begun.set()
        await may_end.wait()
        return await beside(shared, work)

    monkeypatch.setattr(Shared, "beside", wait_and_work)
    async with front_of(ScriptedBroker()) as front:
        committing, beating = await front.dial(), await front.dial()
        await committing.send(encode_request(ApiKey.OFFSET_COMMIT, 8, 7, "client", large_commit(20_000)))
        await begun.wait()
        await beating.send(heartbeat(OURS, 1))
        await until(lambda: bool(front.groups.submitted))
        front.reply_routes.deliver(front.groups.submitted[0][0], HeartbeatReply(ErrorCode.NONE))
        assert await beating.ids(1) == [1]
        may_end.set()
        await until(lambda: len(front.groups.submitted) == 2)


@pytest.mark.parametrize("place", [0, 1], ids=["while it is encoded", "while its answer is decoded"])
async def test_question_of_a_large_commit_is_answered_once_where_its_client_goes(
    place: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever asked must hear whether the commit is over: it is where the broker has answered."""
    commit = large_commit(20_000)
    body = encode_reply(ApiKey.OFFSET_COMMIT, 8, 0, all_committed(commit))[9:]
    beside = Shared.beside

    async def wait_and_work(shared: Shared, work: Callable[[], object]) -> object:
        begun.pop(0).set()
        if begun:
            return await beside(shared, work)
        await trio.sleep_forever()
        raise AssertionError("cancelled with its connection")

    monkeypatch.setattr(Shared, "beside", wait_and_work)
    events = [trio.Event() for _ in range(place + 1)]
    begun = list(events)
    async with front_of(ScriptedBroker(bodies={ApiKey.OFFSET_COMMIT: body})) as front:
        client = await front.dial()
        await client.send(heartbeat(OURS, 1))
        await until(lambda: bool(front.groups.submitted))
        heard: list[Reply | None] = []
        front.groups.submitted[0][2].ask(None, commit, heard.append, 8)
        with trio.fail_after(60):
            await events[-1].wait()
        assert heard == []
        await client.stream.aclose()
        await until(lambda: bool(heard))
        await settle()
    assert heard == ([all_committed(commit)] if place else [None])


async def test_client_that_is_ended_is_named_in_the_log_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    """By the bridge or by the broker: with group, member, client and what to do."""
    fenced = HeartbeatReply(ErrorCode.FENCED_INSTANCE_ID)
    body = encode_reply(ApiKey.HEARTBEAT, 3, 0, fenced)[8:]
    async with front_of(ScriptedBroker(bodies={ApiKey.HEARTBEAT: body})) as front:
        client = await front.dial()
        await client.send(heartbeat(OURS, 1), heartbeat(THEIRS, 2))
        await settle()
        front.reply_routes.deliver(front.groups.submitted[0][0], fenced)
        assert await client.ids(2) == [1, 2]
        endings = front.proxy.statistics().endings
    assert endings == {(road, ApiKey.HEARTBEAT, ErrorCode.FENCED_INSTANCE_ID): 1 for road in (Road.EMBEDDED, Road.PASS)}
    lines = [record.message for record in caplog.records if "EB-NET-051" in record.message]
    assert sorted(group for group in (OURS, THEIRS) for line in lines if repr(group) in line) == sorted((OURS, THEIRS))
    assert all("group.instance.id" in line and repr(MEMBER) in line for line in lines)


@pytest.mark.parametrize("api_key", [ApiKey.API_VERSIONS, ApiKey.HEARTBEAT, ApiKey.METADATA])
async def test_however_much_comes_at_once_others_have_their_turn(
    api_key: ApiKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    """100,000 requests in one go kept everybody waiting for ten seconds: they are answered as soon as they are read."""
    count, longest = 5_000, LongestTurn(monkeypatch, ClientSession, "decide")
    frame = heartbeat(THEIRS, 1) if api_key is ApiKey.HEARTBEAT else request(api_key, 0, 1, bytes(4))
    async with front_of(ScriptedBroker()) as front:
        client = await front.dial()
        async with trio.open_nursery() as nursery:
            with longest:
                nursery.start_soon(client.send, frame * count)
                assert await client.ids(count) == [1] * count
    assert 0 < longest.most <= PIECES_WITHOUT_CHECKPOINT


async def test_commits_that_come_at_once_count_by_their_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Below what is carried out in pieces each may name a thousand partitions: what many heartbeats cost."""
    count, longest = 100, LongestTurn(monkeypatch, ClientSession, "decide")
    frame = encode_request(ApiKey.OFFSET_COMMIT, 8, 1, "client", large_commit(1_000))
    async with front_of(ScriptedBroker()) as front:
        client = await front.dial()
        async with trio.open_nursery() as nursery:
            with longest:
                nursery.start_soon(client.send, frame * count)
                await until(lambda: len(front.groups.submitted) == count)
    assert 0 < longest.most <= 1 + PIECES_WITHOUT_CHECKPOINT * PIECE_BYTES / len(frame)
