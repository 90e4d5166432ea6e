"""The one door: tables, routing by group, refusals of what isn't spoken."""

import pytest

from bridge.wire.apis import TREATMENTS, ApiKey, Treatment
from bridge.wire.codec.messages import READABLE
from bridge.wire.codec.registry import (
    APIS,
    SUPPORTED,
    decode_reply,
    decode_request,
    encode_reply,
    encode_request,
    error_reply,
    group_ids,
    peek_group_id,
)
from bridge.wire.errors import MalformedFrame
from bridge.wire.frames import read_request_header
from translators.dialects.admin import DeleteGroups, ListGroups
from translators.dialects.classic import Heartbeat, HeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId
from translators.dialects.offsets import TxnOffsetCommit

HEARTBEAT = Heartbeat(GroupId("orders"), 3, MemberId("m"), None)


def test_every_api_that_the_bridge_answers_is_supported() -> None:
    """All but ApiVersions, which has a module of its own."""
    answered = {key for key, treatment in TREATMENTS.items() if treatment is Treatment.ANSWERED}
    assert set(SUPPORTED) == answered - {ApiKey.API_VERSIONS}
    assert all(READABLE[key] == versions for key, versions in SUPPORTED.items())


def test_every_request_class_belongs_to_one_api() -> None:
    """`error_reply` and `group_ids` find the api by it."""
    assert len({api.request_type for api in APIS.values()}) == len(APIS)


def test_request_frame_is_kafkas() -> None:
    """Heartbeat v4: header 2, compact strings, tag sections."""
    frame = encode_request(ApiKey.HEARTBEAT, 4, 7, "me", HEARTBEAT)
    assert frame == b"\0\0\0\x1c\0\x0c\0\4\0\0\0\7\0\2me\0\7orders\0\0\0\3\2m\0\0"
    header = read_request_header(frame)
    assert header is not None
    assert decode_request(ApiKey.HEARTBEAT, 4, frame[header.body_offset :]) == HEARTBEAT


def test_reply_frame_is_kafkas() -> None:
    """Heartbeat v4: header 1, throttle time, code, tag section."""
    reply = HeartbeatReply(ErrorCode.REBALANCE_IN_PROGRESS)
    frame = encode_reply(ApiKey.HEARTBEAT, 4, 7, reply)
    assert frame == b"\0\0\0\x0c\0\0\0\7\0\0\0\0\0\0\x1b\0"
    assert decode_reply(ApiKey.HEARTBEAT, 4, frame[4:]) == (7, reply)


@pytest.mark.parametrize("version", [0, 3, 5])
def test_peek_finds_the_group_behind_the_transaction(version: int) -> None:
    """TxnOffsetCommit names its transaction first."""
    request = TxnOffsetCommit(
        transactional_id="tx", group_id=GroupId("orders"), producer_id=1, producer_epoch=1, topics=()
    )
    frame = encode_request(ApiKey.TXN_OFFSET_COMMIT, version, 1, None, request)
    header = read_request_header(frame)
    assert header is not None
    assert peek_group_id(ApiKey.TXN_OFFSET_COMMIT, version, memoryview(frame)[header.body_offset :]) == "orders"


@pytest.mark.parametrize(
    ("api_key", "version"),
    [
        (ApiKey.OFFSET_FETCH, 8),
        (ApiKey.DESCRIBE_GROUPS, 0),
        (ApiKey.LIST_GROUPS, 5),
        (ApiKey.DELETE_GROUPS, 2),
        (ApiKey.CONSUMER_GROUP_DESCRIBE, 0),
        (ApiKey.PRODUCE, 9),
    ],
)
def test_peek_finds_no_single_group_where_there_are_several(api_key: int, version: int) -> None:
    """Those must be decoded to be routed."""
    assert peek_group_id(api_key, version, b"\x02\x02g") is None


def test_peek_refuses_a_group_id_of_300_kb() -> None:
    """Without reading further than a group id can reach."""
    with pytest.raises(MalformedFrame, match="a string of 300000 bytes") as caught:
        peek_group_id(ApiKey.JOIN_GROUP, 9, b"\xe1\xa7\x12" + b"g" * 300_000, 20)
    assert (caught.value.field, caught.value.offset) == ("group_id", 20)


def test_groups_of_a_batch_come_in_order() -> None:
    """And of ListGroups there are none."""
    assert group_ids(DeleteGroups((GroupId("b"), GroupId("a")))) == (GroupId("b"), GroupId("a"))
    assert group_ids(ListGroups()) == ()


def test_error_reply_fits_the_request() -> None:
    """Found by the class of the request."""
    assert error_reply(HEARTBEAT, ErrorCode.COORDINATOR_NOT_AVAILABLE) == HeartbeatReply(
        ErrorCode.COORDINATOR_NOT_AVAILABLE
    )


@pytest.mark.parametrize(
    ("api_key", "version", "field"),
    [
        (ApiKey.METADATA, 1, "request_api_key"),
        (-3, 0, "request_api_key"),
        (ApiKey.JOIN_GROUP, 10, "request_api_version"),
    ],
)
def test_what_is_not_spoken_is_malformed(api_key: int, version: int, field: str) -> None:
    """On the way in; the session hides these apis and versions anyway."""
    with pytest.raises(MalformedFrame) as caught:
        decode_request(api_key, version, b"")
    assert caught.value.field == field
