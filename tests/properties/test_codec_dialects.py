"""Laws of the mapping between dialects and the wire: what a version can say comes back, whatever was put in."""

from dataclasses import replace
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import (
    APIS,
    SUPPORTED,
    Reply,
    Request,
    decode_reply,
    decode_request,
    encode_reply,
    encode_request,
    error_reply,
    group_ids,
    peek_group_id,
)
from bridge.wire.frames import read_request_header
from tests.support.dialect_values import values_of
from translators.dialects.admin import DescribeGroups
from translators.dialects.classic import JoinGroup, JoinGroupReply, LeaveGroup, LeavingMember, SyncGroup
from translators.dialects.configs import (
    CLIENT_METRICS,
    AlterConfigs,
    ListConfigResources,
    Operation,
    ResourceAlterations,
)
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import NO_TOPIC_ID, GroupId, MemberId, TopicName
from translators.dialects.offsets import (
    FetchedGroup,
    GroupOffsets,
    OffsetCommit,
    OffsetCommitReply,
    OffsetDelete,
    OffsetDeleteReply,
    OffsetFetch,
    OffsetFetchReply,
    TxnOffsetCommit,
)

every_api = pytest.mark.parametrize("api_key", sorted(SUPPORTED))
NO_NAME = TopicName("")


def draw_request(data: st.DataObject, api_key: int, version: int) -> Request:
    """Any request that the version can say: one leaver before 3, one group and (version 1) no null topics before 8."""
    request = cast("Request", data.draw(values_of(APIS[api_key].request_type)))
    if isinstance(request, LeaveGroup) and version < 3:
        return replace(request, members=(*request.members, LeavingMember(member_id=MemberId("m")))[:1])
    if isinstance(request, ListConfigResources) and version == 0:
        return ListConfigResources(types=(CLIENT_METRICS,))
    if isinstance(request, AlterConfigs):
        return replace(request, resources=tuple(map(only_set, request.resources)))
    if isinstance(request, OffsetFetch) and version < 8:
        group = (*request.groups, GroupOffsets(group_id=GroupId("g"), topics=None))[0]
        return replace(request, groups=(replace(group, topics=group.topics or ()) if version < 2 else group,))
    return request


def draw_reply(data: st.DataObject, api_key: int, version: int) -> Reply:
    """Any reply that the version can say."""
    reply = cast("Reply", data.draw(values_of(APIS[api_key].reply_type)))
    if isinstance(reply, OffsetFetchReply) and version < 8:
        return replace(reply, groups=(*reply.groups, FetchedGroup(group_id=GroupId("g"), topics=()))[:1])
    return reply


def request_in_newest(request: Request) -> Request:
    """The request as the newest version of its api reads it: its marks set, topics by what names them there."""
    match request:
        case JoinGroup():
            return replace(request, needs_member_id=True, skips_assignment=True)
        case SyncGroup():
            return replace(request, names_protocol=True)
        case LeaveGroup():
            return replace(request, is_batch=True)
        case ConsumerGroupHeartbeat():
            bare_topics = frozenset() if request.owned is None else request.bare_topics
            return replace(request, has_client_id=True, hidden=None, bare_topics=bare_topics)
        case DescribeGroups():
            return replace(request, errors_when_missing=True)
        case OffsetCommit():
            topics = tuple(replace(topic, name=NO_NAME) for topic in request.topics)
            return replace(request, topics=topics, knows_member_epoch=True, names_ids=True, retention_time_ms=-1)
        case OffsetFetch():
            return replace(request, groups=tuple(map(by_id, request.groups)))
        case TxnOffsetCommit():
            return replace(request, topics=tuple(replace(topic, topic_id=NO_TOPIC_ID) for topic in request.topics))
        case OffsetDelete():
            return replace(request, topics=tuple(replace(topic, topic_id=NO_TOPIC_ID) for topic in request.topics))
        case _:
            return request


def only_set(altered: ResourceAlterations) -> ResourceAlterations:
    """What AlterConfigs can say."""
    return replace(altered, alterations=tuple(replace(one, operation=Operation.SET) for one in altered.alterations))


def by_id(group: GroupOffsets) -> GroupOffsets:
    """A group of an OffsetFetch without topic names."""
    topics = None if group.topics is None else tuple(replace(topic, name=NO_NAME) for topic in group.topics)
    return replace(group, topics=topics)


