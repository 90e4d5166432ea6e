"""The single validations that KIP-848 lists, each against the engine.

It knows the scenario file's list of checks; those that another part of the bridge makes are named with that part.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from bridge.engine.commands import BeginCommit, ResolveRegularExpression
from bridge.engine.commits import check_fetch
from tests.support.engine_bench import FOO, GROUP, Bench, beat_request, join_request, parts
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.coordinator import CommitRefused
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, InstanceId, MemberId
from translators.dialects.offsets import OffsetCommit, PartitionCommit, TopicCommit

DATA = Path(__file__).parent / "data" / "kip848-scenarios.json"
JOIN = join_request("b")
BEAT = beat_request("a", 2)
NOBODY = MemberId("")
INVALID = ErrorCode.INVALID_REQUEST

HEARTBEATS: Mapping[str, tuple[tuple[ConsumerGroupHeartbeat, ErrorCode], ...]] = {
    "empty group id": ((replace(BEAT, group_id=GroupId("")), INVALID),),
    "empty member id with epoch > 0 or -1": (
        (replace(BEAT, member_id=NOBODY), INVALID),
        (replace(BEAT, member_id=NOBODY, member_epoch=-1), INVALID),
    ),
    "empty member id with epoch 0": (
        (replace(JOIN, member_id=NOBODY), INVALID),
        (replace(JOIN, member_id=NOBODY, has_client_id=False), ErrorCode.NONE),
    ),
    "member epoch below -1": (
        (replace(BEAT, member_epoch=-2), INVALID),
        (replace(BEAT, member_epoch=-3), INVALID),
    ),
    "empty instance id": ((replace(BEAT, instance_id=InstanceId("")), INVALID),),
    "epoch 0 without rebalance timeout": ((replace(JOIN, rebalance_timeout_ms=-1), INVALID),),
    "epoch 0 without subscription": ((replace(JOIN, subscribed_topic_names=None), INVALID),),
    "epoch 0 with owned partitions": ((replace(JOIN, owned=parts(0)), INVALID),),
    "unknown server assignor": ((replace(BEAT, server_assignor="mine"), ErrorCode.UNSUPPORTED_ASSIGNOR),),
    "regular expression that the coordinator can not parse": (
        (replace(BEAT, subscribed_topic_regex="("), ErrorCode.INVALID_REGULAR_EXPRESSION),
    ),
}
"""Heartbeats to a group whose native member a is at epoch 2, with the code of a running Kafka 4.3.1 (K11.4)."""


def fetch_codes(bench: Bench) -> list[ErrorCode]:
    """OffsetFetch of a at the right epoch, at a wrong one, and of nobody known."""
    asked = [("a", 2), ("a", 1), ("x", 2)]
    return [check_fetch(bench.state, GROUP, MemberId(member), epoch) for member, epoch in asked]


def commit_codes(bench: Bench) -> list[ErrorCode]:
    """OffsetCommit of a at the right epoch, at a wrong one, and of nobody known."""
    return [commit_code(bench, member, epoch) for member, epoch in [("a", 2), ("a", 9), ("x", 2)]]


def commit_code(bench: Bench, member: str, epoch: int) -> ErrorCode:
    """One commit of partition 0 of foo."""
    commit = OffsetCommit(
        group_id=GROUP,
        generation=epoch,
        member_id=MemberId(member),
        instance_id=None,
        topics=(TopicCommit(name=FOO, partitions=(PartitionCommit(partition=0, offset=1),)),),
    )
    message = bench.tell(BeginCommit(bench.ref(), commit)).replies[0][1]
    return message.code if isinstance(message, CommitRefused) else ErrorCode.NONE


OFFSETS: Mapping[str, Callable[[Bench], list[ErrorCode]]] = {
    "OffsetFetch v9 with a wrong epoch": fetch_codes,
    "OffsetCommit with a wrong epoch": commit_codes,
}

MADE_ELSEWHERE = {
    "JoinGroup of a classic member with embedded protocol version < 3": "the decoder of subscriptions and the machine",
    "JoinGroup with an embedded generation other than the member epoch": "the machine, which maps generations",
    "upgrade requirements not met": "the conversion of classic groups",
}
"""Checks that reach no consumer group of the engine; exactly these are not made here."""


def bench() -> Bench:
    """A group whose native member a is at epoch 2, and one pattern that can't be read."""
    started = Bench()
    started.tell(ResolveRegularExpression("(", frozenset(), "missing )"))
    started.join("a")
    return started


@pytest.mark.parametrize("case", HEARTBEATS)
def test_malformed_heartbeat_answered_like_kafka(case: str) -> None:
    """KIP-848, Consumer Group Heartbeat, request validation."""
    codes = [bench().code(request) for request, _ in HEARTBEATS[case]]
    assert codes == [code for _, code in HEARTBEATS[case]]


@pytest.mark.parametrize("case", OFFSETS)
def test_offsets_with_wrong_identity_answered_like_kafka(case: str) -> None:
    """KIP-848, OffsetCommit and OffsetFetch: native members get 113, strangers 25."""
    assert OFFSETS[case](bench()) == [ErrorCode.NONE, ErrorCode.STALE_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID]


def test_checks_left_out_exactly_those_made_elsewhere() -> None:
    """No check of the file is skipped in silence."""
    listed = {check["case"] for check in json.loads(DATA.read_text(encoding="utf-8"))["checks"]}
    assert listed == HEARTBEATS.keys() | OFFSETS.keys() | MADE_ELSEWHERE.keys()
