"""Tests of LeaveGroup on classic groups."""

from bridge.engine.commands import ClassicLeave, RemoveMembers
from bridge.engine.model import Phase
from tests.support.classic_bench import ClassicBench, join_of
from tests.support.engine_bench import GROUP
from translators.dialects.classic import LeaveGroup, LeaveGroupReply, LeavingMember, LeftMember
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, InstanceId, MemberId

NONE, UNKNOWN, FENCED = ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID


def test_batch_judged_entry_by_entry_and_answered_as_asked() -> None:
    """By instance, by both, unknown, fenced, and a second time; one rebalance for all (K1.59)."""
    bench = ClassicBench()
    first, second, third = bench.form("A", "B", "C")
    codes = bench.leave(("", "A"), (second, "B"), ("", "N"), ("77", "C"), ("", None), (second, "B"))
    assert codes == [NONE, NONE, UNKNOWN, FENCED, UNKNOWN, UNKNOWN]
    assert (bench.phase, set(bench.group.members)) == (Phase.PREPARING_REBALANCE, {third})
    assert first not in bench.group.members
    assert bench.group.roster.leader == third


def test_answer_echoes_ids_as_sent() -> None:
    """A removal by instance shows no member id (K1.59)."""
    bench = ClassicBench()
    bench.form("A")
    ref = bench.bench.ref()
    entry = LeavingMember(member_id=MemberId(""), instance_id=InstanceId("A"))
    bench.tell(RemoveMembers(ref, LeaveGroup(group_id=GROUP, members=(entry,))))
    left = LeftMember(member_id=MemberId(""), instance_id=InstanceId("A"), error=NONE)
    assert bench.replies[ref] == LeaveGroupReply(error=NONE, members=(left,))


def test_leaving_static_member_without_its_instance() -> None:
    """The id alone is enough (K1.24, K1.59)."""
    bench = ClassicBench()
    first, _ = bench.form("A", "B")
    assert bench.leave((first, None)) == [NONE]


def test_departure_during_the_join_phase_ends_the_wait() -> None:
    """The one that everybody waited for is gone (K1.59)."""
    bench = ClassicBench()
    first, second = bench.form("A", "B")
    ref = bench.join(join_of(first, "A"))
    assert bench.joined(ref) is None
    bench.leave((second, "B"))
    assert bench.admitted(ref).generation == 2


def test_promised_id_that_leaves_ends_the_wait_but_begins_none() -> None:
    """It is dropped, and nobody waits for it (K1.59); in a Stable group it disturbs nobody, unlike in Kafka.

    As in Kafka's testPendingMembersLeaveGroup.
    """
    bench = ClassicBench()
    first, second = bench.form("A", "B")
    assert (bench.leave((bench.promise(), None)), bench.phase) == ([NONE], Phase.STABLE)
    promised = bench.promise()
    refs = [bench.join(join_of(first, "A")), bench.join(join_of(second, "B"))]
    assert bench.joined(refs[0]) is None
    bench.leave((promised, None))
    assert [bench.admitted(ref).generation for ref in refs] == [2, 2]


def test_leave_of_no_group_at_all_refused() -> None:
    """Unknown members of an unknown group; without a group id nothing is looked up (K1.58)."""
    bench = ClassicBench()
    assert bench.leave(("m", None), ("", "A")) == [UNKNOWN, UNKNOWN]
    ref = bench.bench.ref()
    bench.tell(ClassicLeave(ref, LeaveGroup(group_id=GroupId(""), members=())))
    assert bench.replies[ref] == LeaveGroupReply(error=ErrorCode.INVALID_GROUP_ID)
