"""Hearing a broker out when the client is gone."""

import socket

import trio

from bridge.net.broker_side import hear_out
from bridge.net.transport import SocketTransport
from bridge.session.broker_answers import AnswerCutter, Expected
from bridge.session.outbox import Outbox
from bridge.wire.apis import ApiKey
from bridge.wire.frames import response_frame

STREAMED, ASKED, LAST = (response_frame(ApiKey.FETCH, 11, number, b"body") for number in (1, 2, 3))


def expecting() -> tuple[AnswerCutter, list[bytes | None]]:
    """A streamed answer, one that was asked for, and another streamed one behind it."""
    answers, heard, outbox = AnswerCutter(1_000), list[bytes | None](), Outbox(0, 1)
    answers.expect(Expected(1, outbox.reserve_stream(ApiKey.FETCH, 11, 1)))
    answers.expect(Expected(2, None, heard.append))
    answers.expect(Expected(3, outbox.reserve_stream(ApiKey.FETCH, 11, 3)))
    return answers, heard


def pair() -> tuple[SocketTransport, socket.socket]:
    """Our half of a connection, and the broker's."""
    ours, broker = socket.socketpair()
    return SocketTransport(ours), broker


async def test_question_is_heard_and_what_was_for_the_client_is_dropped() -> None:
    """It ends with the last question, however much else is to come."""
    ours, broker = pair()
    answers, heard = expecting()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(hear_out, ours, answers)
        broker.sendall(STREAMED + ASKED[:5])
        await trio.sleep(0.01)
        broker.sendall(ASKED[5:])
    assert heard == [ASKED]
    broker.close()
    ours.close()


async def test_broker_that_hangs_up_or_talks_nonsense_ends_it() -> None:
    """Nobody waits for what can't come; whoever asked is told by the caller."""
    for last_words in (b"", LAST):
        ours, broker = pair()
        answers, heard = expecting()
        broker.sendall(last_words)
        broker.close()
        await hear_out(ours, answers)
        ours.close()
        assert heard == []
        assert answers.awaits_held


async def test_nothing_asked_needs_no_wait() -> None:
    """Without a question the broker is not listened to."""
    ours, broker = pair()
    await hear_out(ours, AnswerCutter(1_000))
    broker.close()
    ours.close()
