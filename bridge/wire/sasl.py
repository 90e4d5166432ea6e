"""The two SASL requests and their answers (KIP-43, KIP-152, KIP-368), for who logs in and for who is logged in at."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from bridge.wire.apis import ApiKey, api_name
from bridge.wire.cursor import Cursor
from bridge.wire.frames import (
    RESPONSE_CORRELATION_OFFSET,
    FrameBytes,
    RequestHeader,
    read_response_header,
    request_frame,
    response_frame,
)
from bridge.wire.packing import INT16, INT32, INT64, NO_TAGS, nullable_string, uvarint
from translators.dialects.errors import ErrorCode, code_of

# --------------------------------------------------------------------------------------------- sasl
# How the bridge says who it is: the two SASL requests and their answers (KIP-152), and what PLAIN puts into them.

HANDSHAKE_VERSION = 1
AUTHENTICATE_VERSION = 0


class Mechanism(StrEnum):
    """The mechanisms by which the bridge itself can log in."""

    PLAIN = "PLAIN"
    SCRAM_SHA_256 = "SCRAM-SHA-256"
    SCRAM_SHA_512 = "SCRAM-SHA-512"
    OAUTHBEARER = "OAUTHBEARER"


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """Who the bridge is to the cluster; the password is never shown."""

    mechanism: Mechanism
    username: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class BearerToken:
    """A token that says who the bridge is; it is never shown."""

    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class HandshakeAnswer:
    """Whether the broker takes a mechanism, and those it takes."""

    error: ErrorCode
    mechanisms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AuthenticateAnswer:
    """The broker's word on a token, with a token of its own; `lifetime_ms` of the login that it ends, 0 for ever."""

    error: ErrorCode
    message: str
    token: bytes = field(repr=False)
    lifetime_ms: int = 0


def handshake_request(mechanism: Mechanism, client_id: str) -> bytes:
    """Ask for a mechanism; the answer to version 1 announces SaslAuthenticate requests."""
    text = mechanism.encode()
    return request_frame(_header(ApiKey.SASL_HANDSHAKE, HANDSHAKE_VERSION, client_id), INT16.pack(len(text)) + text)


def read_handshake(frame: FrameBytes) -> HandshakeAnswer:
    """Read the answer, length prefix included. Raises MalformedFrame."""
    cursor = _body(frame, ApiKey.SASL_HANDSHAKE, HANDSHAKE_VERSION)
    error = _code(cursor)
    count = cursor.int32("mechanisms")
    return HandshakeAnswer(error, tuple(_text(cursor, "mechanisms") for _ in range(max(count, 0))))


def is_refused(frame: FrameBytes) -> bool:
    """Whether an answer to SaslHandshake takes no mechanism; what can't be read is for the client to judge."""
    end = RESPONSE_CORRELATION_OFFSET + INT32.size + INT16.size
    return len(frame) < end or bytes(frame[end - INT16.size : end]) != INT16.pack(ErrorCode.NONE)


def authenticate_request(token: bytes, client_id: str, version: int = AUTHENTICATE_VERSION) -> bytes:
    """Send a token of the mechanism, in a version before the flexible ones."""
    header = _header(ApiKey.SASL_AUTHENTICATE, version, client_id)
    return request_frame(header, INT32.pack(len(token)) + token)


def read_authenticate(frame: FrameBytes, version: int = AUTHENTICATE_VERSION) -> AuthenticateAnswer:
    """Read the answer to such a request, length prefix included. Raises MalformedFrame."""
    cursor = _body(frame, ApiKey.SASL_AUTHENTICATE, version)
    error = _code(cursor)
    message = _text(cursor, "error_message")
    token = cursor.take(max(0, cursor.int32("auth_bytes")), "auth_bytes")
    lifetime_ms = cursor.int64("session_lifetime_ms") if version >= FIRST_WITH_LIFETIME else 0
    return AuthenticateAnswer(error, message, token, lifetime_ms)


FIRST_WITH_LIFETIME = 1
FIRST_FLEXIBLE = 2


def read_lifetime_ms(frame: FrameBytes, version: int) -> int:
    """How long the login lasts that an answer to SaslAuthenticate ends (KIP-368); 0 where it ends none, or has no end.

    Raises MalformedFrame.
    """
    if version < FIRST_WITH_LIFETIME:
        return 0
    header = read_response_header(frame, ApiKey.SASL_AUTHENTICATE, version)
    offset = len(frame) if header is None else header.body_offset
    name = api_name(ApiKey.SASL_AUTHENTICATE)
    cursor = Cursor(frame, offset, name, version, flexible=version >= FIRST_FLEXIBLE)
    error = _code(cursor)
    cursor.nullable_string("error_message")
    cursor.skip_bytes("auth_bytes")
    return 0 if error is not ErrorCode.NONE else cursor.int64("session_lifetime_ms")


