"""Cutting what a client sends."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.session.close_reasons import CloseReason
from bridge.session.limits import Limits
from bridge.session.requests import (
    KNOWN_HEADER_BYTES_MAX,
    Head,
    Rejected,
    RequestCutter,
    Rest,
    held_whole,
    never,
    produce_is_answered,
)
from bridge.wire.apis import ApiKey
from bridge.wire.frames import read_request_header
from bridge.wire.sasl import authenticate_request
from tests.support.scripted_broker import request

ACKS_ALL = b"\xff\xff\xff\xff"
FRAMES = (
    request(ApiKey.FETCH, 11, 1, b"fetch" * 40),
    request(ApiKey.JOIN_GROUP, 5, 2, b"join" * 30),
    request(ApiKey.PRODUCE, 7, 3, ACKS_ALL + bytes(500)),
    request(ApiKey.API_VERSIONS, 3, 4, b"\x05test\x021\x00"),
    request(ApiKey.METADATA, 9, 5, bytes(70), client_id=""),
)


def cut_all(cutter: RequestCutter, chunks: list[bytes]) -> list[tuple[int, bytes]]:
    """Api key and all bytes of each request, as put together from the pieces."""
    requests: list[tuple[int, bytes]] = []
    for chunk in chunks:
        view, position = memoryview(chunk), 0
        while (piece := cutter.cut(view, position)) is not None:
            position = cutter.position
            if isinstance(piece, Head):
                requests.append((piece.header.api_key, bytes(piece.data)))
            elif isinstance(piece, Rest):
                key, before = requests[-1]
                requests[-1] = (key, before + bytes(piece.data))
            else:
                raise AssertionError(piece)
    return requests


@given(st.data())
def test_any_chunking_gives_the_same_requests(data: st.DataObject) -> None:
    """Where a receive ends has no meaning, and no byte is lost, doubled or moved to another request."""
    stream = b"".join(FRAMES)
    ends = sorted(data.draw(st.sets(st.integers(1, len(stream) - 1), max_size=40)))
    chunks = [stream[a:b] for a, b in zip([0, *ends], [*ends, len(stream)], strict=True)]
    cutter = RequestCutter(Limits())
    keys = [ApiKey.FETCH, ApiKey.JOIN_GROUP, ApiKey.PRODUCE, ApiKey.API_VERSIONS, ApiKey.METADATA]
    assert cut_all(cutter, chunks) == list(zip(keys, FRAMES, strict=True))
    assert (cutter.bytes_held, cutter.bytes_to_pass_on, cutter.heads_cut) == (0, 0, len(FRAMES))


@given(
    st.lists(
        st.tuples(
            st.sampled_from(
                [(ApiKey.HEARTBEAT, 3), (ApiKey.HEARTBEAT, 4), (ApiKey.SYNC_GROUP, 3), (ApiKey.SYNC_GROUP, 4)]
            ),
            st.integers(-(2**31), 2**31 - 1),
            st.sampled_from(["", "client", "another", "c" * KNOWN_HEADER_BYTES_MAX]),
            st.integers(0, 40),
        ),
        max_size=12,
    )
)
def test_header_like_the_last_is_what_it_would_be_if_it_was_read(
    requests: list[tuple[tuple[int, int], int, str, int]],
) -> None:
    """Api, version, client id, length and correlation id, in whatever order requests come."""
    cutter = RequestCutter(Limits())
    for (key, version), correlation_id, client_id, size in requests:
        frame = request(key, version, correlation_id, bytes(size), client_id=client_id)
        head = cutter.cut(memoryview(frame), 0)
        assert isinstance(head, Head)
        assert head.header == read_request_header(frame)


def test_relayed_request_is_cut_at_its_header_and_group_request_when_whole() -> None:
    """Only what may be answered here is held; the rest of a relayed frame is passed on unread."""
    cutter = RequestCutter(Limits())
    fetch = request(ApiKey.FETCH, 11, 1, bytes(1000))
    head = cutter.cut(memoryview(fetch[:30]), 0)
    assert isinstance(head, Head)
    assert (bytes(head.data), head.left, cutter.bytes_held) == (fetch[:30], len(fetch) - 30, 0)
    cutter.pass_on(head.left)
    join = FRAMES[1]
    assert cutter.cut(memoryview(join[:-1]), 0) is None
    assert cutter.bytes_held == len(join) - 1
    whole = cutter.cut(memoryview(join[-1:]), 0)
    assert isinstance(whole, Head)
    assert (bytes(whole.data), whole.left, cutter.bytes_held) == (join, 0, 0)


def test_group_request_over_its_limit_is_rejected_before_it_is_held() -> None:
    """One byte at the limit passes, one beyond is refused by its length alone; offsets have their own limit."""
    body = 100 - 10 - len("client")
    limits = Limits(group_frame_bytes_max=100, offsets_frame_bytes_max=101)
    assert isinstance(RequestCutter(limits).cut(memoryview(request(ApiKey.JOIN_GROUP, 5, 1, bytes(body))), 0), Head)
    beyond = request(ApiKey.JOIN_GROUP, 5, 1, bytes(body + 1))
    rejected = RequestCutter(limits).cut(memoryview(beyond[:20]), 0)
    assert isinstance(rejected, Rejected)
    assert rejected.reason is CloseReason.GROUP_FRAME_TOO_LARGE
    commit = request(ApiKey.OFFSET_COMMIT, 7, 1, bytes(body + 1))
    assert isinstance(RequestCutter(limits).cut(memoryview(commit), 0), Head)


def test_frame_over_the_limit_is_rejected_by_its_length() -> None:
    """Nothing of a frame beyond frame_bytes_max is waited for."""
    cutter = RequestCutter(Limits(frame_bytes_max=50))
    rejected = cutter.cut(memoryview(request(ApiKey.FETCH, 11, 1, bytes(100)))[:4], 0)
    assert isinstance(rejected, Rejected)
    assert rejected.reason is CloseReason.FRAME_TOO_LARGE


def test_acks_are_found_behind_long_ids() -> None:
    """A Produce request is decided on as soon as its acks are there, however long the transactional id."""
    body = (30_000).to_bytes(2, "big") + b"t" * 30_000 + b"\x00\x00" + bytes(50)
    frame = request(ApiKey.PRODUCE, 7, 1, body, client_id="c" * 30_000)
    cutter = RequestCutter(Limits())
    ((_, got),) = cut_all(cutter, [frame[at : at + 999] for at in range(0, len(frame), 999)])
    assert got == frame
    header = read_request_header(frame)
    assert header is not None
    assert produce_is_answered(header, frame) is False


def test_only_apis_that_may_be_answered_here_are_held_whole() -> None:
    """The data path and metadata are never held."""
    assert held_whole(ApiKey.JOIN_GROUP)
    assert not any(held_whole(key) for key in (ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.METADATA, 9_999))


def test_fetch_is_held_whole_only_while_somebody_reads_it_and_never_a_large_one() -> None:
    """What nobody waits for is not looked at; what is too large to hold is relayed as ever."""
    fetch = request(ApiKey.FETCH, 11, 1, bytes(1000))
    reading = RequestCutter(Limits(), reads_fetch=lambda: True)
    assert reading.cut(memoryview(fetch[:500]), 0) is None
    head = reading.cut(memoryview(fetch[500:]), 0)
    assert isinstance(head, Head)
    assert (bytes(head.data), head.left) == (fetch, 0)
    small = RequestCutter(Limits(group_frame_bytes_max=1000), reads_fetch=lambda: True)
    large = small.cut(memoryview(fetch[:500]), 0)
    assert isinstance(large, Head)
    assert large.left == len(fetch) - 500
    assert not never()


def test_request_for_settings_is_held_whole_unless_it_is_large() -> None:
    """One that asks for every topic of a cluster goes to the broker as it comes, and closes no connection."""
    asked = request(ApiKey.DESCRIBE_CONFIGS, 4, 1, bytes(1000))
    assert RequestCutter(Limits()).cut(memoryview(asked[:500]), 0) is None
    large = RequestCutter(Limits(group_frame_bytes_max=1000)).cut(memoryview(asked[:500]), 0)
    assert isinstance(large, Head)
    assert large.left == len(asked) - 500


def test_request_for_records_is_held_up_to_the_size_of_its_answer_where_that_is_held() -> None:
    """So that the size can be lowered; older versions of Fetch are relayed unread, from their header on."""
    body = bytes(12) + bytes(1000)
    held, relayed = (request(ApiKey.FETCH, version, 1, body) for version in (16, 15))
    for frame, most in ((held, 1000), (relayed, 1012)):
        cutter = RequestCutter(Limits())
        cuts = (cutter.cut(memoryview(bytes((byte,))), 0) for byte in frame[:-1000])
        head = next(cut for cut in cuts if cut is not None)
        assert isinstance(head, Head)
        assert head.left == most


RAW = request(ApiKey.SASL_HANDSHAKE, 0, 1, b"\x00\x0dSCRAM-SHA-256")
TOKENS = (b"n,,n=me,r=1", b"c=biws,r=12,p=x")


@given(st.data())
def test_tokens_without_headers_are_cut_as_requests_of_their_own(data: st.DataObject) -> None:
    """Behind SaslHandshake 0, wherever a receive ends; frames come behind the last token of the mechanism."""
    stream = RAW + b"".join(len(token).to_bytes(4, "big") + token for token in TOKENS) + FRAMES[0]
    ends = sorted(data.draw(st.sets(st.integers(1, len(stream) - 1), max_size=40)))
    chunks = [stream[a:b] for a, b in zip([0, *ends], [*ends, len(stream)], strict=True)]
    cutter = RequestCutter(Limits())
    assert cut_all(cutter, chunks) == [
        (ApiKey.SASL_HANDSHAKE, request(ApiKey.SASL_HANDSHAKE, 1, 1, b"\x00\x0dSCRAM-SHA-256")),
        *((ApiKey.SASL_AUTHENTICATE, authenticate_request(token, "client")) for token in TOKENS),
        (ApiKey.FETCH, FRAMES[0]),
    ]
    assert (cutter.bytes_held, cutter.bytes_to_pass_on, cutter.heads_cut) == (0, 0, 4)


def test_raw_login_that_can_not_be_followed_ends_its_connection() -> None:
    """Another mechanism, and a token longer than a request may be, or of no length."""
    other = RequestCutter(Limits()).cut(memoryview(request(ApiKey.SASL_HANDSHAKE, 0, 1, b"\x00\x06GSSAPI")), 0)
    assert isinstance(other, Rejected)
    assert other.reason is CloseReason.RAW_SASL
    for length, reason in ((101, CloseReason.UNAUTHENTICATED_FRAME), (-1, CloseReason.FRAME_TOO_SHORT)):
        cutter = RequestCutter(Limits())
        cutter.frame_bytes_max = 100
        assert isinstance(cutter.cut(memoryview(RAW), 0), Head)
        refused = cutter.cut(memoryview(length.to_bytes(4, "big", signed=True)), 0)
        assert isinstance(refused, Rejected)
        assert refused.reason is reason


def claimed(api_key: int, version: int, size: int) -> bytes:
    """The beginning of a request that says that it has so many bytes."""
    frame = request(api_key, version, 1, b"\x00\x0dSCRAM-SHA-256" + bytes(300_000))
    return size.to_bytes(4, "big") + frame[4:]


HUNDRED_MIB = Limits().frame_bytes_max


@pytest.mark.parametrize("reads_fetch", [False, True])
@pytest.mark.parametrize("api_key", [*ApiKey, 10_000])
def test_no_request_is_held_that_is_as_long_as_requests_may_be(api_key: int, reads_fetch: bool) -> None:
    """Whatever it asks: those that are held whole have bounds of their own, and of others their beginning is read."""
    for version in range(19):
        cutter = RequestCutter(Limits(), reads_fetch=lambda: reads_fetch)
        cut = cutter.cut(memoryview(claimed(api_key, version, HUNDRED_MIB)), 0)
        assert isinstance(cut, (Head, Rejected)), (version, cutter.bytes_held)
        assert not isinstance(cut, Head) or cut.left, version


def test_no_token_without_header_is_held_that_is_as_long_as_requests_may_be() -> None:
    """On a cluster without logins, too, where everybody may send requests of 100 MiB."""
    cutter = RequestCutter(Limits())
    assert isinstance(cutter.cut(memoryview(RAW), 0), Head)
    refused = cutter.cut(memoryview(HUNDRED_MIB.to_bytes(4, "big")), 0)
    assert isinstance(refused, Rejected)
    assert refused.reason is CloseReason.UNAUTHENTICATED_FRAME


def test_frames_come_behind_a_handshake_that_was_refused() -> None:
    """As on a listener without logins, whose client may ask other things."""
    cutter = RequestCutter(Limits())
    assert isinstance(cutter.cut(memoryview(RAW), 0), Head)
    cutter.read_frames()
    found = cutter.cut(memoryview(FRAMES[0]), 0)
    assert isinstance(found, Head)
    assert found.header.api_key == ApiKey.FETCH
