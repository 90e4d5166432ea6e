"""Tests of the wait at a group's beginning: who waits, how long, and that one target answers all."""

from dataclasses import replace

from bridge.engine.apply import apply
from bridge.engine.commands import MemberHeartbeat, Speaks
from bridge.engine.consumer.heartbeats import park, pass_delay
from bridge.engine.consumer.membership import Admission, admit
from bridge.engine.records import DelayChanged, TargetEpochReached
from tests.support.engine_bench import GROUP, Bench, beat_request, join_request, parts
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import LEAVE_EPOCH, MemberId


def classic_join(bench: Bench, member: str, rebalance_timeout_ms: int = 60_000) -> MemberHeartbeat:
    """A translated member joins."""
    request = replace(join_request(member), rebalance_timeout_ms=rebalance_timeout_ms)
    command = bench.command(request, Speaks.CLASSIC)
    bench.tell(command)
    return command


def test_classic_joiners_of_an_empty_group_are_answered_together() -> None:
    """One target for all who came within the delay (decision 13)."""
    bench = Bench()
    first = classic_join(bench, "a")
    assert bench.outcome.replies == ()
    answers = bench.answers(bench.pass_time(3_000))
    assert answers[first.ref].reply.assignment == parts(*range(6))


def test_delay_grows_while_newcomers_come_up_to_the_first_rebalance_timeout() -> None:
    """Steps of three seconds, at most the first member's rebalance timeout (K1.30)."""
    bench = Bench()
    waiting = [classic_join(bench, "a", rebalance_timeout_ms=7_000)]
    ends: list[int] = []
    for member in "bcd":
        bench.now_ms += 1_000
        waiting.append(classic_join(bench, member))
        bench.now_ms = min(bench.state.deadlines.due.values())
        bench.pass_time(0)
        ends.append(bench.now_ms)
        if bench.outcome.replies:
            break
    assert ends == [3_000, 6_000, 7_000]
    answers = bench.answers(bench.outcome)
    assert {command.ref for command in waiting} == answers.keys()
    targets = [record for record in bench.records if isinstance(record, TargetEpochReached)]
    assert targets == [TargetEpochReached(GROUP, 5, "uniform")]
    assert sorted(len(answer.reply.assignment or ()) for answer in answers.values()) == [1, 1, 2, 2]


def test_first_member_alone_waits_one_delay() -> None:
    """It does not lengthen its own wait, nor does its second join (K1.30)."""
    bench = Bench()
    classic_join(bench, "a")
    classic_join(bench, "a")
    assert len(bench.pass_time(3_000).replies) == 2


def test_first_member_of_a_group_that_was_left_by_all_waits_again() -> None:
    """An emptied group is as new: whoever restarts its whole fleet comes together."""
    bench = Bench()
    bench.join("gone")
    bench.ask(beat_request("gone", LEAVE_EPOCH))
    waiting = classic_join(bench, "a")
    assert bench.outcome.replies == ()
    assert waiting.ref in bench.answers(bench.pass_time(3_000))


def test_native_first_member_does_not_wait() -> None:
    """A classic one that follows doesn't either (decision 13)."""
    bench = Bench()
    assert bench.join("a").reply.assignment == parts(*range(6))
    second = classic_join(bench, "b")
    assert bench.answers(bench.outcome)[second.ref].pending == bench.target("b")


def test_native_joiner_during_the_delay_gets_an_empty_assignment_at_once() -> None:
    """It comes again by itself (decision 13)."""
    bench = Bench()
    classic_join(bench, "a")
    reply = bench.join("b").reply
    assert (reply.error, reply.member_epoch, reply.assignment) == (ErrorCode.NONE, 1, frozenset())
    bench.pass_time(3_000)
    assert bench.beat("b").reply.assignment == bench.target("b") != frozenset()


def test_joiner_that_leaves_during_the_delay_is_unknown_at_its_end() -> None:
    """Every command gets its answer."""
    bench = Bench()
    gone = classic_join(bench, "a")
    bench.ask(beat_request("a", LEAVE_EPOCH), Speaks.CLASSIC)
    answers = bench.answers(bench.pass_time(3_000))
    assert answers[gone.ref].reply.error is ErrorCode.UNKNOWN_MEMBER_ID


def test_classic_joiners_wait_until_assignments_are_allowed() -> None:
    """After a start without memory nobody is assigned before the survivors had time to come (decision 9)."""
    bench = Bench(no_assignment_before_ms=5_000)
    waiting = classic_join(bench, "a")
    native = bench.join("b")
    assert native.reply.assignment == frozenset()
    assert bench.pass_time(4_999).replies == ()
    answers = bench.answers(bench.pass_time(1))
    assert answers[waiting.ref].reply.assignment == bench.target("a")
    assert bench.target("a") | bench.target("b") == parts(*range(6))


def test_native_members_get_their_target_when_assignments_are_allowed() -> None:
    """Nobody has to heartbeat for it (decision 9)."""
    bench = Bench(no_assignment_before_ms=5_000)
    bench.join("a")
    bench.pass_time(5_000)
    assert bench.target("a") == parts(*range(6))


def test_end_of_a_wait_that_is_over_ends_it() -> None:
    """A deadline may come late."""
    bench = Bench()
    bench.join("a")
    assert bench.group.delay is None
    assert pass_delay(bench.state, bench.group, 0) == (DelayChanged(GROUP, None),)


def test_who_waits_for_nothing_parks_nothing() -> None:
    """A native member, and a translated one that joins a group that runs."""
    bench = Bench()
    bench.join("a")
    asked = bench.command(join_request("b"), Speaks.CLASSIC)
    admission = admit(bench.state, asked)
    assert isinstance(admission, Admission)
    for record in admission.records:
        apply(bench.state, record)
    native = replace(admission.ask, member_id=MemberId("a"))
    assert [park(bench.state, bench.group, ask, False, 0) for ask in (admission.ask, native)] == [(), ()]
