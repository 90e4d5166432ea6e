"""A connection that sends requests and takes answers in their order, each within a time."""

import select
import socket
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from tests.support.conformance.messages import APIS, decode_answer, encode_request
from tests.support.conformance.schema import Value

HEAD_BYTES = 4


class NoAnswer(Exception):
    """Nothing came within the time, or the other side closed the connection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A request that waits for its answer."""

    api: str
    version: int
    number: int


class Connection:
    """One client's connection."""

    def __init__(self, place: tuple[str, int], client_id: str) -> None:
        self._socket = socket.create_connection(place, timeout=30)
        self._client_id = client_id
        self._sent: deque[Sent] = deque()
        self._number = 0
        self._buffer = bytearray()

    def close(self) -> None:
        """End it."""
        self._socket.close()

    def fileno(self) -> int:
        """The socket's number, for waiting on several at once."""
        return self._socket.fileno()

    def send(self, api: str, version: int, fields: Mapping[str, Value]) -> None:
        """Send a request."""
        self._number += 1
        self._socket.sendall(encode_request(APIS[api], version, self._number, self._client_id, fields))
        self._sent.append(Sent(api=api, version=version, number=self._number))

    def receive(self, within_s: float) -> tuple[Sent, dict[str, Value]]:
        """The next answer and what it answers; NoAnswer if there is none in time."""
        deadline = time.monotonic() + within_s
        frame = self._frame(deadline)
        sent = self._sent.popleft()
        answered = int.from_bytes(frame[:HEAD_BYTES], "big")
        assert answered == sent.number, f"request {answered} was answered before {sent.number}, a {sent.api}"
        return sent, decode_answer(APIS[sent.api], sent.version, frame)

    def ask(self, api: str, version: int, fields: Mapping[str, Value], within_s: float = 30.0) -> dict[str, Value]:
        """Send a request and take its answer."""
        self.send(api, version, fields)
        return self.receive(within_s)[1]

    def _frame(self, deadline: float) -> bytes:
        while True:
            size = int.from_bytes(self._buffer[:HEAD_BYTES], "big")
            if len(self._buffer) >= HEAD_BYTES + size and len(self._buffer) >= HEAD_BYTES:
                frame = bytes(self._buffer[HEAD_BYTES : HEAD_BYTES + size])
                del self._buffer[: HEAD_BYTES + size]
                return frame
            readable, _, _ = select.select([self._socket], [], [], max(0.0, deadline - time.monotonic()))
            if not readable:
                raise NoAnswer("nothing came in time")
            try:
                piece = self._socket.recv(65_536)
            except ConnectionError as fault:
                raise NoAnswer("closed") from fault
            if not piece:
                raise NoAnswer("closed")
            self._buffer += piece
