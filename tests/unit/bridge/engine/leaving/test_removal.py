"""Tests of LeaveGroup on consumer groups."""

from bridge.engine.commands import RemoveMembers
from bridge.engine.outcome import MemberRemoved, RemovalCause
from tests.support.engine_bench import GROUP, Bench, parts, static_join_request
from translators.dialects.classic import LeaveGroup, LeaveGroupReply, LeavingMember, LeftMember
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import InstanceId, MemberId


def entry(member: str, instance: str | None = None) -> LeavingMember:
    """One seat to be given up."""
    return LeavingMember(member_id=MemberId(member), instance_id=None if instance is None else InstanceId(instance))


def remove(bench: Bench, *entries: LeavingMember) -> LeaveGroupReply:
    """Carry out a batch."""
    message = bench.tell(RemoveMembers(bench.ref(), LeaveGroup(group_id=GROUP, members=entries))).replies[0][1]
    assert isinstance(message, LeaveGroupReply)
    return message


def three_members() -> Bench:
    """Native a and b, and a native static c."""
    bench = Bench()
    bench.join("a")
    bench.join("b")
    bench.ask(static_join_request("c", "seat"))
    return bench


def test_batch_is_answered_entry_by_entry_and_echoed_as_asked() -> None:
    """Native members too, an empty id stays empty (K4.40 with 11.4)."""
    bench = three_members()
    entries = [entry("", "seat"), entry("x"), entry("a", "none"), entry("b", "seat"), entry("a"), entry("")]
    reply = remove(bench, *entries)
    none, unknown, fenced = ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID
    assert reply == LeaveGroupReply(
        error=none,
        members=tuple(
            LeftMember(member_id=one.member_id, instance_id=one.instance_id, error=code)
            for one, code in zip(entries, [none, unknown, unknown, fenced, none, unknown], strict=True)
        ),
    )


def test_batch_moves_the_epoch_once_and_the_rest_keep_theirs() -> None:
    """One step of the epoch for all of it (K4.41); the others' shares stay: nobody is disturbed who only gains."""
    bench = three_members()
    bench.settle("a", "b", "c")
    kept, epoch = bench.assigned("b"), bench.group.epoch
    remove(bench, entry("a"), entry("c", "seat"))
    assert (bench.group.epoch, bench.group.assignment_epoch) == (epoch + 1, epoch + 1)
    assert kept < bench.target("b") == parts(*range(6))
    causes = [one.cause for one in bench.outcome.notices if isinstance(one, MemberRemoved)]
    assert causes == [RemovalCause.REMOVED] * 2


def test_entry_twice_in_a_batch_succeeds_twice() -> None:
    """Each entry is judged on the state before the batch (K12.19)."""
    reply = remove(three_members(), entry("a"), entry("a"))
    assert [left.error for left in reply.members] == [ErrorCode.NONE] * 2


def test_unknown_group_refuses_each_entry() -> None:
    """Whatever kind it was to be (K1.58, K4.42), the request as a whole is no error."""
    reply = remove(Bench(), entry("a"))
    assert (reply.error, reply.members[0].error) == (ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID)
