"""Every durable record has a row, and what is written today stays readable."""

from typing import get_args

import pytest

from bridge.engine.commands import Speaks
from bridge.engine.model import Current, KeptSeat, MemberState, Subscription
from bridge.engine.records import (
    CurrentAssigned,
    DurableRecord,
    GroupCreated,
    MemberSubscribed,
    NativesForgotten,
    NativesLost,
    RegularExpressionForgotten,
    RegularExpressionResolved,
    SeatKept,
    SeatsGivenUp,
    SeatTaken,
    TargetAssigned,
    TopicSeen,
    TopicsHidden,
)
from bridge.engine.records_codec import TABLE, decode, encode
from tests.support.engine_bench import FOO, GROUP, IDENTITY, parts, topic
from translators.dialects.ids import InstanceId, MemberId, TopicIdPartition

A = MemberId("a")
SUBSCRIPTION = Subscription(
    member_id=A,
    instance_id=InstanceId("seat"),
    rebalance_timeout_ms=60_000,
    identity=IDENTITY,
    speaks=Speaks.CONSUMER,
    names=frozenset({FOO}),
)
CURRENT = Current(
    epoch=5,
    previous_epoch=4,
    state=MemberState.UNREVOKED_PARTITIONS,
    assigned=dict.fromkeys(parts(0, 1), 3),
    pending_revocation={TopicIdPartition(topic("foo", 1).topic_id, 2): 2},
)
SEAT = KeptSeat(instance_id=InstanceId("seat"), identity=IDENTITY, partitions=parts(1), open_until_ms=2, until_ms=3)
FOO_HEX = topic("foo", 1).topic_id.hex()


def test_every_durable_record_has_a_row() -> None:
    """A record without a row could not be journalled."""
    assert [record.__name__ for record in get_args(DurableRecord) if not TABLE.knows(record)] == []


@pytest.mark.parametrize(
    ("record", "data"),
    [
        (GroupCreated(GROUP, 1), '["group",1,["orders",1]]'),
        (
            MemberSubscribed(GROUP, SUBSCRIPTION),
            '["member",1,["orders",["a","seat",null,60000,["client","/127.0.0.1","",""],1,["foo"],null,null]]]',
        ),
        (TargetAssigned(GROUP, A, parts(1, 0)), f'["target",1,["orders","a",[["{FOO_HEX}",0,1]]]]'),
        (
            CurrentAssigned(GROUP, A, CURRENT),
            f'["current",1,["orders","a",[5,4,1,[["{FOO_HEX}",0,3,1,3]],[["{FOO_HEX}",2,2]]]]]',
        ),
        (
            SeatKept(GROUP, SEAT),
            f'["seat-kept",1,["orders",["seat",["client","/127.0.0.1","",""],[["{FOO_HEX}",1]],2,3]]]',
        ),
        (
            SeatTaken(GROUP, SEAT),
            f'["seat-taken",1,["orders",["seat",["client","/127.0.0.1","",""],[["{FOO_HEX}",1]],2,3]]]',
        ),
        (NativesLost(GROUP), '["natives-lost",1,["orders"]]'),
        (NativesForgotten(GROUP), '["natives-forgotten",1,["orders"]]'),
        (SeatsGivenUp(GROUP), '["seats-given-up",1,["orders"]]'),
        (TopicSeen(topic("foo", 6)), f'["topic",1,[["{FOO_HEX}","foo",6]]]'),
        (RegularExpressionResolved("f.*", frozenset({FOO}), None), '["pattern",1,["f.*",["foo"],null]]'),
        (RegularExpressionForgotten("f.*"), '["pattern-gone",1,["f.*"]]'),
        (TopicsHidden(GROUP, "f.*", frozenset({FOO})), '["topics-hidden",1,["orders","f.*",["foo"]]]'),
    ],
)
def test_written_form_stays(record: DurableRecord, data: str) -> None:
    """Journals hold these bytes: another form needs a new version and a lift, not another expectation here."""
    assert encode(record) == data.encode()
    assert decode(data.encode()) == record
