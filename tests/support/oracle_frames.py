"""Whole frames as kafka-python writes them, to compare ours with. It must not know our own codecs."""

from collections.abc import Callable
from typing import Protocol

from bridge.wire.errors import MalformedFrame


class Message(Protocol):
    """What is needed of kafka-python's messages."""

    def with_header(self, correlation_id: int, client_id: str = ...) -> None:
        """Put a header in front."""

    def encode(self, *, header: bool, framed: bool) -> bytearray:
        """The bytes."""


def request_bytes(message: Message, correlation_id: int = 7, client_id: str = "client-1") -> bytes:
    """A whole request frame, length prefix included."""
    message.with_header(correlation_id, client_id)
    return bytes(message.encode(header=True, framed=True))


def response_bytes(message: Message, correlation_id: int = 7) -> bytes:
    """A whole answer frame, length prefix included."""
    message.with_header(correlation_id)
    return bytes(message.encode(header=True, framed=True))


def reframed(payload: bytes) -> bytes:
    """The payload behind a length prefix that is right for it."""
    return len(payload).to_bytes(4, "big") + payload


def cut_short(frame: bytes) -> list[bytes]:
    """Every shorter frame, with the length prefix put right, so that only the body is at fault."""
    return [reframed(frame[4:end]) for end in range(4, len(frame))]


def is_malformed(read: Callable[[], object]) -> bool:
    """Whether reading raises MalformedFrame; any other exception passes through."""
    try:
        read()
    except MalformedFrame:
        return True
    return False
