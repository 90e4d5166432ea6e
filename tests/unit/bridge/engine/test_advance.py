"""Tests of a turn as a whole: what is queued together shares a target, and each command gets one answer."""

from dataclasses import replace

from bridge.engine.commands import EndCommit, RemoveMembers, Speaks
from bridge.engine.records import DeadlineSet, TargetEpochReached
from bridge.engine.settings import EngineSettings
from tests.support.engine_bench import GROUP, Bench, beat_request, join_request
from translators.dialects.classic import LeaveGroup, LeavingMember
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import LEAVE_EPOCH, MemberId

NO_DELAY = EngineSettings(group_initial_rebalance_delay_ms=0)


def test_joins_queued_together_share_one_target_and_move_nobody() -> None:
    """Forming a group in one turn assigns once, and everybody starts with its final share (decision 13)."""
    bench = Bench()
    commands = [bench.command(join_request(member)) for member in "abc"]
    answers = bench.answers(bench.tell(*commands))
    assert [record for record in bench.outcome.records if isinstance(record, TargetEpochReached)] == [
        TargetEpochReached(GROUP, 2, "uniform")
    ]
    assert [len(answers[command.ref].reply.assignment or ()) for command in commands] == [2, 2, 2]
    assert [answers[command.ref].pending for command in commands] == [frozenset()] * 3


def test_newcomers_that_bring_no_id_share_one_target_too() -> None:
    """Version 0 of the heartbeat has none: each speaks under the id that it gets."""
    bench = Bench()
    joins = [bench.command(replace(join_request(""), has_client_id=False)) for _ in range(3)]
    answers = bench.answers(bench.tell(*joins))
    assert [type(record) for record in bench.outcome.records].count(TargetEpochReached) == 1
    assert [len(answers[join.ref].reply.assignment or ()) for join in joins] == [2, 2, 2]


def test_join_and_leave_of_others_queued_together_share_one_target() -> None:
    """A newcomer and a leaver in one turn: one epoch, and the newcomer gets what the leaver had."""
    bench = Bench()
    bench.join("a")
    leave, join = bench.command(beat_request("a", LEAVE_EPOCH)), bench.command(join_request("b"))
    answers = bench.answers(bench.tell(leave, join))
    assert answers[join.ref].reply.member_epoch == 3
    assert len(answers[join.ref].reply.assignment or ()) == 6


def test_member_that_speaks_twice_sees_its_first_command_done() -> None:
    """A join and a leave of one member in one turn are carried out one after the other, and both answered."""
    bench = Bench()
    join, leave = bench.command(join_request("a")), bench.command(beat_request("a", LEAVE_EPOCH))
    answers = bench.answers(bench.tell(join, leave))
    assert [answers[command.ref].reply.error for command in (join, leave)] == [ErrorCode.NONE, ErrorCode.NONE]
    assert len(answers[join.ref].reply.assignment or ()) == 6
    assert bench.group.members == {}


def test_member_removed_before_its_answer_is_unknown() -> None:
    """An admin's removal in the same turn overtakes the join's answer."""
    bench = Bench()
    join = bench.command(join_request("a"))
    removal = RemoveMembers(bench.ref(), LeaveGroup(group_id=GROUP, members=(LeavingMember(member_id=MemberId("a")),)))
    answers = bench.answers(bench.tell(join, removal))
    assert answers[join.ref].reply.error is ErrorCode.UNKNOWN_MEMBER_ID


def test_native_heartbeat_without_change_writes_its_session_only() -> None:
    """Cost: at most one volatile record."""
    bench = Bench()
    bench.join("a")
    bench.now_ms = 100
    bench.beat("a")
    assert [type(record) for record in bench.outcome.records] == [DeadlineSet]


def test_translated_heartbeat_without_change_writes_nothing() -> None:
    """Its deadlines belong to its machine (decision 16)."""
    bench = Bench(settings=NO_DELAY)
    bench.ask(join_request("a"), Speaks.CLASSIC)
    assert bench.state.deadlines.due == {}
    bench.ask(beat_request("a", 2), Speaks.CLASSIC)
    assert bench.outcome.records == ()


def test_command_without_effect_leaves_nothing() -> None:
    """The end of a commit that nobody knows, from before a restart perhaps."""
    assert Bench().tell(EndCommit(7)).records == ()
