"""JoinGroup: what each version changes becomes a plain field."""

from dataclasses import replace

import pytest

from bridge.wire.apis import ApiKey
from bridge.wire.codec.classic import JOIN_GROUP
from tests.support.codec_trips import reply_trip, request_trip
from translators.dialects.classic import JoinedMember, JoinGroup, JoinGroupReply, Protocol
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, InstanceId, MemberId

REQUEST = JoinGroup(
    group_id=GroupId("orders"),
    member_id=MemberId("m-1"),
    instance_id=InstanceId("seat"),
    protocol_type="consumer",
    protocols=(Protocol("range", b"r"), Protocol("cooperative-sticky", b"")),
    session_timeout_ms=45_000,
    rebalance_timeout_ms=300_000,
    reason="because",
    skips_assignment=True,
)
REPLY = JoinGroupReply(
    error=ErrorCode.NONE,
    member_id=MemberId("m-1"),
    generation=4,
    protocol_type="consumer",
    protocol_name="range",
    leader="m-1",
    skip_assignment=True,
    members=(JoinedMember(member_id=MemberId("m-1"), instance_id=InstanceId("seat"), metadata=b"r"),),
)


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (
            0,
            replace(
                REQUEST,
                instance_id=None,
                reason="",
                rebalance_timeout_ms=45_000,
                needs_member_id=False,
                skips_assignment=False,
            ),
        ),
        (3, replace(REQUEST, instance_id=None, reason="", needs_member_id=False, skips_assignment=False)),
        (4, replace(REQUEST, instance_id=None, reason="", skips_assignment=False)),
        (5, replace(REQUEST, reason="", skips_assignment=False)),
        (8, replace(REQUEST, skips_assignment=False)),
        (9, REQUEST),
    ],
)
def test_request_of_version_says_what_it_can(version: int, expected: JoinGroup) -> None:
    """v1 rebalance timeout, v4 member id step (KIP-394), v5 seat (KIP-345), v8 reason (KIP-800), v9 skip (KIP-814)."""
    assert request_trip(ApiKey.JOIN_GROUP, version, REQUEST) == expected


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (
            0,
            replace(
                REPLY, protocol_type=None, skip_assignment=False, members=(replace(REPLY.members[0], instance_id=None),)
            ),
        ),
        (5, replace(REPLY, protocol_type=None, skip_assignment=False)),
        (7, replace(REPLY, skip_assignment=False)),
        (9, REPLY),
    ],
)
def test_reply_of_version_says_what_it_can(version: int, expected: JoinGroupReply) -> None:
    """v5 seats, v7 protocol type (KIP-559), v9 skip (KIP-814)."""
    assert reply_trip(ApiKey.JOIN_GROUP, version, REPLY) == expected


@pytest.mark.parametrize("version", [0, 6, 7, 9])
def test_refusal_keeps_member_id_and_needs_no_protocol(version: int) -> None:
    """Before version 7 the missing protocol name goes out as an empty one."""
    refusal = JOIN_GROUP.refuse(REQUEST, ErrorCode.MEMBER_ID_REQUIRED)
    assert refusal == JoinGroupReply(error=ErrorCode.MEMBER_ID_REQUIRED, member_id=MemberId("m-1"))
    assert reply_trip(ApiKey.JOIN_GROUP, version, refusal) == refusal


def test_group_of_request_is_its_group() -> None:
    """For routing."""
    assert JOIN_GROUP.groups(REQUEST) == (GroupId("orders"),)
