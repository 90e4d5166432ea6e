"""Sends heartbeats that were written beforehand over many sockets, as fast as they are answered or at a steady rate.

It must not know who answers, nor any other request.
"""

import select
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass

CLASSIC_ANSWER_BYTES = 16
"""Of an answer to Heartbeat v4."""
ANSWERS_MAX = 4
ERROR_AT = 13
"""Where the error code stands in an answer to Heartbeat v4, or to ConsumerGroupHeartbeat: length, correlation id, tags
and throttle time before it.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beating:
    """What came of it; latencies are from sending to hearing, in microseconds."""

    answered: int
    refused: int
    seconds: float
    p50_us: float
    p99_us: float
    p999_us: float


class Beats:
    """Sockets with the heartbeat that each of them sends; at most one of them is under way on each."""

    def __init__(
        self,
        sockets: Sequence[socket.socket],
        frames: Sequence[bytes],
        answer_bytes: int = CLASSIC_ANSWER_BYTES,
    ) -> None:
        self._sockets = list(sockets)
        self._answer_bytes = answer_bytes
        self._frames = list(frames)
        self._epoll = select.epoll()
        self._index = {one.fileno(): index for index, one in enumerate(self._sockets)}
        for descriptor in self._index:
            self._epoll.register(descriptor, select.EPOLLIN)

    def as_fast_as_answered(self, seconds: float) -> Beating:
        """Every socket sends its next heartbeat when the last was answered."""
        answered = refused = 0
        begin = time.perf_counter()
        end = begin + seconds
        for one, frame in zip(self._sockets, self._frames, strict=True):
            one.send(frame)
        under_way = len(self._sockets)
        while under_way:
            goes_on = time.perf_counter() < end
            for descriptor, _ in self._epoll.poll(1.0):
                index = self._index[descriptor]
                one = self._sockets[index]
                refused += _is_refusal(one.recv(ANSWERS_MAX * self._answer_bytes))
                answered += 1
                if goes_on:
                    one.send(self._frames[index])
                else:
                    under_way -= 1
        return _beating(answered, refused, time.perf_counter() - begin, [])

    def steadily(self, interval_s: float, seconds: float) -> Beating:
        """Every socket sends one heartbeat per interval, the sockets spread evenly over it."""
        count = len(self._sockets)
        sent_at = [0.0] * count
        latencies: list[float] = []
        refused = sent = 0
        begin = time.perf_counter()
        total = int(seconds / interval_s * count)
        while len(latencies) < total:
            due_s = begin + sent * interval_s / count - time.perf_counter()
            if sent < total and due_s <= 0:
                index = sent % count
                sent_at[index] = time.perf_counter()
                self._sockets[index].send(self._frames[index])
                sent += 1
                continue
            for descriptor, _ in self._epoll.poll(due_s if sent < total else 1.0):
                index = self._index[descriptor]
                received = self._sockets[index].recv(ANSWERS_MAX * self._answer_bytes)
                refused += _is_refusal(received)
                # On a busy machine an answer may still be there when the next one comes.
                took_us = (time.perf_counter() - sent_at[index]) * 1e6
                latencies += [took_us] * (len(received) // self._answer_bytes)
        return _beating(len(latencies), refused, time.perf_counter() - begin, sorted(latencies))


def _is_refusal(answer: bytes) -> bool:
    if not answer:
        raise ConnectionError("a connection was closed instead of a heartbeat answered")
    return answer[ERROR_AT : ERROR_AT + 2] != b"\x00\x00"


def _beating(answered: int, refused: int, seconds: float, ordered: list[float]) -> Beating:
    def rank(share: float) -> float:
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0

    return Beating(
        answered=answered,
        refused=refused,
        seconds=seconds,
        p50_us=rank(0.5),
        p99_us=rank(0.99),
        p999_us=rank(0.999),
    )
