"""Tests of what the containers tell: topics of a subscription, and whether a partition is free."""

from dataclasses import replace

from bridge.engine.apply import apply
from bridge.engine.commands import ResolveRegularExpression
from bridge.engine.records import CommitBegun
from bridge.engine.state import is_free_for, is_in_flight, topic_ids_of, topic_names_of
from tests.support.engine_bench import BAR, FOO, GROUP, Bench, parts, topic_id
from translators.dialects.ids import MemberId, TopicName

A, B = MemberId("a"), MemberId("b")


def test_pattern_resolved_adds_its_topics() -> None:
    """A member wants its names and what its pattern matches, as far as that is known."""
    bench = Bench()
    bench.join("a")
    wish = replace(bench.member("a").subscription, pattern="b.*")
    assert topic_names_of(bench.state, wish) == {FOO}
    bench.tell(ResolveRegularExpression("b.*", frozenset({BAR})))
    assert topic_names_of(bench.state, wish) == {FOO, BAR}


def test_unknown_topic_has_no_id() -> None:
    """K9.1: topics that don't exist are left out."""
    assert topic_ids_of(Bench().state, frozenset({FOO, TopicName("none")})) == {topic_id("foo")}


def test_partition_held_is_free_for_its_owner_only() -> None:
    """K11.4 on 2.36: a member's own partitions count as free for itself."""
    bench = Bench()
    bench.join("a")
    [zero] = parts(0)
    assert (is_free_for(bench.state, bench.group, A, zero), is_free_for(bench.state, bench.group, B, zero)) == (
        True,
        False,
    )


def test_partition_with_commit_on_its_way_is_free_for_nobody() -> None:
    """Decision 2, also for a partition that nobody holds."""
    bench = Bench()
    bench.join("a", "bar")
    [zero] = parts(0)
    assert is_free_for(bench.state, bench.group, B, zero)
    apply(bench.state, CommitBegun(1, GROUP, parts(0)))
    assert is_in_flight(bench.state, GROUP, zero)
    assert not is_free_for(bench.state, bench.group, B, zero)
