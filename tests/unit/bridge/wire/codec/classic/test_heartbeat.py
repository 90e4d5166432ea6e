"""Heartbeat the general way: a seat from version 3 on, and an answer that is a code."""

from dataclasses import replace

import pytest

from bridge.wire.apis import ApiKey
from bridge.wire.codec.classic import HEARTBEAT
from tests.support.codec_trips import reply_trip, request_trip
from translators.dialects.classic import Heartbeat, HeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, InstanceId, MemberId

REQUEST = Heartbeat(GroupId("orders"), 3, MemberId("m-1"), InstanceId("seat"))


@pytest.mark.parametrize("version", range(5))
def test_request_of_version_says_what_it_can(version: int) -> None:
    """KIP-345."""
    expected = REQUEST if version >= 3 else replace(REQUEST, instance_id=None)
    assert request_trip(ApiKey.HEARTBEAT, version, REQUEST) == expected


@pytest.mark.parametrize("version", range(5))
def test_refusal_arrives(version: int) -> None:
    """The code is all there is."""
    refusal = HEARTBEAT.refuse(REQUEST, ErrorCode.REBALANCE_IN_PROGRESS)
    assert reply_trip(ApiKey.HEARTBEAT, version, refusal) == HeartbeatReply(ErrorCode.REBALANCE_IN_PROGRESS)
