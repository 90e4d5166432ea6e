"""Every message of every version, against kafka-python's bytes, and every way to cut it.

The one door: tables, routing by group, refusals of what isn't spoken.
"""

import pytest

from bridge.wire.apis import TREATMENTS, ApiKey, Treatment, api_name
from bridge.wire.codec.registry import (
    APIS,
    READABLE,
    SUPPORTED,
    BodyPlace,
    body_bytes,
    decode_reply,
    decode_request,
    encode_reply,
    encode_request,
    error_reply,
    group_ids,
    is_read,
    peek_group_id,
    read_fields,
    read_reply_fields,
    read_request_fields,
    reply_frame,
    whole_request_frame,
)
from bridge.wire.codec.schema import Direction
from bridge.wire.errors import MalformedFrame
from bridge.wire.frames import RequestHeader, read_request_header
from tests.support.codec_samples import Case, case_name, cases, fields_of, oracle_frame, restricted, sample
from translators.dialects.admin import DeleteGroups, ListGroups
from translators.dialects.classic import Heartbeat, HeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId
from translators.dialects.offsets import TxnOffsetCommit

HEADER = RequestHeader(0, 0, 0, 77, "client-é", 0)
every_case = pytest.mark.parametrize("case", list(cases()), ids=case_name)


@every_case
@pytest.mark.parametrize("seed", [0, 1])
def test_message_is_written_as_kafka_python_writes_it(case: Case, seed: int) -> None:
    """Another implementation writes the same frame, header and length included."""
    api_key, version, direction = case
    values = sample(case, seed)
    ours = (
        whole_request_frame(api_key, version, 77, "client-é", values)
        if direction is Direction.REQUEST
        else reply_frame(api_key, version, 77, values)
    )
    assert ours == oracle_frame(case, HEADER, values)


@every_case
@pytest.mark.parametrize("seed", [0, 1])
def test_message_of_kafka_python_reads_to_the_same_fields(case: Case, seed: int) -> None:
    """Reading undoes another implementation's writing."""
    api_key, version, direction = case
    values = sample(case, seed)
    frame = oracle_frame(case, HEADER, values)
    if direction is Direction.REQUEST:
        header = read_request_header(frame)
        assert header is not None
        record = read_request_fields(api_key, version, frame[header.body_offset :], BodyPlace(header.body_offset))
    else:
        correlation_id, record = read_reply_fields(api_key, version, memoryview(frame)[4:])
        assert correlation_id == 77
    assert restricted(record, fields_of(case), version) == values


@every_case
def test_message_cut_anywhere_is_malformed(case: Case) -> None:
    """Truncation at every byte is an error that names api and version."""
    api_key, version, direction = case
    body = bytes(body_bytes(api_key, version, direction, sample(case, 0)))
    for size in range(len(body)):
        with pytest.raises(MalformedFrame) as caught:
            read_fields(api_key, version, direction, body[:size], 100)
        assert caught.value.version == version
        assert caught.value.api == api_name(api_key)
        assert caught.value.field
        assert 100 <= caught.value.offset <= 100 + size


@every_case
def test_message_with_one_byte_behind_is_malformed(case: Case) -> None:
    """Trailing bytes are an error at the place where they begin."""
    api_key, version, direction = case
    body = bytes(body_bytes(api_key, version, direction, sample(case, 0)))
    with pytest.raises(MalformedFrame) as caught:
        read_fields(api_key, version, direction, body + b"\0", 12)
    assert (caught.value.field, caught.value.offset) == ("end", 12 + len(body))


def test_fault_in_nested_array_names_path_and_offset() -> None:
    """The path counts elements from zero, the offset from the start of the frame."""
    partition = {"partition_index": 0, "committed_offset": 5, "committed_leader_epoch": -1, "committed_metadata": ""}
    values = {
        "group_id": "g",
        "generation_id_or_member_epoch": 1,
        "member_id": "m",
        "group_instance_id": None,
        "topics": [{"name": "t", "partitions": [partition, partition]}],
    }
    body = bytes(body_bytes(ApiKey.OFFSET_COMMIT, 7, Direction.REQUEST, values))
    broken = body[:-2] + b"\xff\xf0"
    with pytest.raises(MalformedFrame) as caught:
        read_request_fields(ApiKey.OFFSET_COMMIT, 7, broken, BodyPlace(30))
    assert caught.value.field == "topics[0].partitions[1].committed_metadata"
    assert caught.value.offset == 30 + len(body) - 2
    assert caught.value.reason == "length -16 is negative"


@pytest.mark.parametrize(
    ("api_key", "version", "field"),
    [
        (ApiKey.PRODUCE, 9, "request_api_key"),
        (9999, 0, "request_api_key"),
        (-1, 0, "request_api_key"),
        (ApiKey.JOIN_GROUP, 10, "request_api_version"),
        (ApiKey.OFFSET_COMMIT, 0, "request_api_version"),
        (ApiKey.JOIN_GROUP, -1, "request_api_version"),
    ],
)
def test_unknown_api_or_version_is_malformed(api_key: int, version: int, field: str) -> None:
    """What isn't spoken is refused like bad bytes, with the range that is."""
    with pytest.raises(MalformedFrame) as caught:
        read_request_fields(api_key, version, b"")
    assert caught.value.field == field


def test_answer_with_unknown_header_tag_is_read() -> None:
    """A newer broker may tag the header."""
    body = bytes(body_bytes(ApiKey.HEARTBEAT, 4, Direction.RESPONSE, {"throttle_time_ms": 0, "error_code": 27}))
    frame = b"\0\0\0\x09" + b"\x01\x05\x02ab" + body
    assert read_reply_fields(ApiKey.HEARTBEAT, 4, frame) == (9, {"throttle_time_ms": 0, "error_code": 27})


@pytest.mark.parametrize("frame", [b"", b"\0\0\0", b"\0\0\0\1", b"\0\0\0\1\x01\x05\x09ab"])
def test_answer_without_whole_header_is_malformed(frame: bytes) -> None:
    """The header is part of the frame."""
    with pytest.raises(MalformedFrame) as caught:
        read_reply_fields(ApiKey.HEARTBEAT, 4, frame)
    assert caught.value.field == "header"


def test_correlation_id_may_be_negative() -> None:
    """It is a signed number of the client's choosing."""
    frame = reply_frame(ApiKey.HEARTBEAT, 0, -5, {"error_code": 0})
    assert read_reply_fields(ApiKey.HEARTBEAT, 0, frame[4:])[0] == -5


HEARTBEAT = Heartbeat(GroupId("orders"), 3, MemberId("m"), None)


def test_every_api_that_the_bridge_answers_is_supported() -> None:
    """All but ApiVersions, which has a module of its own."""
    answered = {key for key, treatment in TREATMENTS.items() if treatment is Treatment.ANSWERED}
    assert set(SUPPORTED) == answered - {ApiKey.API_VERSIONS}
    assert all(READABLE[key] == versions for key, versions in SUPPORTED.items())


def test_older_versions_are_read_as_far_as_they_are_said_again() -> None:
    """Version 1 of OffsetCommit, and neither what is older nor that of another api."""
    assert [version for version in range(12) if is_read(ApiKey.OFFSET_COMMIT, version)] == [*range(1, 11)]
    assert [version for version in range(12) if is_read(ApiKey.OFFSET_FETCH, version)] == [*range(1, 11)]
    assert not is_read(ApiKey.DESCRIBE_CONFIGS, 0)
    assert not is_read(ApiKey.PRODUCE, 3)


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
