"""Many connections that ask once and then say nothing, as a program of its own.

It must not know what answers; arguments: HOST:PORT.
Commands, one a line: `open COUNT`, `ask KEY VERSION` (one request on each, every answer awaited), `close`; each is
answered with the seconds it took.
"""

import select
import socket
import sys
import time
from collections.abc import Sequence

from bridge.wire.apis import ApiKey
from bridge.wire.frames import LENGTH_BYTES, RequestHeader, request_frame

TIMEOUT_S = 60.0
READ_BYTES = 65_536
BODIES: dict[int, bytes] = {
    ApiKey.API_VERSIONS: b"",
    # No topics and three booleans: the smallest question that goes to the broker.
    ApiKey.METADATA: bytes(7),
}


class Crowd:
    """Open connections."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._address = address
        self._sockets: list[socket.socket] = []

    def open(self, count: int) -> None:
        """Open all at once: every connect is under way before one is awaited. Raises OSError for any that fails."""
        waiting = select.epoll()
        by_fd: dict[int, socket.socket] = {}
        for _ in range(count):
            one = socket.socket()
            one.setblocking(False)
            one.connect_ex(self._address)
            by_fd[one.fileno()] = one
            waiting.register(one.fileno(), select.EPOLLOUT)
        self._sockets += by_fd.values()
        end = time.monotonic() + TIMEOUT_S
        while by_fd:
            if time.monotonic() > end:
                raise TimeoutError(f"{len(by_fd)} of {count} connections were not open after {TIMEOUT_S:.0f} s")
            for descriptor, _ in waiting.poll(1.0):
                error = by_fd.pop(descriptor).getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                waiting.unregister(descriptor)
                if error:
                    raise OSError(error, f"a connection failed, {len(by_fd)} were still to come")

    def ask(self, api_key: int, version: int) -> None:
        """One request on each connection, all sent before the first answer is read. Raises ConnectionError."""
        frame = request_frame(RequestHeader(0, api_key, version, 1, "idle", 0), BODIES[api_key])
        for one in self._sockets:
            one.setblocking(True)
            one.settimeout(TIMEOUT_S)
            one.sendall(frame)
        for one in self._sockets:
            wanted = LENGTH_BYTES
            received = b""
            while len(received) < wanted:
                data = one.recv(READ_BYTES)
                if not data:
                    raise ConnectionError("a connection was closed instead of answered")
                received += data
                if len(received) >= LENGTH_BYTES:
                    wanted = LENGTH_BYTES + int.from_bytes(received[:LENGTH_BYTES])

    def close(self) -> None:
        """Close all."""
        while self._sockets:
            self._sockets.pop().close()


def main(arguments: Sequence[str]) -> None:
    """Obey until the standard input ends."""
    host, _, port = arguments[0].rpartition(":")
    crowd = Crowd((host, int(port)))
    print("ready", flush=True)
    for line in sys.stdin:
        begin = time.monotonic()
        match line.split():
            case ["open", count]:
                crowd.open(int(count))
            case ["ask", key, version]:
                crowd.ask(int(key), int(version))
            case _:
                crowd.close()
        print(time.monotonic() - begin, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
