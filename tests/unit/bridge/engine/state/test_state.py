"""Tests of what the containers tell: topics of a subscription, and whether a partition is free."""

from dataclasses import replace

from bridge.engine.apply import apply
from bridge.engine.commands import ResolveRegularExpression
from bridge.engine.records import CommitBegun
from bridge.engine.state import (
    groups_subscribed_to,
    held_until_ms,
    is_free_for,
    is_in_flight,
    topic_ids_of,
    topic_names_of,
)
from tests.support.engine_bench import BAR, FOO, GROUP, Bench, join_request, parts, topic_id
from translators.dialects.ids import MemberId, TopicName

A, B = MemberId("a"), MemberId("b")


def test_pattern_resolved_adds_its_topics() -> None:
    """A member wants its names and what its pattern matches, as far as that is known."""
    bench = Bench()
    bench.join("a")
    wish = replace(bench.member("a").subscription, pattern="b.*")
    assert topic_names_of(bench.state, {}, wish) == {FOO}
    bench.tell(ResolveRegularExpression("b.*", frozenset({BAR})))
    assert topic_names_of(bench.state, {}, wish) == {FOO, BAR}


def test_unknown_topic_has_no_id() -> None:
    """Topics that don't exist are left out (K9.1)."""
    assert topic_ids_of(Bench().state, frozenset({FOO, TopicName("none")})) == {topic_id("foo")}


def test_partition_held_is_free_for_its_owner_only() -> None:
    """A member's own partitions count as free for itself (K11.4 on 2.36)."""
    bench = Bench()
    bench.join("a")
    [zero] = parts(0)
    assert (is_free_for(bench.state, bench.group, A, zero), is_free_for(bench.state, bench.group, B, zero)) == (
        True,
        False,
    )


def test_partition_with_commit_on_its_way_is_free_for_nobody() -> None:
    """The broker fences no simple commit (decision 2); also if nobody holds the partition."""
    bench = Bench()
    bench.join("a", "bar")
    [zero] = parts(0)
    assert is_free_for(bench.state, bench.group, B, zero)
    apply(bench.state, CommitBegun(1, GROUP, parts(0)))
    assert is_in_flight(bench.state, GROUP, zero)
    assert not is_free_for(bench.state, bench.group, B, zero)


def test_group_subscribes_by_name_and_by_what_its_pattern_matches_as_far_as_that_is_known() -> None:
    """A pattern that was not resolved yet names nothing."""
    bench = Bench()
    bench.ask(replace(join_request("a"), subscribed_topic_names=None, subscribed_topic_regex="b.*"))
    assert groups_subscribed_to(bench.state, {FOO, BAR}) == set()
    bench.tell(ResolveRegularExpression("b.*", frozenset({BAR})))
    assert groups_subscribed_to(bench.state, {BAR}) == {GROUP}
    assert groups_subscribed_to(bench.state, {FOO}) == set()
    bench.join("b")
    assert groups_subscribed_to(bench.state, {FOO}) == {GROUP}


def test_group_that_the_journal_knew_waits_for_nobody() -> None:
    """Others may have members that live on, and are given time to come back (decision 9)."""
    bench = Bench(no_assignment_before_ms=3_000)
    assert held_until_ms(bench.state, GROUP) == 3_000
    bench.state.resumed = frozenset({GROUP})
    assert held_until_ms(bench.state, GROUP) == 0
