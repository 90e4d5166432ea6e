"""Tests of what passes with time: sessions, revocations, and the targets that follow."""

from dataclasses import replace

from bridge.engine.commands import Speaks
from bridge.engine.outcome import GroupEmptied, MemberRemoved, PartitionsFreed, RemovalCause, TargetChanged
from tests.support.engine_bench import GROUP, Bench, beat_request, join_request, parts, static_join_request
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import STATIC_LEAVE_EPOCH, InstanceId, MemberId

A, B = MemberId("a"), MemberId("b")


def removed(member_id: MemberId, cause: RemovalCause, epoch: int = 2) -> MemberRemoved:
    """The notice of a dynamic member's end, in the epoch it had reached."""
    return MemberRemoved(
        group_id=GROUP, member_id=member_id, instance_id=None, cause=cause, client_id="client", member_epoch=epoch
    )


def test_silent_member_expires_and_the_others_are_told_at_once() -> None:
    """A session that ends takes its member away (K2.50); in Kafka the new target waits for a heartbeat (K2.26)."""
    bench = Bench()
    bench.join("a")
    bench.join("b")
    bench.settle("a", "b")
    shared = bench.assigned("b")
    bench.now_ms = 44_999
    bench.beat("a")
    outcome = bench.pass_time(1)
    assert outcome.notices == (
        removed(B, RemovalCause.SESSION_EXPIRED, epoch=3),
        TargetChanged(GROUP, frozenset({A})),
        PartitionsFreed(GROUP, shared, frozenset({A})),
    )
    assert bench.beat("a").reply.assignment == parts(*range(6))


def test_member_heard_of_in_time_stays() -> None:
    """Each heartbeat starts the session anew (K2.41)."""
    bench = Bench()
    bench.join("a")
    bench.now_ms = 44_999
    bench.beat("a")
    assert bench.pass_time(44_999).records == ()
    assert bench.pass_time(1).notices == (removed(A, RemovalCause.SESSION_EXPIRED), GroupEmptied(GROUP))


def test_member_that_never_revokes_is_removed_although_it_heartbeats() -> None:
    """Heartbeats don't extend the rebalance timeout (K2.37)."""
    bench = Bench()
    bench.ask(replace(join_request("a"), rebalance_timeout_ms=10_000))
    bench.join("b")
    bench.beat("a")
    bench.now_ms = 9_999
    bench.beat("a")
    assert removed(A, RemovalCause.REBALANCE_TIMED_OUT) in bench.pass_time(1).notices


def test_deadline_that_went_with_its_member_keeps_no_other_from_passing() -> None:
    """One member's session and both members' time to revoke end in the same moment (K0.3.3)."""
    bench = Bench()
    for member in "ab":
        bench.ask(replace(join_request(member), rebalance_timeout_ms=45_000))
    bench.settle("a", "b")
    bench.join("c")
    bench.join("d")
    for member in "ab":
        bench.beat(member)
    bench.now_ms = 10_000
    bench.beat("b")
    gone = [notice for notice in bench.pass_time(35_000).notices if isinstance(notice, MemberRemoved)]
    causes = {notice.member_id: notice.cause for notice in gone}
    assert (causes[A], causes[B]) == (RemovalCause.SESSION_EXPIRED, RemovalCause.REBALANCE_TIMED_OUT)


def test_member_that_revoked_in_time_stays() -> None:
    """The acknowledgement ends the wait (K2.37)."""
    bench = Bench()
    bench.ask(replace(join_request("a"), rebalance_timeout_ms=10_000))
    bench.join("b")
    bench.beat("a")
    bench.beat("a", bench.assigned("a"))
    assert bench.pass_time(10_000).notices == ()


def test_static_member_away_too_long_expires_by_its_running_session() -> None:
    """Leaving for a while neither ends nor extends the session (K2.13)."""
    bench = Bench()
    bench.ask(static_join_request("a", "seat"))
    bench.now_ms = 40_000
    away = replace(beat_request("a", STATIC_LEAVE_EPOCH), instance_id=InstanceId("seat"))
    assert bench.code(away) is ErrorCode.NONE
    assert bench.pass_time(4_999).notices == ()
    assert GroupEmptied(GROUP) in bench.pass_time(1).notices


def test_several_expire_together_with_one_epoch() -> None:
    """Several departures at once compute once."""
    bench = Bench()
    for member in "abc":
        bench.join(member)
    epoch = bench.group.epoch
    bench.now_ms = 44_999
    bench.beat("c")
    bench.pass_time(1)
    assert (list(bench.group.members), bench.group.epoch) == (["c"], epoch + 1)


def test_translated_member_never_expires_here() -> None:
    """Its machine decides (decision 16)."""
    bench = Bench()
    bench.tell(bench.command(join_request("a"), Speaks.CLASSIC))
    bench.pass_time(10_000_000)
    assert list(bench.group.members) == ["a"]
