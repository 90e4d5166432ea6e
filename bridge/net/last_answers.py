"""Hears a broker out after the client has gone: answers to the bridge's own questions count, the others are dropped.

It must not know what was asked.
"""

from bridge.net.transport import Transport
from bridge.session.answers import AnswerCutter, Confused, Whole

READ_BYTES = 64 * 1024


async def hear_out(transport: Transport, answers: AnswerCutter) -> None:
    """Read until no question is open any more, or until the broker ends it; the caller sets the deadline."""
    buffer = memoryview(bytearray(READ_BYTES)) if answers.awaits_held else memoryview(b"")
    while answers.awaits_held:
        count = transport.recv_into(buffer)
        if count is None:
            await transport.wait_readable()
        elif count == 0 or not _take(answers, buffer[:count]):
            return


def _take(answers: AnswerCutter, view: memoryview) -> bool:
    """Cut what came; False when it can't be made sense of."""
    position = 0
    while (cut := answers.cut(view, position)) is not None:
        position = answers.position
        if isinstance(cut, Confused):
            return False
        if isinstance(cut, Whole) and cut.expected.take is not None:
            cut.expected.take(cut.frame)
    return True
