"""Tests of when a group gets its target, and of what a failing assignor leaves behind."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from bridge.engine.commands import RemoveMembers, Speaks
from bridge.engine.outcome import AssignorFailed, GroupEmptied
from bridge.engine.settings import EngineSettings
from tests.support.engine_bench import (
    BAR,
    GROUP,
    Bench,
    Partitions,
    ScriptedAssignor,
    beat_request,
    join_request,
    parts,
    static_join_request,
    topic,
)
from translators.dialects.classic import LeaveGroup, LeavingMember
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import LEAVE_EPOCH, MemberId

THROTTLED = EngineSettings(group_consumer_assignment_interval_ms=1_000, group_initial_rebalance_delay_ms=0)
NO_WAIT = EngineSettings(departure_wait_ms=0)
FAILED = AssignorFailed(GROUP, "uniform", "LookupError: the script is at its end")
ALL = parts(*range(6))


def scripted(*targets: Mapping[str, Partitions]) -> Bench:
    """A bench whose assignor gives these targets and then fails."""
    return Bench(assignors={"uniform": ScriptedAssignor(targets=list(targets))})


def test_throttled_group_answers_newcomers_with_the_old_epoch_and_nothing() -> None:
    """The target follows when the interval is over, and nobody has to heartbeat for it (K11.4 on 2.26)."""
    bench = Bench(settings=THROTTLED)
    bench.join("a")
    reply = bench.join("b").reply
    assert (reply.member_epoch, reply.assignment, bench.group.epoch) == (2, frozenset(), 3)
    assert bench.pass_time(999).records == ()
    bench.pass_time(1)
    assert (bench.group.assignment_epoch, bench.target("a") | bench.target("b")) == (3, ALL)


def test_throttled_group_computes_with_the_next_heartbeat_after_the_interval() -> None:
    """That is when Kafka does, as nothing else wakes it (K11.4 on 2.26)."""
    bench = Bench(settings=THROTTLED)
    bench.join("a")
    bench.join("b")
    bench.now_ms = 1_000
    bench.beat("b")
    assert bench.group.assignment_epoch == 3


def test_failing_assignor_undoes_the_join_and_says_so() -> None:
    """-1 to the joiner, who is no member; the others keep their target and their epoch (K2.28)."""
    bench = scripted({"a": ALL})
    bench.join("a")
    reply = bench.join("b").reply
    assert (reply.error, list(bench.group.members), bench.target("a")) == (
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ["a"],
        ALL,
    )
    assert bench.outcome.notices == (FAILED,)
    assert bench.beat("a").reply.error is ErrorCode.NONE


def test_failing_assignor_restores_the_old_subscription() -> None:
    """The member that changed it is told, and may ask again (K2.28)."""
    bench = scripted({"a": ALL})
    bench.join("a")
    before = bench.member("a")
    changed = replace(beat_request("a", 2), subscribed_topic_names=(BAR,))
    assert bench.code(changed) is ErrorCode.UNKNOWN_SERVER_ERROR
    assert bench.member("a") == before


def test_failing_assignor_leaves_a_taken_seat_with_its_old_wish() -> None:
    """The seat changed hands, which needs no target; the new wish did."""
    bench = scripted({"new-1": ALL})
    bench.join("x")
    bench.leave("x")
    static = replace(static_join_request("a", "seat"), subscribed_topic_names=())
    bench.ask(static)
    taken = bench.command(replace(static_join_request("", "seat"), subscribed_topic_names=(BAR,)), Speaks.CLASSIC)
    answers = bench.answers(bench.tell(taken))
    assert answers[taken.ref].reply.error is ErrorCode.UNKNOWN_SERVER_ERROR
    [member] = bench.group.members.values()
    assert (member.subscription.member_id, member.subscription.names) == (taken.fresh_id, frozenset())


def test_leave_succeeds_although_the_assignor_fails_and_is_retried() -> None:
    """Departures can't be undone; the target is tried again after a while, not with every heartbeat."""
    bench = scripted({"a": parts(0, 1, 2), "b": parts(3, 4, 5)})
    bench.tell(bench.command(join_request("a")), bench.command(join_request("b")))
    assert bench.code(beat_request("b", LEAVE_EPOCH)) is ErrorCode.NONE
    assert bench.outcome.notices[-1] == FAILED
    bench.beat("a")
    assert bench.outcome.notices == ()
    assert bench.pass_time(1_000).notices == (FAILED,)


def test_joiner_removed_before_the_assignor_failed_stays_removed() -> None:
    """What undoes a join must not stumble over a member that is gone already, nor bring it back."""
    bench = scripted({"a": ALL})
    bench.join("a")
    join = bench.command(join_request("b"))
    leaving = LeaveGroup(group_id=GROUP, members=(LeavingMember(member_id=MemberId("b")),))
    answers = bench.answers(bench.tell(join, RemoveMembers(bench.ref(), leaving)))
    assert answers[join.ref].reply.error is ErrorCode.UNKNOWN_MEMBER_ID
    assert list(bench.group.members) == ["a"]


def test_first_joiner_of_a_group_with_failing_assignor_leaves_it_empty() -> None:
    """Nobody is left in a group that can't be served."""
    bench = scripted()
    assert bench.join("a").reply.error is ErrorCode.UNKNOWN_SERVER_ERROR
    assert bench.outcome.notices == (FAILED, GroupEmptied(GROUP))


@pytest.mark.parametrize("taken", [0, 1, 2, 3])
def test_what_nobody_has_taken_yet_is_given_before_what_is_in_use(taken: int) -> None:
    """A member leaves and another comes before all the others have heard (issue 17): what is still idle goes to it, and
    of what is in use only as much as balance asks for.
    """
    bench = Bench(settings=NO_WAIT, topics=(topic("foo", 12),))
    for member in "abcd":
        bench.join(member)
        bench.settle(*"abcd"[: "abcd".index(member) + 1])
    left = bench.target("d")
    bench.leave("d")
    for member in "abc"[:taken]:
        bench.beat(member)
    in_use = {member: bench.assigned(member) for member in "abc"}
    bench.join("again")
    for member in "abc":
        still_idle = left - frozenset().union(*in_use.values())
        assert bench.target(member) >= in_use[member] or not bench.target(member) & still_idle
    moved = sum(len(in_use[member] - bench.target(member)) for member in "abc")
    assert moved == taken
    assert len(bench.target("again")) == 3


def test_assignor_that_fails_leaves_the_target_as_it_was() -> None:
    """Also what nobody has taken yet."""
    bench = scripted({"a": ALL}, {"a": parts(0, 1, 2), "b": parts(3, 4, 5)}, {"a": ALL})
    bench.join("a")
    bench.join("b")
    bench.settle("a", "b")
    bench.leave("b")
    assert (bench.target("a"), bench.assigned("a")) == (ALL, parts(0, 1, 2))
    bench.join("again")
    assert bench.target("a") == ALL
    assert bench.group.grantable[MemberId("a")] == parts(3, 4, 5)
