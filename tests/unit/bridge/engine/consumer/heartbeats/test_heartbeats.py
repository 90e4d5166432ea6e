"""Tests of a heartbeat's first phase: leaving, and what is told to others."""

from dataclasses import replace

from bridge.engine.commands import ResolveRegularExpression, Speaks
from bridge.engine.model import DeadlineKey, DeadlineKind
from bridge.engine.outcome import GroupEmptied, MemberRemoved, RegularExpressionWanted, RemovalCause
from bridge.engine.settings import EngineSettings
from tests.support.engine_bench import BAR, GROUP, Bench, beat_request, join_request, static_join_request
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import LEAVE_EPOCH, STATIC_LEAVE_EPOCH, InstanceId, MemberId

A = MemberId("a")
SEAT = InstanceId("seat")
NO_DELAY = EngineSettings(group_initial_rebalance_delay_ms=0)


def away(member: str) -> ErrorCode:
    """A static member leaves for a while."""
    bench = Bench()
    bench.ask(static_join_request("a", "seat"))
    return bench.code(replace(beat_request(member, STATIC_LEAVE_EPOCH), instance_id=SEAT))


def test_leaver_is_gone_and_the_group_empty() -> None:
    """Whatever its epoch (K2.12)."""
    bench = Bench()
    bench.join("a")
    bench.leave("a")
    removed = MemberRemoved(
        group_id=GROUP, member_id=A, instance_id=None, cause=RemovalCause.LEFT, client_id="client", member_epoch=2
    )
    assert bench.outcome.notices == (removed, GroupEmptied(GROUP))


def test_leave_of_unknown_group_member_or_instance_is_refused() -> None:
    """GROUP_ID_NOT_FOUND without the group (K2.11), UNKNOWN_MEMBER_ID without member (K2.12) or seat (K2.13)."""
    bench = Bench()
    seen = [bench.code(beat_request("a", LEAVE_EPOCH))]
    bench.join("a")
    seen.append(bench.code(beat_request("b", LEAVE_EPOCH)))
    seen.append(bench.code(replace(beat_request("a", LEAVE_EPOCH), instance_id=SEAT)))
    unknown = ErrorCode.UNKNOWN_MEMBER_ID
    assert seen == [ErrorCode.GROUP_ID_NOT_FOUND, unknown, unknown]


def test_static_leave_by_another_id_is_fenced() -> None:
    """The seat is another member's (K2.13); version 0 with a blank id is answered so, too (11.4)."""
    assert [away("a"), away("b")] == [ErrorCode.NONE, ErrorCode.FENCED_INSTANCE_ID]


def test_static_member_may_leave_for_good_without_naming_its_seat() -> None:
    """Without an instance id the member id is enough (K2.12)."""
    bench = Bench()
    bench.ask(static_join_request("a", "seat"))
    bench.leave("a")
    assert (bench.group.members, bench.group.instances) == ({}, {})


def test_member_away_while_revoking_keeps_what_it_has_and_frees_the_rest() -> None:
    """Pending revocation is cleared, its rebalance deadline with it (K2.13)."""
    bench = Bench()
    bench.ask(static_join_request("a", "seat"))
    bench.join("b")
    bench.beat("a")
    kept = bench.assigned("a")
    bench.ask(replace(beat_request("a", STATIC_LEAVE_EPOCH), instance_id=SEAT))
    assert (bench.assigned("a"), bench.current("a").pending_revocation) == (kept, {})
    assert DeadlineKey(DeadlineKind.REBALANCE, GROUP, A) not in bench.state.deadlines.due
    assert bench.beat("b").reply.assignment == bench.target("b")


def test_translated_static_member_away_gets_a_session() -> None:
    """Its machine is gone: somebody must end the seat."""
    bench = Bench(settings=NO_DELAY)
    bench.ask(static_join_request("", "seat"), Speaks.CLASSIC)
    member = bench.group.instances[SEAT]
    bench.ask(replace(beat_request(member, STATIC_LEAVE_EPOCH), instance_id=SEAT), Speaks.CLASSIC)
    assert bench.state.deadlines.due == {DeadlineKey(DeadlineKind.SESSION, GROUP, member): 45_000}


def test_unresolved_pattern_is_asked_for() -> None:
    """The engine runs no patterns: the shell is told which it needs."""
    bench = Bench()
    wish = replace(join_request("a"), subscribed_topic_names=None, subscribed_topic_regex="b.*")
    bench.ask(wish)
    assert bench.outcome.notices == (RegularExpressionWanted(GROUP, "b.*"),)


def test_pattern_that_is_resolved_is_not_asked_for_again() -> None:
    """Each member that joins with it would cost a walk over all topics."""
    bench = Bench()
    wish = replace(join_request("a"), subscribed_topic_names=None, subscribed_topic_regex="b.*")
    bench.ask(wish)
    bench.tell(ResolveRegularExpression("b.*", frozenset({BAR})))
    bench.ask(replace(wish, member_id=MemberId("b")))
    assert not [one for one in bench.outcome.notices if isinstance(one, RegularExpressionWanted)]
