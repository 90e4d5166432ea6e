"""Of a heartbeat of the bridge's own that says the last one over again the answer is read a little later, together with
those of others; whatever else is asked on its connection is answered at once.
"""

import trio
import trio.testing

from bridge.net.poller import _Waiter
from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import Reply, encode_reply, encode_request
from tests.support.front import Front, front_of
from tests.support.scripted_broker import ScriptedBroker, request
from translators.dialects.classic import Heartbeat, HeartbeatReply
from translators.dialects.consumer import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId
from translators.dialects.offsets import GroupOffsets, OffsetFetch, OffsetFetchReply

GROUP, MEMBER = GroupId("embedded-orders"), MemberId("m-1")
OURS = ConsumerGroupHeartbeat(group_id=GROUP, member_id=MEMBER, member_epoch=3)
UNCHANGED = ConsumerGroupHeartbeatReply(error=ErrorCode.NONE, member_epoch=3, heartbeat_interval_ms=5_000)
NEWS = ConsumerGroupHeartbeatReply(error=ErrorCode.NONE, member_epoch=4, heartbeat_interval_ms=5_000)
BEAT = encode_request(ApiKey.HEARTBEAT, 3, 1, "client", Heartbeat(GROUP, 1, MEMBER, None))
FETCHED = encode_reply(ApiKey.OFFSET_FETCH, 9, 0, OffsetFetchReply(groups=()))[9:]


def said(reply: ConsumerGroupHeartbeatReply) -> bytes:
    """The body of an answer."""
    return encode_reply(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, 0, reply)[9:]


class Told:
    """Hears one answer and says that it came."""

    def __init__(self, heard: list[Reply | None]) -> None:
        self._heard = heard
        self._came = trio.Event()

    def hear(self, reply: Reply | None) -> None:
        """It comes."""
        self._heard.append(reply)
        self._came.set()

    async def wait(self) -> None:
        """Until it has come."""
        with trio.fail_after(60):
            await self._came.wait()


def patient_ones(front: Front) -> int:
    """How many connections are in no hurry."""
    poller = front.proxy._shared.poller
    waiters: list[_Waiter] = list(poller._waiters.values())
    return sum(one.epoll is poller._patient for one in waiters)


async def test_answer_that_says_the_last_one_over_again_is_read_later_and_all_others_at_once() -> None:
    """The first heartbeat is in a hurry, as is whatever is asked for the client or by it behind the others."""
    broker = ScriptedBroker(bodies={ApiKey.CONSUMER_GROUP_HEARTBEAT: said(UNCHANGED), ApiKey.OFFSET_FETCH: FETCHED})
    async with front_of(broker) as front:
        client = await front.dial()
        await client.send(BEAT)
        await trio.testing.wait_all_tasks_blocked(0.01)
        way = front.groups.submitted[0][2]
        heard: list[Reply | None] = []

        async def beat(*, is_patient: bool) -> None:
            told = Told(heard)
            way.ask(None, OURS, told.hear)
            assert patient_ones(front) == is_patient
            await told.wait()

        await beat(is_patient=False)
        for _ in range(3):
            await beat(is_patient=True)
        assert len({id(reply) for reply in heard}) == 1, "the same answer is the same object"
        # The client goes on meanwhile, by the same connection.
        front.reply_routes.deliver(front.groups.submitted[0][0], HeartbeatReply(ErrorCode.NONE))
        await client.send(request(ApiKey.METADATA, 1, 2, bytes(4)))
        assert await client.ids(2) == [1, 2]
        assert patient_ones(front) == 0
        await beat(is_patient=True)
        answers: list[Reply | None] = []
        way.ask(None, OffsetFetch(groups=(GroupOffsets(group_id=GROUP, topics=None),)), answers.append, 9)
        assert patient_ones(front) == 0
        # Behind that one it does not matter that this is the last one over again: its answer comes first.
        await beat(is_patient=False)
        assert answers == [OffsetFetchReply(groups=())]
        broker.bodies[ApiKey.CONSUMER_GROUP_HEARTBEAT] = said(NEWS)
        await beat(is_patient=True)
        assert heard[-1] == NEWS


async def test_broker_that_hangs_up_on_a_patient_connection_is_noticed() -> None:
    """As on any other: whoever asked hears that there is no answer."""
    broker = ScriptedBroker(bodies={ApiKey.CONSUMER_GROUP_HEARTBEAT: said(UNCHANGED)})
    async with front_of(broker) as front:
        client = await front.dial()
        await client.send(BEAT)
        await trio.testing.wait_all_tasks_blocked(0.01)
        way = front.groups.submitted[0][2]
        heard: list[Reply | None] = []
        first, second = Told(heard), Told(heard)
        way.ask(None, OURS, first.hear)
        await first.wait()
        broker.gate = trio.Event()
        way.ask(None, OURS, second.hear)
        assert patient_ones(front) == 1
        await broker.hang_up()
        await second.wait()
        assert heard == [UNCHANGED, None]
