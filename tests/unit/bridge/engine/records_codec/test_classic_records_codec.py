"""What is written today about classic groups stays readable."""

from dataclasses import replace

import pytest

from bridge.engine.model import ClassicMember, ShownGeneration
from bridge.engine.records import (
    ClassicGenerationReserved,
    ClassicGenerationsAliased,
    ClassicGroupCreated,
    ClassicGroupSynced,
    ClassicMemberForgotten,
    ClassicMemberReplaced,
    DurableRecord,
)
from bridge.engine.records_codec import decode, encode
from tests.support.classic_bench import offer
from tests.support.engine_bench import GROUP, IDENTITY
from translators.dialects.ids import InstanceId, MemberId

A = MemberId("a")
MEMBER = ClassicMember(
    member_id=A,
    instance_id=InstanceId("seat"),
    identity=IDENTITY,
    session_timeout_ms=6_000,
    rebalance_timeout_ms=9_000,
    protocols=offer("x", "range"),
    assignment=b"\x00\xff",
)
SYNCED = ClassicGroupSynced(
    group_id=GROUP,
    generation=4,
    protocol_type="connect",
    protocol_name="x",
    leader=A,
    members=(MEMBER, replace(MEMBER, member_id=MemberId("b"), instance_id=None, assignment=b"")),
)
TOLD = '["client","/127.0.0.1","",""],6000,9000,[["x","Zm9v"],["range","Zm9v"]]'
PLAIN_A = f'["a","seat",{TOLD},"AP8="]'
PLAIN_B = f'["b",null,{TOLD},""]'


@pytest.mark.parametrize(
    ("record", "data"),
    [
        (ClassicGroupCreated(GROUP), '["classic",1,["orders"]]'),
        (ClassicGenerationReserved(GROUP, 7), '["classic-generation",1,["orders",7]]'),
        (
            SYNCED,
            f'["classic-synced",1,["orders",4,"connect","x","a",[{PLAIN_A},{PLAIN_B}]]]',
        ),
        (
            ClassicMemberReplaced(GROUP, MemberId("z"), MEMBER),
            f'["classic-replaced",1,["orders","z",{PLAIN_A}]]',
        ),
        (
            ClassicGenerationsAliased(GROUP, (ShownGeneration(A, 7), ShownGeneration(MemberId("b"), 3))),
            '["classic-aliases",1,["orders",[["a",7],["b",3]]]]',
        ),
        (ClassicMemberForgotten(GROUP, A), '["classic-member-gone",1,["orders","a"]]'),
    ],
)
def test_written_form_stays(record: DurableRecord, data: str) -> None:
    """Journals hold these bytes: another form needs a new version and a lift, not another expectation here."""
    assert encode(record) == data.encode()
    assert decode(data.encode()) == record
