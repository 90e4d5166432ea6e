"""No group request of a client that has not logged in is answered where the cluster wants a login."""

from dataclasses import dataclass

import trio
import trio.testing

from bridge.net.cluster_memory import Entrance
from bridge.session.close_reasons import CloseReason
from bridge.session.limits import Limits
from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import encode_request
from bridge.wire.frames import RequestHeader
from tests.support.front import Front, front_of
from tests.support.scripted_broker import MECHANISMS, ScriptedBroker, request
from translators.dialects.classic import Heartbeat, HeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId


@dataclass(slots=True)
class FrozenBroker(ScriptedBroker):
    """Takes questions about the cluster and says nothing, once it is frozen."""

    is_frozen: bool = False

    async def answer(self, stream: trio.SocketStream, header: RequestHeader) -> None:
        """As a scripted broker does, as long as it is well."""
        if not self.is_frozen or header.api_key != ApiKey.METADATA:
            await ScriptedBroker.answer(self, stream, header)


def beat(correlation_id: int) -> bytes:
    """A heartbeat of an embedded group."""
    message = Heartbeat(GroupId("embedded-orders"), 1, MemberId("m-1"), None)
    return encode_request(ApiKey.HEARTBEAT, 3, correlation_id, "client", message)


def answer(front: Front, number: int) -> None:
    """Answer what was submitted."""
    front.reply_routes.deliver(front.groups.submitted[number][0], HeartbeatReply(ErrorCode.NONE))


async def close_to_strangers(front: Front, broker: ScriptedBroker) -> None:
    """The cluster authenticates, and the bridge has found out."""
    broker.hangs_up_at = ApiKey.METADATA
    broker.bodies[ApiKey.SASL_HANDSHAKE] = MECHANISMS
    await front.proxy.cluster.refresh()
    assert front.proxy.cluster.entrance is Entrance.LOGIN


async def test_client_without_login_is_closed_and_nothing_is_submitted() -> None:
    """The broker hangs up at anything but SASL, and so does the bridge, whatever it was told about trust."""
    broker = ScriptedBroker()
    async with front_of(broker) as front:
        await close_to_strangers(front, broker)
        client = await front.dial()
        await client.send(beat(1))
        assert await client.is_closed()
        await trio.testing.wait_all_tasks_blocked(0.01)
        assert (front.groups.submitted, front.closed(CloseReason.NOT_AUTHENTICATED)) == ([], 1)


async def test_client_between_two_sasl_answers_is_not_in() -> None:
    """SCRAM's first answer has no error either: what counts is that the broker answers something else."""
    broker = ScriptedBroker()
    async with front_of(broker) as front:
        await close_to_strangers(front, broker)
        client = await front.dial()
        await client.send(request(ApiKey.SASL_HANDSHAKE, 1, 1), request(ApiKey.SASL_AUTHENTICATE, 1, 2), beat(3))
        assert await client.ids(2) == [1, 2]
        assert await client.is_closed()
        assert front.groups.submitted == []


async def test_answer_with_an_error_proves_nothing() -> None:
    """In the middle of a login Kafka answers before it closes: without brokers, as Metadata says errors."""
    broker = ScriptedBroker()
    async with front_of(broker) as front:
        await close_to_strangers(front, broker)
        broker.hangs_up_at, broker.node_ids = None, ()
        client = await front.dial()
        await client.send(beat(1))
        assert await client.is_closed()
        assert (front.groups.submitted, front.closed(CloseReason.NOT_AUTHENTICATED)) == ([], 1)


async def test_broker_that_says_nothing_is_waited_for_as_long_as_one_that_is_away() -> None:
    """It is frozen, and its connection stays: so did the client's, until the client gave up."""
    broker = FrozenBroker()
    async with front_of(broker, Limits(upstream_wait_max_ms=1_000)) as front:
        await close_to_strangers(front, broker)
        broker.hangs_up_at, broker.is_frozen = None, True
        client = await front.dial()
        await client.send(beat(1))
        with trio.fail_after(60):
            assert await client.is_closed()
        assert (front.groups.submitted, front.closed(CloseReason.UPSTREAM_SILENT)) == ([], 1)


async def test_client_that_is_in_proves_it_once() -> None:
    """Its broker answers a question of the bridge; what follows costs nothing more."""
    broker = ScriptedBroker()
    async with front_of(broker) as front:
        await close_to_strangers(front, broker)
        broker.hangs_up_at = None
        client = await front.dial()
        await client.send(request(ApiKey.SASL_HANDSHAKE, 1, 1), request(ApiKey.SASL_AUTHENTICATE, 1, 2))
        assert await client.ids(2) == [1, 2]
        before = len(broker.streams)
        for number in range(2):
            await client.send(beat(number + 3))
            await trio.testing.wait_all_tasks_blocked(0.01)
            answer(front, number)
            assert await client.ids(1) == [number + 3]
        assert len(broker.streams) == before


async def test_proof_ends_with_the_connection_it_came_on() -> None:
    """Without a handshake the broker's side may be opened again, by nobody in particular."""
    broker = ScriptedBroker()
    async with front_of(broker) as front:
        await close_to_strangers(front, broker)
        broker.hangs_up_at = None
        client = await front.dial()
        await client.send(beat(1))
        await trio.testing.wait_all_tasks_blocked(0.01)
        answer(front, 0)
        assert await client.ids(1) == [1]
        await broker.hang_up()
        broker.hangs_up_at = ApiKey.METADATA
        await trio.testing.wait_all_tasks_blocked(0.01)
        message = Heartbeat(GroupId("embedded-orders"), 2, MemberId("m-2"), None)
        await client.send(encode_request(ApiKey.HEARTBEAT, 2, 2, "client", message))
        assert await client.is_closed()
        assert len(front.groups.submitted) == 1


async def test_cluster_that_lets_everybody_in_is_asked_for_no_proof() -> None:
    """What everybody may do with a group is asked by one connection for all."""
    broker = ScriptedBroker()
    async with front_of(broker) as front:
        opened = list[int]()
        for number in range(2):
            client = await front.dial()
            await client.send(beat(1))
            await trio.testing.wait_all_tasks_blocked(0.01)
            answer(front, number)
            assert await client.ids(1) == [1]
            opened.append(len(broker.streams))
        assert opened[0] == opened[1]
