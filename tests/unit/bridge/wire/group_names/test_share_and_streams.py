"""What makes or keeps share and streams groups, as far as the bridge reads and answers it."""

import pytest

from bridge.wire.apis import ApiKey
from bridge.wire.errors import MalformedFrame
from bridge.wire.frames import read_request_header, read_response_header, response_frame
from bridge.wire.group_names import (
    group_of,
    is_let_in,
    is_of_other_kind,
    keeps_member,
    kind_of,
    refuse_other_kind,
)
from tests.support.scripted_broker import request
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId

GROUP = GroupId("orders")
BODY = b"\x07orders\x02m" + bytes(20)
SHARE_REFUSAL = b"\x00\x00\x00\x00\x00\x45\x23Group orders is not a share group." + bytes(9) + b"\xff\x00"
OFFSETS_REFUSAL = b"\x00\x00\x00\x00\x00\x45\x23Group orders is not a share group.\x01\x00"
STREAMS_REFUSAL = (
    b"\x00\x00\x00\x00\x00\x45\x25Group orders is not a streams group.\x01" + bytes(16) + b"\x01" + bytes(9)
)


@pytest.mark.parametrize(
    ("api_key", "version", "refusal"),
    [
        (ApiKey.SHARE_GROUP_HEARTBEAT, 1, SHARE_REFUSAL),
        (ApiKey.ALTER_SHARE_GROUP_OFFSETS, 0, OFFSETS_REFUSAL),
        (ApiKey.STREAMS_GROUP_HEARTBEAT, 0, STREAMS_REFUSAL),
    ],
)
def test_group_is_read_and_refused_in_kafkas_bytes(api_key: ApiKey, version: int, refusal: bytes) -> None:
    """The bodies are those that Kafka 4.3.1 sent for a name of another kind."""
    frame = request(api_key, version, 7, BODY)
    header = read_request_header(frame)
    assert header is not None
    assert is_of_other_kind(api_key)
    assert group_of(header, frame) == GROUP
    answer = refuse_other_kind(header, GROUP)
    read = read_response_header(answer, api_key, version)
    assert read is not None
    assert (read.correlation_id, answer[read.body_offset :]) == (7, refusal)
    assert int.from_bytes(answer[:4], "big") == len(answer) - 4
    assert kind_of(api_key) in str(refusal)
    assert not is_let_in(header, answer)
    assert not is_let_in(header, answer[:10]), "an answer that ends too early lets nobody in"
    assert is_let_in(header, response_frame(api_key, version, 7, bytes(20)))


@pytest.mark.parametrize(
    ("api_key", "version", "body"),
    [
        (ApiKey.SHARE_GROUP_HEARTBEAT, 1, b"\x00\x00\x00\x00\x00\x1e\x00" + bytes(9) + b"\xff\x00"),
        (ApiKey.ALTER_SHARE_GROUP_OFFSETS, 0, b"\x00\x00\x00\x00\x00\x1e\x1cGroup authorization failed.\x01\x00"),
        (ApiKey.STREAMS_GROUP_HEARTBEAT, 0, b"\x00\x00\x00\x00\x00\x1e\x00\x01" + bytes(16) + b"\x01" + bytes(9)),
    ],
)
def test_who_may_not_read_the_group_is_refused_in_kafkas_bytes(api_key: ApiKey, version: int, body: bytes) -> None:
    """Without the name, with words for an admin alone; the bodies are those that Kafka 4.3.1 sent."""
    header = read_request_header(request(api_key, version, 7, BODY))
    assert header is not None
    answer = refuse_other_kind(header, GROUP, ErrorCode.GROUP_AUTHORIZATION_FAILED)
    read = read_response_header(answer, api_key, version)
    assert read is not None
    assert answer[read.body_offset :] == body


def test_group_id_that_ends_too_early_is_malformed() -> None:
    """Said with its place, like every request that can't be read."""
    frame = request(ApiKey.SHARE_GROUP_HEARTBEAT, 1, 7, b"\x07ord")
    header = read_request_header(frame)
    assert header is not None
    with pytest.raises(MalformedFrame, match="group_id"):
        group_of(header, frame)


def test_offsets_are_set_by_admins() -> None:
    """Who is refused there is no member that ends."""
    keys = (ApiKey.SHARE_GROUP_HEARTBEAT, ApiKey.STREAMS_GROUP_HEARTBEAT, ApiKey.ALTER_SHARE_GROUP_OFFSETS)
    assert [keeps_member(key) for key in keys] == [True, True, False]


def test_other_requests_are_none_of_these() -> None:
    """What describes such groups, or deletes what is theirs, makes none: it is the broker's in any case."""
    assert not is_of_other_kind(ApiKey.SHARE_GROUP_DESCRIBE)
    assert not is_of_other_kind(ApiKey.DELETE_SHARE_GROUP_OFFSETS)
    assert not is_of_other_kind(ApiKey.CONSUMER_GROUP_HEARTBEAT)
