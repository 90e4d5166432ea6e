"""What is asked in the place of a client's requests: a version that both can read, and an answer in any case."""

import trio.testing

from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import Reply, encode_request
from tests.support.front import front_of
from tests.support.scripted_broker import ScriptedBroker
from translators.dialects.classic import Heartbeat
from translators.dialects.ids import GroupId, MemberId
from translators.dialects.offsets import GroupOffsets, OffsetFetch

GROUP = GroupId("embedded-orders")
QUESTION = OffsetFetch(groups=(GroupOffsets(group_id=GROUP, topics=None),))


def beat() -> bytes:
    """A request that makes the connection known to those who answer."""
    return encode_request(ApiKey.HEARTBEAT, 3, 1, "client", Heartbeat(GROUP, 1, MemberId("m-1"), None))


async def test_question_that_the_broker_can_not_read_is_answered_with_nothing() -> None:
    """Whoever asks must not wait for ever."""
    versions = {key: one for key, one in ScriptedBroker().versions.items() if key != ApiKey.OFFSET_FETCH}
    broker = ScriptedBroker(versions=versions)
    async with front_of(broker) as front:
        client = await front.dial()
        await client.send(beat())
        await trio.testing.wait_all_tasks_blocked(0.01)
        via = front.groups.submitted[0][2]
        answers: list[Reply | None] = []
        via.ask(None, QUESTION, answers.append)
        assert (answers, via.highest_version(ApiKey.OFFSET_FETCH)) == ([None], None)


async def test_question_on_a_connection_that_ended_is_answered_with_nothing() -> None:
    """Its broker may be there; its client is not."""
    broker = ScriptedBroker()
    async with front_of(broker) as front:
        client = await front.dial()
        await client.send(beat())
        await trio.testing.wait_all_tasks_blocked(0.01)
        via = front.groups.submitted[0][2]
        await client.stream.aclose()
        await trio.testing.wait_all_tasks_blocked(0.01)
        answers: list[Reply | None] = []
        via.ask(None, QUESTION, answers.append)
        assert answers == [None]
