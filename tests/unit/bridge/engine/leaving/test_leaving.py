"""Tests of LeaveGroup where the type of the group is not known to who sends it."""

from bridge.engine.commands import ClassicLeave, RemoveMembers
from tests.support.engine_bench import GROUP, Bench
from translators.dialects.classic import LeaveGroup, LeaveGroupReply, LeavingMember, LeftMember
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId


def test_either_command_removes_from_a_consumer_group() -> None:
    """Native members too (K4.40 with 11.4)."""
    bench = Bench()
    for member, command in (("a", ClassicLeave), ("b", RemoveMembers)):
        bench.join(member)
        ref = bench.ref()
        entry = LeavingMember(member_id=MemberId(member))
        outcome = bench.tell(command(ref, LeaveGroup(group_id=GROUP, members=(entry,))))
        left = LeftMember(member_id=MemberId(member), instance_id=None, error=ErrorCode.NONE)
        assert outcome.replies == ((ref, LeaveGroupReply(error=ErrorCode.NONE, members=(left,))),)
        assert MemberId(member) not in bench.group.members
