"""The size that a request for records allows its answer, for every version of Fetch and ShareFetch."""

from functools import partial

import pytest
from kafka.protocol.consumer.fetch import FetchRequest

from bridge.wire.apis import ApiKey
from bridge.wire.errors import MalformedFrame
from bridge.wire.fetch import asks_for_records, size_end, with_max_bytes
from bridge.wire.frames import RequestHeader, read_request_header, request_frame
from bridge.wire.packing import INT32, nullable_string
from tests.support.oracle_frames import cut_short, is_malformed, request_bytes

MIB = 1 << 20
VERSIONS = [*((ApiKey.FETCH, version) for version in range(4, 19)), (ApiKey.SHARE_FETCH, 1), (ApiKey.SHARE_FETCH, 2)]


def _frame(api_key: ApiKey, version: int, max_bytes: int, group: str = "orders") -> bytes:
    if api_key == ApiKey.FETCH:
        return request_bytes(
            FetchRequest(version=version, max_wait_ms=500, min_bytes=1, max_bytes=max_bytes, topics=[])
        )
    names = nullable_string(group, flexible=True) + nullable_string("m" * 22, flexible=True)
    numbers = b"".join(INT32.pack(number) for number in (3, 500, 1, max_bytes, 500, 100))
    rest = (b"\x00\x00" if version > 1 else b"") + b"\x01\x01\x00"
    return request_frame(RequestHeader(0, api_key, version, 7, "client-1", 0), names + numbers + rest)


def _header(frame: bytes) -> RequestHeader:
    header = read_request_header(frame)
    assert header is not None
    return header


@pytest.mark.parametrize(("api_key", "version"), VERSIONS)
def test_more_than_can_be_held_becomes_what_can(api_key: ApiKey, version: int) -> None:
    """Nothing else of the request changes; a negative size is one without bounds."""
    for asked in (50 * MIB, -1):
        frame = _frame(api_key, version, asked)
        assert with_max_bytes(_header(frame), frame, 24 * MIB) == _frame(api_key, version, 24 * MIB)


@pytest.mark.parametrize(("api_key", "version"), VERSIONS)
def test_less_stays(api_key: ApiKey, version: int) -> None:
    """The client's own bound is obeyed."""
    frame = _frame(api_key, version, MIB)
    assert with_max_bytes(_header(frame), frame, 24 * MIB) is None


@pytest.mark.parametrize(("api_key", "version"), VERSIONS)
def test_every_start_of_a_request_is_enough_or_says_that_it_is_not(api_key: ApiKey, version: int) -> None:
    """So much is held back and not a byte more is needed."""
    frame = _frame(api_key, version, 50 * MIB)
    header = _header(frame)
    end = size_end(header, frame)
    assert end is not None
    for count in range(header.body_offset, len(frame)):
        assert size_end(header, frame[:count]) == (None if count < end else end)
    assert with_max_bytes(header, frame[:end], MIB) == _frame(api_key, version, MIB)[:end]


def test_request_that_ends_before_its_size_is_refused() -> None:
    """Also when the bytes of the next one follow it."""
    frame = _frame(ApiKey.SHARE_FETCH, 2, MIB)
    end = size_end(_header(frame), frame)
    for short in cut_short(frame)[_header(frame).body_offset : (end or 0) - 4]:
        assert is_malformed(partial(size_end, _header(short), short + frame))


def test_size_that_never_comes_is_refused() -> None:
    """Two names can't be longer than strings are."""
    frame = _frame(ApiKey.SHARE_FETCH, 1, MIB, group="g" * 70_000)
    header = _header(frame)
    with pytest.raises(MalformedFrame):
        size_end(header, frame[: header.body_offset + 66_000])


def test_only_requests_for_records_have_a_size() -> None:
    """Fetch has one since version 3; where a version we don't know has it, nobody can say."""
    assert [asks_for_records(ApiKey.FETCH, version) for version in (2, 3, 18, 19)] == [False, True, True, False]
    assert [asks_for_records(ApiKey.SHARE_FETCH, version) for version in (0, 1, 2, 3)] == [False, True, True, False]
    assert not asks_for_records(ApiKey.SHARE_ACKNOWLEDGE, 2)
    assert not asks_for_records(ApiKey.METADATA, 13)
