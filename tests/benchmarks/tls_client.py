"""One connection, inside TLS or not, that produces or consumes a number of bytes, a megabyte at a time, as a program.

It must not know what stands before the broker; arguments: HOST:PORT, a file of authorities or `plain`.
Commands, one a line: `produce MEGABYTES`, `consume MEGABYTES`; each is answered with the seconds it took.
"""

import socket
import ssl
import sys
import time
from collections.abc import Sequence

from bridge.wire.apis import ApiKey
from tests.benchmarks.tls_broker import ANSWER_BYTES, PLAIN
from tests.support.scripted_broker import request

READ_BYTES = 1 << 20
NO_TRANSACTION, ALL_REPLICAS = b"\xff\xff", b"\xff\xff"
FRAMES = {
    "consume": request(ApiKey.FETCH, 11, 1),
    "produce": request(ApiKey.PRODUCE, 3, 1, NO_TRANSACTION + ALL_REPLICAS + bytes(ANSWER_BYTES)),
}


def connect(address: str, trust: str) -> socket.socket:
    """A connection to the bootstrap listener."""
    host, _, port = address.rpartition(":")
    plain = socket.create_connection((host, int(port)))
    if trust == PLAIN:
        return plain
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(trust)
    return context.wrap_socket(plain, server_hostname=host)


def ask(client: socket.socket, frame: bytes, buffer: memoryview) -> None:
    """Send one request and take its answer."""
    client.sendall(frame)
    received, wanted = 0, 4
    head = b""
    while received < wanted:
        count = client.recv_into(buffer)
        if not count:
            raise SystemExit("the connection was closed instead of an answer given")
        if len(head) < 4:
            head = (head + bytes(buffer[: 4 - len(head)]))[:4]
            wanted = 4 + int.from_bytes(head, "big") if len(head) == 4 else 4
        received += count


def main(arguments: Sequence[str]) -> None:
    """Do what each line says."""
    client, buffer = connect(arguments[0], arguments[1]), memoryview(bytearray(READ_BYTES))
    print("ready", flush=True)
    for line in sys.stdin:
        verb, megabytes = line.split()
        begin = time.monotonic()
        for _ in range(int(megabytes)):
            ask(client, FRAMES[verb], buffer)
        print(time.monotonic() - begin, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
