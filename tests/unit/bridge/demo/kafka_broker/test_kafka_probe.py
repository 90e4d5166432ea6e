"""The one request that tells whether a broker answers."""

import socket
import struct
import threading
from collections.abc import Iterator

import pytest

from bridge.demo.kafka_broker import CORRELATION_ID, ask_api_versions, decode_probe, encode_probe

REPLY = struct.pack(">ihi", CORRELATION_ID, 0, 2) + struct.pack(">hhh", 11, 0, 9) + struct.pack(">hhh", 68, 0, 1)


def test_request_is_api_versions_0() -> None:
    """Length, key 18, version 0, correlation id, client id; the body of v0 is empty."""
    assert encode_probe() == b"\x00\x00\x00\x1b\x00\x12\x00\x00\x00\x00\x00\x01\x00\x11epochbridge-probe"


def test_reply_gives_ranges_by_key() -> None:
    """API key -> lowest and highest version."""
    assert decode_probe(REPLY) == {11: (0, 9), 68: (0, 1)}


@pytest.mark.parametrize("body", [b"", REPLY[:-1], REPLY[:-6], b"HTTP/1.1 400 Bad Request\r\n", b"\xff" * 10])
def test_other_bytes_are_no_reply(body: bytes) -> None:
    """Whatever else listens on the port is told from a broker."""
    with pytest.raises(ValueError, match=r"ApiVersions|APIs"):
        decode_probe(body)


@pytest.fixture
def answering() -> Iterator[tuple[socket.socket, list[bytes]]]:
    """A listener that answers its one visitor with the given bytes in single pieces, then hangs up."""
    pieces: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            visitor, _ = listener.accept()
            with visitor:
                visitor.recv(1024)
                for piece in pieces:
                    visitor.sendall(piece)

        thread = threading.Thread(target=answer)
        thread.start()
        yield listener, pieces
        thread.join()


def test_reply_in_pieces_is_put_together(answering: tuple[socket.socket, list[bytes]]) -> None:
    """TCP keeps no borders."""
    listener, pieces = answering
    framed = struct.pack(">i", len(REPLY)) + REPLY
    pieces.extend([framed[:2], framed[2:9], framed[9:]])
    assert ask_api_versions("127.0.0.1", listener.getsockname()[1]) == {11: (0, 9), 68: (0, 1)}


def test_hang_up_is_no_answer(answering: tuple[socket.socket, list[bytes]]) -> None:
    """A reply cut short is an OSError, so that the caller tries again."""
    listener, pieces = answering
    pieces.append(b"\x00\x00\x00\x20abc")
    with pytest.raises(ConnectionError, match="closed after 3 of 32 bytes"):
        ask_api_versions("127.0.0.1", listener.getsockname()[1])


def test_absurd_length_is_refused(answering: tuple[socket.socket, list[bytes]]) -> None:
    """Not a broker: nothing is allocated for its word."""
    listener, pieces = answering
    pieces.append(b"HTTP/1.1 400")
    with pytest.raises(ValueError, match="a reply of 1213486160 bytes"):
        ask_api_versions("127.0.0.1", listener.getsockname()[1])
