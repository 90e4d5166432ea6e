"""Laws of the hand-written readers: any bytes at all are read, refused with MalformedFrame, or need more."""

from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.consumer.group import HeartbeatRequest

from bridge.wire.api_versions import read_api_versions, read_client_software
from bridge.wire.apis import ApiKey, is_flexible
from bridge.wire.cursor import Cursor
from bridge.wire.endpoints import brokers_in, rewrite
from bridge.wire.errors import MalformedFrame
from bridge.wire.fetch import expects_answer
from bridge.wire.frames import (
    RequestHeader,
    read_request_header,
    read_response_header,
    request_frame,
    response_frame,
)
from bridge.wire.heartbeat import read_heartbeat
from bridge.wire.metadata import read_metadata
from tests.support.oracle_frames import is_malformed, request_bytes
from translators.dialects.classic import Heartbeat
from translators.dialects.ids import GroupId, InstanceId, MemberId

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=140)
# Bytes that look like small lengths reach deeper than uniform ones.
JUNK = st.one_of(
    st.binary(max_size=120), st.lists(st.sampled_from(b"\x00\x01\x02\x03\x7f\x80\xff"), max_size=60).map(bytes)
)
API_VERSION = st.sampled_from([(key, version) for key in ApiKey for version in range(14)])

ADDRESSED = [
    *((ApiKey.METADATA, version) for version in range(14)),
    *((ApiKey.FIND_COORDINATOR, version) for version in range(7)),
    *((ApiKey.DESCRIBE_CLUSTER, version) for version in range(3)),
    *((ApiKey.PRODUCE, version) for version in range(10, 14)),
    *((ApiKey.FETCH, version) for version in range(16, 19)),
]


@given(
    api=API_VERSION,
    correlation_id=st.integers(-(1 << 31), (1 << 31) - 1),
    client_id=st.none() | TEXT,
    body=st.binary(max_size=50),
    rest=st.binary(max_size=20),
)
def test_header_reads_as_written(
    api: tuple[ApiKey, int], correlation_id: int, client_id: str | None, body: bytes, rest: bytes
) -> None:
    """Whatever follows in the buffer, and for any split of it."""
    api_key, version = api
    client_id = None if (api_key, version) == (ApiKey.CONTROLLED_SHUTDOWN, 0) else client_id
    frame = request_frame(RequestHeader(0, api_key, version, correlation_id, client_id, 0), body)
    expected = RequestHeader(len(frame), api_key, version, correlation_id, client_id, len(frame) - len(body))
    assert read_request_header(frame + rest) == expected
    assert [read_request_header(frame[:end]) for end in range(expected.body_offset)] == [None] * expected.body_offset


@given(data=st.one_of(JUNK, st.tuples(st.integers(8, 60), JUNK).map(lambda x: x[0].to_bytes(4, "big") + x[1])))
def test_more_bytes_never_change_a_verdict(data: bytes) -> None:
    """None may become a header or a refusal; a header or a refusal stays what it is."""
    verdicts: list[RequestHeader | str | None] = []
    for end in range(len(data) + 1):
        try:
            verdicts.append(read_request_header(data[:end]))
        except MalformedFrame as error:
            verdicts.append(str(error))
    settled = [verdict for verdict in verdicts if verdict is not None]
    assert verdicts == [None] * (len(verdicts) - len(settled)) + settled
    assert len(set(settled)) <= 1


@given(api=API_VERSION, data=JUNK)
def test_any_bytes_as_an_answers_header_are_read_or_refused(api: tuple[ApiKey, int], data: bytes) -> None:
    """A broker's bytes are no more trusted than a client's."""
    if not is_malformed(partial(read_response_header, data, *api)):
        header = read_response_header(data, *api)
        assert header is None or 8 <= header.body_offset <= len(data)


