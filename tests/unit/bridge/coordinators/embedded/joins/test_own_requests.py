"""Answers that belong to no connection."""

import trio

from bridge.coordinators.embedded.joins import OWN_CONNECTION, OwnRequests
from bridge.engine.commands import GroupType
from bridge.engine.outcome import NotConverted, Unready
from translators.dialects.classic import HeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, RequestRef
from translators.dialects.messages import GroupReply

CALM = HeartbeatReply(ErrorCode.NONE)
GONE = HeartbeatReply(ErrorCode.UNKNOWN_MEMBER_ID)


async def test_every_answer_comes_back_to_the_task_that_asked() -> None:
    """Two questions at once, answered the other way round; clients' answers go where they went before."""
    passed: list[tuple[RequestRef, GroupReply]] = []
    asked: list[RequestRef] = []
    answers: dict[str, GroupReply] = {}
    own = OwnRequests(lambda ref, reply: passed.append((ref, reply)))

    async def ask(name: str) -> None:
        answers[name] = await own.ask(asked.append)

    async with trio.open_nursery() as nursery:
        for name in ("first", "second"):
            nursery.start_soon(ask, name)
        await trio.testing.wait_all_tasks_blocked()
        assert {ref.connection for ref in asked} == {OWN_CONNECTION}
        own.deliver(RequestRef(0, 7, 1), CALM)
        own.deliver(asked[1], GONE)
        own.deliver(asked[0], CALM)
    assert sorted(answers.values(), key=repr) == sorted([CALM, GONE], key=repr)
    assert passed == [(RequestRef(0, 7, 1), CALM)]
    assert len(own) == 0


async def test_answer_at_once_is_enough() -> None:
    """What is refused is refused before the question is sent off."""
    own = OwnRequests(lambda *_: None)
    assert await own.ask(lambda ref: own.deliver(ref, GONE)) == GONE


async def test_order_gives_its_verdict_when_the_answer_says_that_it_is_durable() -> None:
    """Without a verdict nothing was done."""
    own = OwnRequests(lambda *_: None)
    verdict = NotConverted(GroupId("g"), GroupType.CLASSIC, Unready.SAME_TYPE, "it is one")

    def submit(ref: RequestRef) -> None:
        own.judge(ref, verdict)
        own.deliver(ref, CALM)

    assert await own.order(submit) == verdict
    assert await own.order(lambda ref: own.deliver(ref, GONE)) is None
    own.judge(RequestRef(0, OWN_CONNECTION, 99), verdict)


async def test_late_answer_to_somebody_who_went_away_is_dropped() -> None:
    """The operator pressed Ctrl-C."""
    passed: list[RequestRef] = []
    asked: list[RequestRef] = []
    own = OwnRequests(lambda ref, _: passed.append(ref))
    with trio.CancelScope() as scope:
        scope.cancel()
        await own.ask(asked.append)
    own.deliver(asked[0], CALM)
    assert (passed, len(own)) == ([], 0)
