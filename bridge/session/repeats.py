"""A heartbeat that its client sends over and over, recognised by its bytes, with its ordinary answer made beforehand.

It must not know whether the ordinary answer is the right one.
"""

from bridge.wire.frames import LENGTH_BYTES, REQUEST_CORRELATION_OFFSET, RESPONSE_CORRELATION_OFFSET
from bridge.wire.heartbeat import heartbeat_reply
from translators.dialects.classic import Heartbeat
from translators.dialects.errors import ErrorCode

_CORRELATION_BYTES = 4
_REQUEST_AFTER = REQUEST_CORRELATION_OFFSET + _CORRELATION_BYTES
_ANSWER_AFTER = RESPONSE_CORRELATION_OFFSET + _CORRELATION_BYTES


class Repeat:
    """One decoded heartbeat; frames like it differ in the correlation id and in nothing else."""

    __slots__ = ("_answer_end", "_answer_start", "_end", "_start", "request")

    def __init__(self, frame: bytes, version: int, request: Heartbeat) -> None:
        self.request = request
        self._start = frame[:REQUEST_CORRELATION_OFFSET]
        self._end = frame[_REQUEST_AFTER:]
        answer = heartbeat_reply(version, 0, ErrorCode.NONE)
        assert len(answer) > _ANSWER_AFTER > LENGTH_BYTES, "an answer has a code behind its correlation id"
        self._answer_start = answer[:RESPONSE_CORRELATION_OFFSET]
        self._answer_end = answer[_ANSWER_AFTER:]

    def is_like(self, frame: bytes) -> bool:
        """Whether a frame asks the same; it has to be as long as the first one."""
        return frame.startswith(self._start) and frame.endswith(self._end)

    def answer_to(self, frame: bytes) -> bytes:
        """The answer that all is well, to a frame like this one."""
        return self._answer_start + frame[REQUEST_CORRELATION_OFFSET:_REQUEST_AFTER] + self._answer_end
