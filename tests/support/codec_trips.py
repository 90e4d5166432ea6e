"""One message over the wire and back, for the unit tests of the codecs."""

from bridge.wire.codec.registry import Reply, Request, decode_reply, decode_request, encode_reply, encode_request
from bridge.wire.frames import read_request_header


def request_trip(api_key: int, version: int, request: Request) -> Request:
    """What a coordinator reads of a request."""
    frame = encode_request(api_key, version, 1, "client", request)
    header = read_request_header(frame)
    assert header is not None
    return decode_request(api_key, version, frame[header.body_offset :])


def reply_trip(api_key: int, version: int, reply: Reply) -> Reply:
    """What a client reads of a reply."""
    return decode_reply(api_key, version, encode_reply(api_key, version, 1, reply)[4:])[1]
