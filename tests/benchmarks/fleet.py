"""Many classic consumers in one process, each on a socket of its own, driven by one epoll set.

It must not know what a frame means beyond its length; the members know that.
"""

import select
import socket
import time
from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush

from bridge.wire.frames import LENGTH_BYTES
from tests.benchmarks.classic_client import ClassicClient, Phase

READ_BYTES = 65_536
WAIT_S = 0.1


class FleetError(Exception):
    """The fleet did not come to where it should have."""


class Line:
    """One member's connection, with what it has received of its next answer."""

    def __init__(self, address: tuple[str, int], client: ClassicClient, login: Sequence[bytes] = ()) -> None:
        self.client = client
        self._address = address
        self._login = login
        self.beaten_s: float | None = None
        """When it sent the heartbeat that is on its way."""
        self.connect()

    def connect(self) -> None:
        """Open the connection, logged in where the fleet logs in, with nothing received on it."""
        self.socket = socket.create_connection(self._address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._received = b""
        for request in self._login:
            self.socket.sendall(request)
            while not self.receive():
                pass

    def receive(self) -> list[bytes]:
        """Whole answers that have come, each with its length prefix. Raises FleetError at the end of the connection."""
        data = self.socket.recv(READ_BYTES)
        if not data:
            raise FleetError("the bridge closed a member's connection; its log says why")
        self._received += data
        frames: list[bytes] = []
        while len(self._received) >= LENGTH_BYTES:
            end = LENGTH_BYTES + int.from_bytes(self._received[:LENGTH_BYTES])
            if len(self._received) < end:
                break
            frames.append(self._received[:end])
            self._received = self._received[end:]
        return frames


class Fleet:
    """Members that join and heartbeat, until a condition holds; `login` is what each connection sends first."""

    def __init__(self, address: tuple[str, int], *, interval_s: float, login: Sequence[bytes] = ()) -> None:
        self.lines: list[Line] = []
        self.answered = 0
        """How many heartbeats found all well since the start, or since `disconnect`."""
        self.slowest_s = 0.0
        """The longest time that one of them took; who wants it of a part of a run sets it back."""
        self._address = address
        self._login = login
        self._interval_s = interval_s
        self._epoll = select.epoll()
        self._by_fd: dict[int, Line] = {}
        self._due: list[tuple[float, int]] = []

    @property
    def clients(self) -> list[ClassicClient]:
        """The members."""
        return [line.client for line in self.lines]

    def add(self, clients: Sequence[ClassicClient]) -> None:
        """Connect members and let them join."""
        for line in self.connect(clients):
            line.socket.sendall(line.client.start())

    def connect(self, clients: Sequence[ClassicClient]) -> list[Line]:
        """Connect members that say nothing yet."""
        added: list[Line] = []
        for client in clients:
            line = Line(self._address, client, self._login)
            self.lines.append(line)
            self._by_fd[line.socket.fileno()] = line
            self._epoll.register(line.socket.fileno(), select.EPOLLIN)
            added.append(line)
        return added

    def dismiss(self, line: Line, farewell: bytes) -> None:
        """A member says goodbye, unless `farewell` is empty, and is of this fleet no more."""
        if farewell:
            line.socket.sendall(farewell)
            line.receive()
        del self._by_fd[line.socket.fileno()]
        self._due = [entry for entry in self._due if entry[1] != line.socket.fileno()]
        heapify(self._due)
        self._epoll.unregister(line.socket.fileno())
        line.socket.close()
        self.lines.remove(line)

    def disconnect(self) -> None:
        """All connections were lost with the bridge."""
        self._by_fd.clear()
        self._due.clear()
        self.answered = 0
        for line in self.lines:
            line.socket.close()

    def reconnect(self, lines: Sequence[Line]) -> None:
        """Open lost connections again, and heartbeat at once as clients do."""
        for line in lines:
            line.connect()
            self._by_fd[line.socket.fileno()] = line
            self._epoll.register(line.socket.fileno(), select.EPOLLIN)
            line.socket.sendall(line.client.beat)

    def close(self) -> None:
        """Close all connections; nobody leaves the group by it."""
        for line in self.lines:
            line.socket.close()
        self._epoll.close()

    def spread(self) -> None:
        """Let the next heartbeats be due one after the other over an interval: after a rebalance all beat in step."""
        now, fds = time.monotonic(), [fd for _, fd in self._due]
        self._due = [(now + self._interval_s * place / len(fds), fd) for place, fd in enumerate(fds)]

    def run_until(self, holds: Callable[[], bool], timeout_s: float) -> float:
        """Drive all members until `holds()`; how long it took in seconds. Raises FleetError."""
        begin = time.monotonic()
        while not holds():
            now = time.monotonic()
            if now - begin > timeout_s:
                phases = {phase.name: sum(client.phase is phase for client in self.clients) for phase in Phase}
                raise FleetError(f"not there after {timeout_s:.0f} s: members are {phases}")
            self._beat(now)
            for fd, _ in self._epoll.poll(self._wait_s(now)):
                self._hear(self._by_fd[fd])
        return time.monotonic() - begin

    def run_for(self, seconds: float) -> None:
        """Drive all members for a while."""
        end = time.monotonic() + seconds
        self.run_until(lambda: time.monotonic() >= end, seconds + 1)

    def settle(self, timeout_s: float, calm_s: float | None = None) -> float:
        """Drive all members until none was called for `calm_s`, by default two intervals; when the last became stable,
        in seconds from now. Raises FleetError.
        """
        watched_s = 2 * self._interval_s if calm_s is None else calm_s
        begin = time.monotonic()
        while True:
            self.run_until(self.is_settled, timeout_s)
            settled_s = time.monotonic() - begin
            calls = sum(client.times_called for client in self.clients)
            self.run_for(watched_s)
            if self.is_settled() and calls == sum(client.times_called for client in self.clients):
                return settled_s

    def is_settled(self) -> bool:
        """Whether every member is stable and hears nothing but that it lives."""
        return all(line.client.phase is Phase.STABLE for line in self.lines)

    def owned(self) -> int:
        """How many partitions are owned; every one must have one owner."""
        partitions = [partition for client in self.clients for partition in client.owned]
        if len(partitions) != len(set(partitions)):
            raise FleetError("a partition has two owners")
        return len(partitions)

    def _wait_s(self, now: float) -> float:
        return min(WAIT_S, max(0.0, self._due[0][0] - now)) if self._due else WAIT_S

    def _beat(self, now: float) -> None:
        while self._due and self._due[0][0] <= now:
            _, fd = heappop(self._due)
            line = self._by_fd[fd]
            if line.client.phase is Phase.STABLE:
                line.beaten_s = now
                line.socket.sendall(line.client.beat)

    def _hear(self, line: Line) -> None:
        for frame in line.receive():
            beaten_s, line.beaten_s = line.beaten_s, None
            request = line.client.take(frame)
            if request is not None:
                line.socket.sendall(request)
            elif line.client.phase is Phase.STABLE:
                now = time.monotonic()
                self.answered += 1
                self.slowest_s = max(self.slowest_s, now - (beaten_s or now))
                heappush(self._due, (now + self._interval_s, line.socket.fileno()))