@given(version=st.integers(0, 20), data=JUNK)
def test_any_bytes_as_a_body_are_read_or_refused(version: int, data: bytes) -> None:
    """No reader lets another exception out."""
    readers: list[Callable[[], object]] = [
        partial(read_heartbeat, version, data, 0),
        partial(read_client_software, version, data, 0),
        partial(read_api_versions, version, data, 0),
        partial(expects_answer, version, data),
        partial(read_metadata, version % 13, response_frame(ApiKey.METADATA, version % 13, 1, data)),
    ]
    assert {is_malformed(read) for read in readers} <= {True, False}


@pytest.mark.parametrize(("api_key", "version"), ADDRESSED)
@given(data=JUNK)
def test_any_bytes_with_addresses_are_rewritten_or_refused(api_key: ApiKey, version: int, data: bytes) -> None:
    """What was read before is what is named after, and the bytes behind stay."""
    frame = response_frame(api_key, version, 1, data)
    if is_malformed(partial(brokers_in, api_key, version, frame)):
        return
    nodes = brokers_in(api_key, version, frame)
    new = {node.node_id: (f"bridge-{node.node_id}", 9000) for node in nodes}
    after = bytes(rewrite(api_key, version, frame, lambda _: new))
    assert [(n.node_id, (n.host, n.port)) for n in brokers_in(api_key, version, after)] == [
        (node.node_id, new[node.node_id]) for node in nodes
    ]
    assert nodes or after == frame


def _by_the_book(version: int, data: bytes) -> Heartbeat:
    cursor = Cursor(data, 0, "HEARTBEAT", version, flexible=is_flexible(ApiKey.HEARTBEAT, version))
    group, generation, member = cursor.string("g"), cursor.int32("n"), cursor.string("m")
    instance = cursor.nullable_string("i") if version >= 3 else None
    cursor.skip_tags()
    cursor.expect_end()
    return Heartbeat(GroupId(group), generation, MemberId(member), None if instance is None else InstanceId(instance))


@given(
    version=st.integers(0, 4),
    group=TEXT,
    member=TEXT,
    instance=st.none() | TEXT,
    generation=st.integers(-(1 << 31), (1 << 31) - 1),
)
def test_heartbeat_reads_as_kafka_python_writes_it(
    version: int, group: str, member: str, instance: str | None, generation: int
) -> None:
    """Every version, any text."""
    extra = {"group_instance_id": instance} if version >= 3 else {}
    message = HeartbeatRequest(version=version, group_id=group, generation_id=generation, member_id=member, **extra)
    frame = request_bytes(message)
    header = read_request_header(frame)
    assert header is not None
    seat = None if version < 3 or instance is None else InstanceId(instance)
    expected = Heartbeat(GroupId(group), generation, MemberId(member), seat)
    assert read_heartbeat(version, frame, header.body_offset) == expected


@given(version=st.integers(0, 4), data=st.data())
def test_fast_heartbeat_says_what_the_careful_reading_says(version: int, data: st.DataObject) -> None:
    """On frames with some bytes changed, cut or added: the same heartbeat, or both refuse."""
    extra = {"group_instance_id": data.draw(st.sampled_from([None, "", "seat"]))} if version >= 3 else {}
    message = HeartbeatRequest(version=version, group_id="orders", generation_id=3, member_id="m-1", **extra)
    frame = request_bytes(message, client_id="")
    header = read_request_header(frame)
    assert header is not None
    body = bytearray(frame[header.body_offset :])
    for _ in range(data.draw(st.integers(0, 3))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.sampled_from(b"\x00\x01\x02\x07\x7f\x80\x81\xff"))
    mutated = bytes(body)[: data.draw(st.integers(len(body) - 2, len(body)))] + data.draw(st.binary(max_size=2))
    refused = is_malformed(partial(_by_the_book, version, mutated))
    assert is_malformed(partial(read_heartbeat, version, mutated, 0)) is refused
    if not refused:
        assert read_heartbeat(version, mutated, 0) == _by_the_book(version, mutated)
