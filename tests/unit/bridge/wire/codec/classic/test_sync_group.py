"""SyncGroup: seats from version 3 on, protocol from version 5 on."""

from dataclasses import replace

import pytest

from bridge.wire.apis import ApiKey
from bridge.wire.codec.classic import SYNC_GROUP
from tests.support.codec_trips import reply_trip, request_trip
from translators.dialects.classic import MemberAssignment, SyncGroup, SyncGroupReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, InstanceId, MemberId

REQUEST = SyncGroup(
    group_id=GroupId("orders"),
    generation=3,
    member_id=MemberId("m-1"),
    instance_id=InstanceId("seat"),
    protocol_type="consumer",
    protocol_name="range",
    assignments=(MemberAssignment(MemberId("m-1"), b"one"), MemberAssignment(MemberId("m-2"), b"")),
    names_protocol=True,
)
REPLY = SyncGroupReply(error=ErrorCode.NONE, protocol_type="consumer", protocol_name="range", assignment=b"mine")


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (0, replace(REQUEST, instance_id=None, protocol_type=None, protocol_name=None, names_protocol=False)),
        (3, replace(REQUEST, protocol_type=None, protocol_name=None, names_protocol=False)),
        (4, replace(REQUEST, protocol_type=None, protocol_name=None, names_protocol=False)),
        (5, REQUEST),
    ],
)
def test_request_of_version_says_what_it_can(version: int, expected: SyncGroup) -> None:
    """KIP-345 and KIP-559."""
    assert request_trip(ApiKey.SYNC_GROUP, version, REQUEST) == expected


@pytest.mark.parametrize(
    ("version", "expected"), [(0, replace(REPLY, protocol_type=None, protocol_name=None)), (5, REPLY)]
)
def test_reply_of_version_says_what_it_can(version: int, expected: SyncGroupReply) -> None:
    """KIP-559."""
    assert reply_trip(ApiKey.SYNC_GROUP, version, REPLY) == expected


def test_refusal_holds_the_code() -> None:
    """Nothing else."""
    assert SYNC_GROUP.refuse(REQUEST, ErrorCode.UNKNOWN_MEMBER_ID) == SyncGroupReply(error=ErrorCode.UNKNOWN_MEMBER_ID)
