"""Asks one small thing over and over on some sockets, each the next one when the last was answered, as a program.

It must not know what stands between it and the broker; arguments: HOST:PORT, connections, topic.
Commands, one a line: `heartbeat 0 SECONDS`, `fetch BYTES SECONDS`; each is answered with a line of JSON. The Heartbeat
is that of a member that nobody knows, of a group on road `pass`: what it is answered is the broker's to say.
"""

import json
import select
import socket
import sys
import time
from collections.abc import Sequence
from struct import Struct

from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import encode_request
from bridge.wire.frames import LENGTH_BYTES, RequestHeader, request_frame
from translators.dialects.classic import Heartbeat
from translators.dialects.ids import GroupId, MemberId

HEARTBEAT_VERSION, FETCH_VERSION = 4, 11
READ_BYTES = 1 << 20
CLIENT_ID = "small-frames"
_FETCH = Struct(">iiiibii")
_PARTITION = Struct(">iiqqi")
STRANGER = Heartbeat(GroupId("passing"), 1, MemberId("A" * 22), None)


def fetch_request(topic: str, partition_bytes: int) -> bytes:
    """Fetch from the beginning of partition 0, outside a session."""
    name = topic.encode()
    body = b"".join(
        (
            _FETCH.pack(-1, 500, 1, partition_bytes, 0, 0, -1),
            (1).to_bytes(4) + len(name).to_bytes(2) + name + (1).to_bytes(4),
            _PARTITION.pack(0, -1, 0, -1, partition_bytes),
            (0).to_bytes(4) + (0).to_bytes(2),
        )
    )
    return request_frame(RequestHeader(0, ApiKey.FETCH, FETCH_VERSION, 7, CLIENT_ID, 0), body)


def ask_over_and_over(sockets: Sequence[socket.socket], frame: bytes, seconds: float) -> dict[str, float]:
    """How many answers of how many bytes came, and the median time to one."""
    epoll, by_descriptor = select.epoll(), {one.fileno(): one for one in sockets}
    sent_s, wanted = dict.fromkeys(by_descriptor, 0.0), dict.fromkeys(by_descriptor, 0)
    took_s: list[float] = []
    received_bytes = 0
    end = time.perf_counter() + seconds
    for descriptor, one in by_descriptor.items():
        epoll.register(descriptor, select.EPOLLIN)
        sent_s[descriptor] = time.perf_counter()
        one.sendall(frame)
    under_way = len(sockets)
    while under_way:
        for descriptor, _ in epoll.poll():
            received = by_descriptor[descriptor].recv(READ_BYTES)
            if not received:
                raise SystemExit("a connection was closed instead of an answer given")
            received_bytes += len(received)
            if not wanted[descriptor]:
                wanted[descriptor] = LENGTH_BYTES + int.from_bytes(received[:LENGTH_BYTES])
            wanted[descriptor] -= len(received)
            if wanted[descriptor]:
                continue
            now = time.perf_counter()
            took_s.append(now - sent_s[descriptor])
            if now < end:
                sent_s[descriptor] = now
                by_descriptor[descriptor].sendall(frame)
            else:
                under_way -= 1
    epoll.close()
    took_s.sort()
    return {"count": len(took_s), "bytes": received_bytes, "p50_us": took_s[len(took_s) // 2] * 1e6}


def main(arguments: Sequence[str]) -> None:
    """Connect, say `ready`, obey."""
    address, connections, topic = arguments
    host, _, port = address.rpartition(":")
    sockets = [socket.create_connection((host, int(port))) for _ in range(int(connections))]
    for one in sockets:
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    heartbeat = encode_request(ApiKey.HEARTBEAT, HEARTBEAT_VERSION, 7, CLIENT_ID, STRANGER)
    print("ready", flush=True)
    for line in sys.stdin:
        kind, size, seconds = line.split()
        frame = heartbeat if kind == "heartbeat" else fetch_request(topic, int(size))
        print(json.dumps(ask_over_and_over(sockets, frame, float(seconds))), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
