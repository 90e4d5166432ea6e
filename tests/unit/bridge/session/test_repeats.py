"""Heartbeats that come again."""

from hypothesis import given
from hypothesis import strategies as st

from bridge.session.repeats import Repeat
from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import encode_request
from bridge.wire.heartbeat import heartbeat_reply
from translators.dialects.classic import Heartbeat
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId

REQUEST = Heartbeat(GroupId("orders"), 3, MemberId("m"), None)
CORRELATION_IDS = st.integers(-(2**31), 2**31 - 1)


def frame(version: int, correlation_id: int, request: Heartbeat = REQUEST, client_id: str = "client") -> bytes:
    """A heartbeat as a client sends it."""
    return encode_request(ApiKey.HEARTBEAT, version, correlation_id, client_id, request)


@given(st.integers(0, 4), CORRELATION_IDS, CORRELATION_IDS)
def test_repeated_frame_gets_the_answer_of_the_codec(version: int, first: int, second: int) -> None:
    """All that differs is the correlation id, and the answer carries it back."""
    repeat, again = Repeat(frame(version, first), version, REQUEST), frame(version, second)
    assert repeat.is_like(again)
    assert repeat.answer_to(again) == heartbeat_reply(version, second, ErrorCode.NONE)


def test_frame_that_asks_otherwise_is_not_like_it() -> None:
    """Another generation, client id or version of the same length is another question."""
    repeat = Repeat(frame(3, 1), 3, REQUEST)
    others = [
        frame(3, 1, Heartbeat(REQUEST.group_id, 4, REQUEST.member_id, None)),
        frame(3, 1, client_id="eilcnt"),
        frame(3, 1).replace(b"\x00\x0c\x00\x03", b"\x00\x0c\x00\x02"),
    ]
    for other in others:
        assert len(other) == len(frame(3, 1))
        assert not repeat.is_like(other)
