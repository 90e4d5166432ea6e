"""Logins by SaslHandshake 0 (KIP-43): what follows it is bare tokens, each behind its length and without a header.

Each is made the SaslAuthenticate that a client of SaslHandshake 1 would send (KIP-152), so that brokers, and those here
who answer or read logins, see no other kind; and its answer the bare token that this client waits for.
"""

from typing import NamedTuple, Self

from bridge.session.proven_login import STEPS
from bridge.wire.errors import UNKNOWN_API, UNKNOWN_VERSION, MalformedFrame
from bridge.wire.frames import (
    LENGTH_BYTES,
    REQUEST_VERSION_OFFSET,
    FrameBytes,
    RequestHeader,
    read_request_header,
)
from bridge.wire.packing import INT16, INT32
from bridge.wire.sasl import (
    AUTHENTICATE_VERSION,
    HANDSHAKE_VERSION,
    authenticate_request,
    read_answer_token,
    read_mechanism,
)


class BareToken(RequestHeader):
    """The header of a SaslAuthenticate that was made of a token without one."""

    __slots__ = ()


class RawLogin(NamedTuple):
    """A login whose handshake has come; so many tokens are to come of it."""

    client_id: str
    steps_left: int

    @classmethod
    def begun_by(cls, header: RequestHeader, frame: FrameBytes) -> Self | None:
        """The login that a whole SaslHandshake begins, None for mechanisms of which nobody here can say how many tokens
        they have: behind the last one frames begin, which look like nothing else. Raises MalformedFrame.
        """
        mechanism = read_mechanism(header, frame)
        steps = next((steps for known, steps in STEPS.items() if known == mechanism), None)
        return None if steps is None else cls(header.client_id or "", steps)

    def after_token(self) -> "RawLogin | None":
        """The login once one more token has come; None: the next bytes are frames."""
        return None if self.steps_left == 1 else self._replace(steps_left=self.steps_left - 1)

    def request(self, token: bytes) -> tuple[RequestHeader, bytes]:
        """The request that says the same as a token, with its header."""
        frame = authenticate_request(token, self.client_id)
        header = read_request_header(frame)
        assert header is not None, "it is whole"
        return BareToken(*header), frame


def said_as_next(header: RequestHeader, frame: FrameBytes) -> tuple[RequestHeader, bytes]:
    """A SaslHandshake 0 as version 1, with its header: they differ in what follows, and their answers in nothing."""
    version = INT16.pack(HANDSHAKE_VERSION)
    end = REQUEST_VERSION_OFFSET + len(version)
    told = bytes(frame[:REQUEST_VERSION_OFFSET]) + version + bytes(frame[end:])
    return header._replace(api_version=HANDSHAKE_VERSION), told


def token_end(held: FrameBytes, bytes_max: int) -> int:
    """Where a token ends that begins like this, as far as that is known. Raises MalformedFrame."""
    if len(held) < LENGTH_BYTES:
        return LENGTH_BYTES
    length: int = INT32.unpack_from(held)[0]
    if not 0 <= length <= bytes_max:
        reason = f"a token of {length} bytes, at most {bytes_max} are read"
        raise MalformedFrame(UNKNOWN_API, UNKNOWN_VERSION, "length", 0, reason)
    return LENGTH_BYTES + length


def bare_answer(frame: FrameBytes) -> bytes | None:
    """What is said to a bare token, of the answer to the request that was made of it; None: the login is refused, which
    such a client hears by the end of its connection alone. Raises MalformedFrame.
    """
    token = read_answer_token(frame, AUTHENTICATE_VERSION)
    return None if token is None else INT32.pack(len(token)) + token
