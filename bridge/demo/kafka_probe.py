"""Whether a broker answers: one ApiVersions request over a plain socket, and which APIs it names.

It knows the bytes of that one request, and must not know who started the broker.
"""

import socket
import struct

API_VERSIONS_KEY = 18
CORRELATION_ID = 1
CLIENT_ID = b"epochbridge-probe"
TIMEOUT_S = 5.0
REPLY_BYTES_MAX = 65_536


def encode_request() -> bytes:
    """Return a framed ApiVersions v0 request: the one version that every broker since 0.10 understands."""
    header = struct.pack(">hhih", API_VERSIONS_KEY, 0, CORRELATION_ID, len(CLIENT_ID)) + CLIENT_ID
    return struct.pack(">i", len(header)) + header


def decode_reply(body: bytes) -> dict[int, tuple[int, int]]:
    """Return api key -> (lowest, highest version) from an ApiVersions v0 reply; raise ValueError if it isn't one."""
    try:
        correlation_id, error, count = struct.unpack_from(">ihi", body)
        entries = list(struct.iter_unpack(">hhh", body[10:]))
    except struct.error as fault:
        raise ValueError(f"{len(body)} bytes are no ApiVersions reply") from fault
    if correlation_id != CORRELATION_ID or error != 0 or count != len(entries):
        raise ValueError(f"reply {correlation_id}, error {error}, {len(entries)} of {count} APIs")
    return {key: (low, high) for key, low, high in entries}


def receive_exactly(connection: socket.socket, count: int) -> bytes:
    """Receive that many bytes; raise ConnectionError if the peer closes before."""
    received = b""
    while len(received) < count:
        chunk = connection.recv(count - len(received))
        if not chunk:
            raise ConnectionError(f"closed after {len(received)} of {count} bytes")
        received += chunk
    return received


def ask_api_versions(host: str, port: int) -> dict[int, tuple[int, int]]:
    """Ask one broker which APIs it offers; raise OSError if it isn't reached and ValueError if it answers nonsense."""
    with socket.create_connection((host, port), timeout=TIMEOUT_S) as connection:
        connection.sendall(encode_request())
        (size,) = struct.unpack(">i", receive_exactly(connection, 4))
        if not 0 < size <= REPLY_BYTES_MAX:
            raise ValueError(f"a reply of {size} bytes")
        return decode_reply(receive_exactly(connection, size))
