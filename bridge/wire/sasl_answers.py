"""The two SASL requests as whoever is logged in at reads them, and the answers to them (KIP-43, KIP-152, KIP-368)."""

from collections.abc import Sequence

from bridge.wire.apis import ApiKey, api_name
from bridge.wire.cursor import Cursor
from bridge.wire.frames import FrameBytes, RequestHeader, response_frame
from bridge.wire.packing import INT16, INT32, INT64, NO_TAGS, nullable_string, uvarint
from bridge.wire.sasl import FIRST_FLEXIBLE, FIRST_WITH_LIFETIME
from translators.dialects.errors import ErrorCode


def read_mechanism(header: RequestHeader, frame: FrameBytes) -> str:
    """The mechanism that a whole SaslHandshake asks for. Raises MalformedFrame."""
    name = api_name(ApiKey.SASL_HANDSHAKE)
    return Cursor(frame, header.body_offset, name, header.api_version, flexible=False).string("mechanism")


def read_token(header: RequestHeader, frame: FrameBytes) -> bytes:
    """What a whole SaslAuthenticate says. Raises MalformedFrame."""
    version = header.api_version
    is_flexible = version >= FIRST_FLEXIBLE
    cursor = Cursor(frame, header.body_offset, api_name(ApiKey.SASL_AUTHENTICATE), version, flexible=is_flexible)
    size = cursor.uvarint("auth_bytes") - 1 if is_flexible else cursor.int32("auth_bytes")
    return cursor.take(max(0, size), "auth_bytes")


def handshake_answer(header: RequestHeader, code: ErrorCode, mechanisms: Sequence[str]) -> bytes:
    """Whether a mechanism is taken, and those that are."""
    names = b"".join(nullable_string(name, flexible=False) for name in mechanisms)
    body = INT16.pack(code) + INT32.pack(len(mechanisms)) + names
    return response_frame(ApiKey.SASL_HANDSHAKE, header.api_version, header.correlation_id, body)


def authenticate_answer(
    header: RequestHeader, code: ErrorCode, message: str | None, token: bytes, lifetime_ms: int = 0
) -> bytes:
    """The word on a token, with a token in return, and how long the login lasts that it ends; 0: for ever."""
    version = header.api_version
    is_flexible = version >= FIRST_FLEXIBLE
    size = uvarint(len(token) + 1) if is_flexible else INT32.pack(len(token))
    body = INT16.pack(code) + nullable_string(message, flexible=is_flexible) + size + token
    if version >= FIRST_WITH_LIFETIME:
        body += INT64.pack(lifetime_ms)
    if is_flexible:
        body += NO_TAGS
    return response_frame(ApiKey.SASL_AUTHENTICATE, version, header.correlation_id, body)