def reply_in_newest(api_key: int, reply: Reply) -> Reply:
    """The reply as the newest version of its api reads it; an OffsetFetch group with an error has no topics."""
    if isinstance(reply, OffsetFetchReply):
        groups = tuple(
            replace(group, topics=() if group.error else tuple(replace(topic, name=NO_NAME) for topic in group.topics))
            for group in reply.groups
        )
        return replace(reply, groups=groups)
    if isinstance(reply, OffsetCommitReply) and api_key == ApiKey.OFFSET_COMMIT:
        return replace(reply, topics=tuple(replace(topic, name=NO_NAME) for topic in reply.topics))
    if isinstance(reply, OffsetCommitReply | OffsetDeleteReply):
        return replace(reply, topics=tuple(replace(topic, topic_id=NO_TOPIC_ID) for topic in reply.topics))
    if isinstance(reply, JoinGroupReply):
        return replace(reply, protocol_name=reply.protocol_name or None)
    return reply


def request_over_the_wire(api_key: int, version: int, request: Request) -> Request:
    """Encode and decode, header included; the cheap look at the group agrees with the whole."""
    frame = encode_request(api_key, version, 3, "me", request)
    header = read_request_header(frame)
    assert header is not None
    assert header[:5] == (len(frame), api_key, version, 3, "me")
    body = frame[header.body_offset :]
    decoded = decode_request(api_key, version, body, header.body_offset)
    peeked = peek_group_id(api_key, version, memoryview(body))
    assert peeked is None or (peeked,) == group_ids(decoded)
    return decoded


def reply_over_the_wire(api_key: int, version: int, reply: Reply) -> Reply:
    """Encode and decode, header included."""
    frame = encode_reply(api_key, version, 9, reply)
    assert int.from_bytes(frame[:4]) == len(frame) - 4
    correlation_id, decoded = decode_reply(api_key, version, frame[4:])
    assert correlation_id == 9
    return decoded


@every_api
@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_request_settles_after_one_trip(api_key: int, data: st.DataObject) -> None:
    """What a version drops is dropped once: a second trip changes nothing."""
    version = data.draw(st.integers(*SUPPORTED[api_key]))
    once = request_over_the_wire(api_key, version, draw_request(data, api_key, version))
    assert request_over_the_wire(api_key, version, once) == once


@every_api
@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_request_survives_in_newest_version(api_key: int, data: st.DataObject) -> None:
    """The newest version says all that a dialect can."""
    version = SUPPORTED[api_key][1]
    request = draw_request(data, api_key, version)
    assert request_over_the_wire(api_key, version, request) == request_in_newest(request)


@every_api
@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_reply_settles_after_one_trip(api_key: int, data: st.DataObject) -> None:
    """What a version drops is dropped once: a second trip changes nothing."""
    version = data.draw(st.integers(*SUPPORTED[api_key]))
    once = reply_over_the_wire(api_key, version, draw_reply(data, api_key, version))
    assert reply_over_the_wire(api_key, version, once) == once


@every_api
@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_reply_survives_in_newest_version(api_key: int, data: st.DataObject) -> None:
    """The newest version says all that a dialect can."""
    version = SUPPORTED[api_key][1]
    reply = draw_reply(data, api_key, version)
    assert reply_over_the_wire(api_key, version, reply) == reply_in_newest(api_key, reply)


@every_api
@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_refusal_can_be_said_in_the_version_of_the_request(api_key: int, data: st.DataObject) -> None:
    """Whatever was decoded can be refused, and the code is told wherever the version has a place for it."""
    version = data.draw(st.integers(*SUPPORTED[api_key]))
    asked = request_over_the_wire(api_key, version, draw_request(data, api_key, version))
    refusal = error_reply(asked, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    told = reply_over_the_wire(api_key, version, refusal)
    only_at_partitions = api_key == ApiKey.OFFSET_FETCH and version == 1
    assert only_at_partitions or (refusal_marks(told) == refusal_marks(refusal))


def refusal_marks(reply: Reply) -> bool:
    """Whether the code stands anywhere in a reply."""
    return "COORDINATOR_NOT_AVAILABLE" in repr(reply)
