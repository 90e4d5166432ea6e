"""Tests of heartbeats refused at sight."""

from dataclasses import replace

import pytest

from bridge.engine.commands import MemberHeartbeat, Speaks
from bridge.engine.consumer.heartbeats import find_fault
from tests.support.engine_bench import IDENTITY, beat_request, join_request, parts, topic_id
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, InstanceId, MemberId, RequestRef

JOIN = join_request("a")
BEAT = beat_request("a", 3)
BLANK = MemberId(" ")


def code(request: ConsumerGroupHeartbeat, speaks: Speaks = Speaks.CONSUMER) -> ErrorCode:
    """The code of the fault, NONE without one."""
    command = MemberHeartbeat(
        ref=RequestRef(0, 0, 0), request=request, identity=IDENTITY, speaks=speaks, fresh_id=MemberId("new")
    )
    fault = find_fault(command, ("uniform", "range"))
    return ErrorCode.NONE if fault is None else fault.code


@pytest.mark.parametrize(
    "request_",
    [
        replace(JOIN, member_id=BLANK),
        replace(BEAT, member_id=BLANK),
        replace(BEAT, member_id=BLANK, member_epoch=-2, instance_id=InstanceId("i")),
        replace(BEAT, member_id=BLANK, has_client_id=False),
        replace(BEAT, member_id=BLANK, member_epoch=-1, has_client_id=False),
        replace(BEAT, group_id=GroupId("  ")),
        replace(BEAT, instance_id=InstanceId(" ")),
        replace(BEAT, rack_id=""),
        replace(JOIN, rebalance_timeout_ms=-1),
        replace(JOIN, owned=None),
        replace(JOIN, owned=parts(0)),
        replace(JOIN, bare_topics=frozenset({topic_id("foo")})),
        replace(JOIN, subscribed_topic_names=None),
        replace(BEAT, member_epoch=-2),
        replace(BEAT, member_epoch=-3),
    ],
)
def test_malformed_heartbeat_is_invalid(request_: ConsumerGroupHeartbeat) -> None:
    """What a request must and must not say at each epoch (K2.1 to K2.8 with 11.4).

    A translated member's request is its machine's business.
    """
    assert code(request_) is ErrorCode.INVALID_REQUEST
    assert code(request_, Speaks.CLASSIC) is ErrorCode.NONE


@pytest.mark.parametrize(
    "request_",
    [
        JOIN,
        BEAT,
        replace(JOIN, member_id=BLANK, has_client_id=False),
        replace(JOIN, subscribed_topic_names=()),
        replace(JOIN, subscribed_topic_names=None, subscribed_topic_regex=""),
        replace(BEAT, member_epoch=-2, instance_id=InstanceId("i")),
        replace(BEAT, server_assignor="range"),
    ],
)
def test_sound_heartbeat_has_no_fault(request_: ConsumerGroupHeartbeat) -> None:
    """An empty list of names joins fine; version 0 may leave the id to the coordinator (K2.6 with 11.4)."""
    assert code(request_) is ErrorCode.NONE


@pytest.mark.parametrize("name", ["sticky", ""])
def test_assignor_not_configured_is_unsupported(name: str) -> None:
    """UNSUPPORTED_ASSIGNOR for a name that is not configured (K2.9), also for a blank one (11.4)."""
    assert code(replace(BEAT, server_assignor=name)) is ErrorCode.UNSUPPORTED_ASSIGNOR
    assert code(replace(BEAT, server_assignor=name), Speaks.CLASSIC) is ErrorCode.UNSUPPORTED_ASSIGNOR


def test_member_id_is_checked_before_the_group_id() -> None:
    """The order tells which message a client sees (K11.4 on 2.1)."""
    command = MemberHeartbeat(
        ref=RequestRef(0, 0, 0),
        request=replace(BEAT, member_id=BLANK, group_id=GroupId("")),
        identity=IDENTITY,
        speaks=Speaks.CONSUMER,
        fresh_id=MemberId("new"),
    )
    fault = find_fault(command, ())
    assert fault is not None
    assert fault.reason == "MemberId can't be empty."


@pytest.mark.parametrize(("name", "told"), [("\x01", ErrorCode.INVALID_REQUEST), ("\u3000", ErrorCode.NONE)])
def test_blank_group_is_what_java_trims(name: str, told: ErrorCode) -> None:
    """Control characters are no name, other spaces of Unicode are one, as on 4.3.1 (K2.1)."""
    assert code(replace(BEAT, group_id=GroupId(name))) is told


def test_refusals_are_told_in_kafkas_words() -> None:
    """Whoever looks for the text finds what is known of it."""
    wrong = (
        replace(JOIN, subscribed_topic_names=None),
        replace(BEAT, member_epoch=-2),
    )
    told = [
        find_fault(
            MemberHeartbeat(
                ref=RequestRef(0, 0, 0), request=one, identity=IDENTITY, speaks=Speaks.CONSUMER, fresh_id=MemberId("n")
            ),
            (),
        )
        for one in wrong
    ]
    assert [None if fault is None else fault.reason for fault in told] == [
        "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
        "InstanceId can't be null.",
    ]
