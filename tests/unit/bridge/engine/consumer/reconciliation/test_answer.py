"""Tests of the answer to a heartbeat: what it carries, what it leaves out, and which deadlines it moves."""

from dataclasses import replace

from bridge.engine.consumer.reconciliation import is_settled, pending_of
from bridge.engine.records import CurrentAssigned, DeadlineSet
from bridge.engine.settings import EngineSettings
from tests.support.engine_bench import BAR, FOO, Bench, beat_request, join_request, parts
from translators.dialects.ids import MemberId

A, B = MemberId("a"), MemberId("b")


def test_unchanged_assignment_is_left_out_unless_asked_for() -> None:
    """A heartbeat that says everything asks for everything (K2.42)."""
    bench = Bench()
    bench.join("a")
    assert bench.beat("a").reply.assignment is None
    full = replace(join_request("a"), member_epoch=2)
    assert bench.ask(full).reply.assignment == parts(*range(6))


def test_partition_to_give_up_is_left_out_of_the_assignment() -> None:
    """That is the signal to revoke; an empty list is not None (K2.43)."""
    bench = Bench()
    bench.join("a")
    bench.join("b")
    reply = bench.beat("a").reply
    assert (reply.member_epoch, reply.assignment) == (2, bench.target("a"))


def test_pending_names_what_others_hold() -> None:
    """A known set, empty as soon as it can be granted (decision 17)."""
    bench = Bench()
    bench.join("a")
    waiting = bench.join("b")
    assert (waiting.reply.assignment, waiting.pending) == (frozenset(), bench.target("b"))
    bench.beat("a")
    bench.beat("a", bench.assigned("a"))
    assert pending_of(bench.state, bench.group, B) == frozenset()
    assert bench.beat("b").reply.assignment == bench.target("b")


def test_member_waiting_for_others_is_settled_until_something_is_free() -> None:
    """In Kafka its next heartbeat writes a record all the same (K2.35); one that can't change anything is O(1) here."""
    bench = Bench()
    bench.join("a")
    bench.join("b")
    bench.beat("b")
    assert is_settled(bench.group, B, bench.current("b"))
    bench.beat("b")
    assert [type(record) for record in bench.outcome.records] == [DeadlineSet]
    bench.beat("a")
    bench.beat("a", bench.assigned("a"))
    assert not is_settled(bench.group, B, bench.current("b"))


def test_revocation_arms_its_own_deadline_and_acknowledgement_clears_it() -> None:
    """Next to the session, from the member's own timeout (K2.37)."""
    bench = Bench()
    bench.ask(replace(join_request("a"), rebalance_timeout_ms=7_000))
    bench.join("b")
    bench.beat("a")
    assert sorted(bench.state.deadlines.due.values()) == [7_000, 45_000, 45_000]
    assert any(isinstance(record, CurrentAssigned) for record in bench.outcome.records)
    bench.beat("a", bench.assigned("a"))
    assert sorted(bench.state.deadlines.due.values()) == [45_000, 45_000]


def test_leaver_is_answered_its_id_and_epoch_only() -> None:
    """It has no assignment any more, and no next heartbeat to wait for (K2.14)."""
    bench = Bench()
    bench.join("a")
    reply = bench.leave("a").reply
    assert (reply.member_id, reply.member_epoch, reply.heartbeat_interval_ms, reply.assignment) == (A, -1, 0, None)


def test_member_at_rest_that_wants_less_gives_up_the_rest_at_once() -> None:
    """Also while no new target may be computed yet (K11.4 on 2.36); one that wants what it wanted keeps all."""
    slow = EngineSettings(group_initial_rebalance_delay_ms=0, group_consumer_assignment_interval_ms=60_000)
    bench = Bench(settings=slow)
    bench.join("a", "foo", "bar")
    bench.settle("a")
    assert bench.assigned("a") == parts(*range(6)) | parts(*range(3), of="bar")
    request = beat_request("a", bench.current("a").epoch, bench.assigned("a"))
    bench.ask(replace(request, subscribed_topic_names=(FOO, BAR)))
    assert bench.assigned("a") == parts(*range(6)) | parts(*range(3), of="bar")
    bench.ask(replace(request, subscribed_topic_names=(BAR,)))
    assert bench.group.epoch > bench.group.assignment_epoch
    assert bench.assigned("a") == parts(*range(3), of="bar")


def test_topic_given_up_does_not_come_back_by_a_target_from_before() -> None:
    """While the target is still to be computed anew, what it says of topics that the member has given up counts for
    nothing (K11.4 on 2.36).
    """
    slow = EngineSettings(group_initial_rebalance_delay_ms=0, group_consumer_assignment_interval_ms=30_000)
    bench = Bench(settings=slow)
    bench.join("a", "foo", "bar")
    bench.settle("a")
    epoch, bars = bench.current("a").epoch, parts(*range(3), of="bar")
    bench.ask(replace(beat_request("a", epoch), subscribed_topic_names=(BAR,)))
    assert bench.beat("a", bars).reply.assignment is None
    assert (bench.assigned("a"), pending_of(bench.state, bench.group, A)) == (bars, frozenset())
    bench.pass_time(30_000)
    bench.settle("a")
    assert bench.assigned("a") == bench.target("a") == bars