class Step(StrEnum):
    """What an answer to SaslAuthenticate means to a login."""

    REFUSED = "refused"
    MIDDLE = "middle"
    LAST = "last"


_MIDDLE = re.compile(rb"[rm]=|\s*\{\s*\"status\"")
"""How a broker goes on that knows nothing yet: SCRAM's challenge (RFC 5802), OAUTHBEARER's word that it takes no such
token (RFC 7628), which the client has to acknowledge before it is refused.
"""


def read_answer_token(frame: FrameBytes, version: int) -> bytes | None:
    """The token of a broker's answer to SaslAuthenticate, empty where it has none; None: it refuses.

    Raises MalformedFrame.
    """
    header = read_response_header(frame, ApiKey.SASL_AUTHENTICATE, version)
    offset = len(frame) if header is None else header.body_offset
    is_flexible = version >= FIRST_FLEXIBLE
    cursor = Cursor(frame, offset, api_name(ApiKey.SASL_AUTHENTICATE), version, flexible=is_flexible)
    if _code(cursor) is not ErrorCode.NONE:
        return None
    cursor.nullable_string("error_message")
    size = cursor.uvarint("auth_bytes") - 1 if is_flexible else cursor.int32("auth_bytes")
    return cursor.take(max(0, size), "auth_bytes")


def read_step(frame: FrameBytes, version: int) -> Step:
    """Whether a broker refuses a login, wants more, or is done, of its answer to SaslAuthenticate; of other mechanisms
    the first step that is not refused counts as the last: their first token proves something. Raises MalformedFrame.
    """
    token = read_answer_token(frame, version)
    if token is None:
        return Step.REFUSED
    return Step.MIDDLE if _MIDDLE.match(token) else Step.LAST


_SCRAM_FIRST = re.compile(rb"[ny](?:=[^,]*)?,[^,]*,n=([^,]*),r=")
"""What a client says first in SCRAM (RFC 5802): flags of channel binding, an authorization id, its name, a nonce."""


def read_username(header: RequestHeader, frame: FrameBytes) -> str | None:
    """The name that a client logs in with, of a whole SaslAuthenticate request: by PLAIN, or the first step of SCRAM.

    None where the token tells none: other mechanisms, later steps. Raises MalformedFrame.
    """
    version = header.api_version
    is_flexible = version >= FIRST_FLEXIBLE
    name = api_name(ApiKey.SASL_AUTHENTICATE)
    cursor = Cursor(frame, header.body_offset, name, version, flexible=is_flexible)
    size = cursor.uvarint("auth_bytes") - 1 if is_flexible else cursor.int32("auth_bytes")
    token = cursor.take(max(0, size), "auth_bytes")
    scram = _SCRAM_FIRST.match(token)
    if scram is not None:
        return scram.group(1).decode(errors="replace").replace("=2C", ",").replace("=3D", "=")
    parts = token.split(b"\0")
    return parts[1].decode(errors="replace") if len(parts) == 3 else None


def plain_token(credentials: Credentials) -> bytes:
    """The one token of PLAIN (RFC 4616): no authorization id, name and password."""
    return f"\0{credentials.username}\0{credentials.password}".encode()


def bearer_token(proof: BearerToken) -> bytes:
    """What OAUTHBEARER says first (RFC 7628): the token, and no name that one asks to be."""
    return f"n,,\x01auth=Bearer {proof.token}\x01\x01".encode()


BEARER_GIVES_UP = b"\x01"
"""What a client says to the reasons of a broker that takes no token of its own: then the broker ends it."""


def _header(api_key: ApiKey, version: int, client_id: str) -> RequestHeader:
    return RequestHeader(0, api_key, version, 0, client_id, 0)


def _body(frame: FrameBytes, api_key: ApiKey, version: int) -> Cursor:
    header = read_response_header(frame, api_key, version)
    offset = len(frame) if header is None else header.body_offset
    return Cursor(frame, offset, api_name(api_key), version, flexible=False)


def _code(cursor: Cursor) -> ErrorCode:
    return code_of(cursor.int16("error_code"))


def _text(cursor: Cursor, field_name: str) -> str:
    """A string of the plain form; null is empty."""
    size = cursor.int16(field_name)
    return "" if size < 0 else cursor.take(size, field_name).decode(errors="replace")


# ------------------------------------------------------------------------------------- sasl answers
# The two SASL requests as whoever is logged in at reads them, and the answers to them (KIP-43, KIP-152, KIP-368).


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
