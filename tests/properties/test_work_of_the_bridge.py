"""Laws of the whole bridge: what it does for nobody, and for a member that has nothing new, is next to nothing.

It once woke ten times a second to look after moves that nobody had ordered, and opened a connection a second to look
for other bridges. Passes of the scheduler and calls are counted, which are the same on a busy day.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType

import trio
from trio.testing import MockClock

from bridge.migration.route import Road
from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import Reply, Request, decode_reply, encode_request
from tests.support.passes import count_passes
from tests.support.scripted_broker import RawClient
from tests.support.whole_bridge import whole_bridge
from translators.dialects.classic import (
    Heartbeat,
    HeartbeatReply,
    JoinGroup,
    JoinGroupReply,
    Protocol,
    SyncGroup,
    SyncGroupReply,
)
from translators.dialects.consumer_protocol import Subscription, encode_subscription
from translators.dialects.errors import ErrorCode, code_of
from translators.dialects.ids import NO_MEMBER_ID, GroupId, TopicName

SETTLED_S, IDLE_S = 5.0, 30.0
JUMPS_AFTER_S = 0.02
"""Its sockets are real ones: so long nobody may have anything to do before the time goes on."""
PASSES_MAX_PER_S = 7
"""Each step of the clock makes one, and each question to the broker, who is in the same process, some more."""
VERSIONS = {ApiKey.JOIN_GROUP: 9, ApiKey.SYNC_GROUP: 5, ApiKey.HEARTBEAT: 4}
JOIN = JoinGroup(
    group_id=GroupId("group"),
    member_id=NO_MEMBER_ID,
    instance_id=None,
    protocol_type="consumer",
    protocols=(
        Protocol("range", encode_subscription(Subscription(version=1, topics=(TopicName("t"),), owned=frozenset()))),
    ),
    session_timeout_ms=45_000,
    rebalance_timeout_ms=45_000,
)
CALLS_MAX = 21
ROUNDS = 20


async def test_bridge_that_serves_nobody_is_hardly_woken(tmp_path: Path, mock_clock: MockClock) -> None:
    """Its jobs look at the cluster, the other bridges and the clock every few seconds, and sleep between."""
    mock_clock.autojump_threshold = JUMPS_AFTER_S
    async with whole_bridge(Road.EMBEDDED, tmp_path):
        await trio.sleep(SETTLED_S)
        with count_passes() as passes:
            await trio.sleep(IDLE_S)
    assert 0 < passes.count <= PASSES_MAX_PER_S * IDLE_S


async def test_heartbeat_that_changes_nothing_takes_few_calls(tmp_path: Path) -> None:
    """Functions of ours from the bytes of a member at rest to those of its answer, those of idle jobs left out."""
    async with whole_bridge(Road.EMBEDDED, tmp_path) as client:
        beat = await at_rest(client)
        counts: dict[int, list[str]] = {}
        for _ in range(ROUNDS):
            with calls_of_ours() as called:
                assert await ask(client, ApiKey.HEARTBEAT, beat) == HeartbeatReply(ErrorCode.NONE)
            counts[len(called)] = called
    assert 0 < min(counts) <= CALLS_MAX, counts[min(counts)]


async def at_rest(client: RawClient) -> Heartbeat:
    """Join as the only member: its heartbeat."""
    named = await ask(client, ApiKey.JOIN_GROUP, JOIN)
    assert isinstance(named, JoinGroupReply)
    joined = await ask(client, ApiKey.JOIN_GROUP, replace(JOIN, member_id=named.member_id))
    assert isinstance(joined, JoinGroupReply)
    group, generation, member = JOIN.group_id, joined.generation, joined.member_id
    sync = SyncGroup(
        group_id=group,
        generation=generation,
        member_id=member,
        instance_id=None,
        protocol_type="consumer",
        protocol_name=joined.protocol_name,
    )
    assert isinstance(await ask(client, ApiKey.SYNC_GROUP, sync), SyncGroupReply)
    return Heartbeat(group, generation, member, None)


async def ask(client: RawClient, api_key: ApiKey, request: Request) -> Reply:
    """Send one request, wait for its answer."""
    version = VERSIONS[api_key]
    await client.send(encode_request(api_key, version, 1, "client", request))
    correlation_id, body = await client.answer()
    return decode_reply(api_key, version, correlation_id.to_bytes(4) + body)[1]


@contextmanager
def calls_of_ours() -> Iterator[list[str]]:
    """The functions of ours that are called until the end of the block, but those that know bytes."""
    called: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        path = frame.f_code.co_filename
        is_ours = "/bridge/" in path or "/translators/" in path
        # The client is here, too: what it encodes and decodes, and the code that it reads, is not the bridge's work.
        is_of_client = "/tests/" in path or "/wire/" in path or frame.f_code is code_of.__code__
        if event == "call" and is_ours and not is_of_client:
            called.append(frame.f_code.co_qualname)

    sys.setprofile(note)
    try:
        yield called
    finally:
        sys.setprofile(None)
