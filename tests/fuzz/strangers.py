"""Clients that send what the words and the spoiling give, each in its own bad manner.

They must not know what is judged; they remember what became of their connections.
"""

import socket
import struct
from collections import Counter
from dataclasses import dataclass, field
from random import Random

import trio

from bridge.wire.codec.registry import READABLE, read_reply_fields
from bridge.wire.errors import MalformedFrame
from tests.fuzz.spoiling import spoilt
from tests.fuzz.words import Learned, Speaker
from tests.support.scripted_broker import LOOPBACK

ROUNDS_MAX, FRAMES_A_ROUND_MAX, SPOILT_ROUNDS = 6, 8, 0.8
FIRST_S, QUIET_S, CONNECT_S, SEND_S = 0.5, 0.02, 10.0, 10.0
"""How long the first answer is waited for, the next ones, a connection, and a visit as a whole."""
SLOW_PIECES_MAX = 60
LINGERING_MAX = 3
MANNERS = ("plain",) * 7 + ("halves", "trickle", "half-closed", "reset", "deaf", "left open")


@dataclass(slots=True)
class Tally:
    """What was sent and what came of it."""

    frames: int = 0
    wanted: int = 0
    apis: Counter[int] = field(default_factory=Counter)
    manners: Counter[str] = field(default_factory=Counter)
    spoilt: int = 0
    answers: int = 0
    closed: int = 0
    refused: int = 0
    """Connections that could not be made."""


@dataclass(slots=True)
class Stranger:
    """One client after the other, until enough frames were sent."""

    random: Random
    ports: tuple[int, ...]
    learned: Learned
    tally: Tally
    left_open: list[trio.SocketStream] = field(default_factory=list)

    async def run(self) -> None:
        """Go on until the tally is full."""
        speaker = Speaker(self.random, self.learned)
        while self.tally.frames < self.tally.wanted:
            try:
                with trio.fail_after(CONNECT_S):
                    stream = await trio.open_tcp_stream(LOOPBACK, self.random.choice(self.ports))
            except (OSError, trio.TooSlowError):
                self.tally.refused += 1
                await trio.sleep(0.05)
                continue
            await self._visit(stream, speaker)
        for stream in self.left_open:
            await trio.aclose_forcefully(stream)

    async def _visit(self, stream: trio.SocketStream, speaker: Speaker) -> None:
        manner = self.random.choice(MANNERS)
        self.tally.manners[manner] += 1
        try:
            with trio.move_on_after(SEND_S):
                await self._talk(stream, speaker, manner)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            self.tally.closed += 1
        if manner == "left open":
            self.left_open.append(stream)
            if len(self.left_open) > LINGERING_MAX:
                await trio.aclose_forcefully(self.left_open.pop(0))
            return
        if manner == "reset":
            stream.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        await trio.aclose_forcefully(stream)

    async def _talk(self, stream: trio.SocketStream, speaker: Speaker, manner: str) -> None:
        """A few requests at once, then what comes, and again."""
        asked: dict[int, tuple[int, int]] = {}
        received = bytearray()
        for _ in range(self.random.randint(1, ROUNDS_MAX)):
            frames = []
            for _ in range(self.random.randint(1, FRAMES_A_ROUND_MAX)):
                api_key, version, frame = speaker.frame()
                asked[int.from_bytes(frame[8:12], signed=True)] = (api_key, version)
                frames.append(frame)
                self.tally.apis[api_key] += 1
            # A frame that can't be read ends the connection: what stands before it is to be judged as well.
            if self.random.random() < SPOILT_ROUNDS:
                frames[-1] = spoilt(self.random, frames[-1])
                self.tally.spoilt += 1
            self.tally.frames += len(frames)
            await self._send(stream, b"".join(frames), manner)
            if manner == "half-closed":
                await stream.send_eof()
            if manner != "deaf":
                await self._hear(stream, asked, received)
            if manner == "half-closed":
                return

    async def _send(self, stream: trio.SocketStream, data: bytes, manner: str) -> None:
        if manner == "halves":
            at = self.random.randrange(len(data))
            pieces = [data[:at], data[at:]]
        elif manner == "trickle":
            size = max(1, len(data) // SLOW_PIECES_MAX)
            pieces = [data[at : at + size] for at in range(0, len(data), size)]
        else:
            pieces = [data]
        for piece in pieces:
            await stream.send_all(piece)
            if len(pieces) > 1:
                await trio.sleep(0.001)

    async def _hear(self, stream: trio.SocketStream, asked: dict[int, tuple[int, int]], received: bytearray) -> None:
        """Read until nothing comes for a moment."""
        patience_s = FIRST_S
        while True:
            chunk = None
            with trio.move_on_after(patience_s):
                chunk = await stream.receive_some(65_536)
            if chunk is None:
                return
            if not chunk:
                raise trio.BrokenResourceError
            received += chunk
            patience_s = QUIET_S
            while len(received) >= 8 and len(received) >= 4 + int.from_bytes(received[:4]):
                end = 4 + int.from_bytes(received[:4])
                self._learn(bytes(received[4:end]), asked)
                del received[:end]

    def _learn(self, answer: bytes, asked: dict[int, tuple[int, int]]) -> None:
        self.tally.answers += 1
        api_key, version = asked.get(int.from_bytes(answer[:4], signed=True), (-1, 0))
        if api_key not in READABLE:
            return
        try:
            self.learned.hear(read_reply_fields(api_key, version, answer)[1])
        except MalformedFrame:
            # The broker spoilt it, or the request named another version.
            return
