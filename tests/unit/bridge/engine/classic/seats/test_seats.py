"""Tests of who may speak for a seat, and of seats that are taken and given up."""

from bridge.engine.classic.seats import judge_identity, refuse_join, welcome
from bridge.engine.model import Phase
from bridge.engine.outcome import MemberRemoved, RemovalCause
from tests.support.classic_bench import ClassicBench, join_of
from tests.support.engine_bench import GROUP
from translators.dialects.classic import JoinedMember, JoinGroupReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import InstanceId, MemberId

UNKNOWN, FENCED = ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID


def test_identity_judged_by_instance_first_then_by_id() -> None:
    """An unknown instance 25, another's 82, an unknown id 25; a static member may omit its instance (K1.24)."""
    bench = ClassicBench()
    first, second = bench.form("A", "B")
    cases = [(first, "A"), (first, None), (first, "N"), (second, "A"), (MemberId("x"), "A"), (MemberId("x"), None)]
    codes = [judge_identity(bench.group, one, None if name is None else InstanceId(name)) for one, name in cases]
    assert codes == [ErrorCode.NONE, ErrorCode.NONE, UNKNOWN, FENCED, FENCED, UNKNOWN]


def test_superseded_join_answered_not_coordinator() -> None:
    """The first of two parked requests is answered, not forgotten as in Kafka 4.3 (K1.52, mended by KAFKA-20938)."""
    bench = ClassicBench()
    first, second = bench.form("A", "B")
    parked = bench.join(join_of(first, "A"))
    again = bench.join(join_of(first, "A"))
    assert bench.joined(parked) == refuse_join(ErrorCode.NOT_COORDINATOR, first)
    assert bench.joined(again) is None
    bench.join(join_of(second, "B"))
    assert bench.admitted(again).generation == 2


def test_removed_member_hears_of_its_parked_requests() -> None:
    """Its JoinGroup is answered 25 without id; its SyncGroup too, which Kafka forgets (K1.59)."""
    bench = ClassicBench()
    first, second = bench.form("A", "B")
    join = bench.join(join_of(first, "A"))
    bench.leave((first, "A"))
    assert bench.joined(join) == refuse_join(UNKNOWN)
    bench.join(join_of(second, "B"))
    assert bench.phase is Phase.COMPLETING_REBALANCE
    late = bench.join(join_of("", "C"))
    bench.join(join_of(second, "B"))
    third = bench.admitted(late).member_id
    sync = bench.sync(third, "C")
    assert bench.synced(sync) is None
    outcome = bench.bench.state
    bench.leave((third, "C"))
    assert bench.sync_code(sync) is UNKNOWN
    assert outcome.classic_groups[GROUP].phase is Phase.PREPARING_REBALANCE


def test_removal_is_noticed_with_its_seat() -> None:
    """Whoever watches hears who went, and why."""
    bench = ClassicBench()
    first, _ = bench.form("A", "B")
    bench.leave((first, "A"))
    assert bench.bench.outcome.notices[0] == MemberRemoved(
        group_id=GROUP,
        member_id=first,
        instance_id=InstanceId("A"),
        cause=RemovalCause.LEFT,
        client_id="client",
        generation=1,
    )


def test_welcome_names_generation_protocol_and_leader() -> None:
    """The members are for the leader only, by whom this is called (K1.37)."""
    bench = ClassicBench()
    first, second = bench.form("A", "B")
    listed = (JoinedMember(member_id=first, instance_id=InstanceId("A"), metadata=b"foo"),)
    expected = JoinGroupReply(
        error=ErrorCode.NONE,
        member_id=second,
        generation=1,
        protocol_type="consumer",
        protocol_name="range",
        leader=first,
        skip_assignment=True,
        members=listed,
    )
    assert welcome(bench.group, second, listed, skip_assignment=True) == expected
