"""Tests of topics and patterns that change under a group."""

from dataclasses import replace

from bridge.engine.commands import ChangeTopics, ResolveRegularExpression
from bridge.engine.model import Phase
from bridge.engine.outcome import TargetChanged
from bridge.engine.state import groups_subscribed_to
from tests.support.classic_bench import offer
from tests.support.converted_group import ConversionBench
from tests.support.engine_bench import BAR, FOO, GROUP, Bench, join_request, parts, topic, topic_id
from translators.dialects.ids import MemberId, Topic

A = MemberId("a")


def pattern_member(bench: Bench) -> None:
    """A member that subscribes with a pattern."""
    bench.ask(replace(join_request("a"), subscribed_topic_names=None, subscribed_topic_regex="b.*"))


def test_topic_grown_gives_the_new_partitions_a_target_at_once() -> None:
    """Deviation from K2.24: nobody has to heartbeat first."""
    bench = Bench()
    bench.join("a")
    outcome = bench.tell(ChangeTopics((topic("foo", 8),)))
    assert (bench.group.epoch, bench.group.assignment_epoch) == (3, 3)
    assert bench.target("a") == parts(*range(8))
    assert outcome.notices == (TargetChanged(GROUP, frozenset({A})),)


def test_topic_told_again_unchanged_changes_nothing() -> None:
    """A restart of the watcher tells everything again."""
    bench = Bench()
    bench.join("a")
    assert bench.tell(ChangeTopics((topic("foo", 6),))).records == ()


def test_topic_that_nobody_wants_moves_no_epoch() -> None:
    """Only subscribed topics concern a group."""
    bench = Bench()
    bench.join("a")
    bench.tell(ChangeTopics((topic("other", 1),), (topic_id("bar"),)))
    assert bench.group.epoch == 2


def test_topic_made_again_is_assigned_under_its_new_id() -> None:
    """Deleted and created between two looks: the old partitions leave the target, the new ones enter it."""
    bench = Bench()
    bench.join("a")
    bench.tell(ChangeTopics((Topic(topic_id("foo-2"), FOO, 2),), (topic_id("foo"),)))
    assert bench.target("a") == parts(0, 1, of="foo-2")


def test_topic_created_later_reaches_its_subscribers() -> None:
    """A name may be subscribed before the topic exists (K2.24)."""
    bench = Bench()
    bench.join("a", "later")
    assert bench.target("a") == frozenset()
    bench.tell(ChangeTopics((topic("later", 2),)))
    assert bench.target("a") == parts(0, 1, of="later")


def test_pattern_resolved_later_moves_the_epoch_and_delivers() -> None:
    """First epoch 1 and nothing, then what the pattern matches (K11.4 on 2.4)."""
    bench = Bench()
    pattern_member(bench)
    assert (bench.group.epoch, bench.current("a").epoch, bench.assigned("a")) == (1, 1, frozenset())
    bench.tell(ResolveRegularExpression("b.*", frozenset({BAR})))
    assert (bench.group.epoch, bench.target("a")) == (2, parts(0, 1, 2, of="bar"))


def test_pattern_with_the_same_matches_changes_nothing() -> None:
    """Patterns are resolved again and again."""
    bench = Bench()
    bench.tell(ResolveRegularExpression("b.*", frozenset({BAR})))
    pattern_member(bench)
    assert bench.group.epoch == 2
    assert bench.tell(ResolveRegularExpression("b.*", frozenset({BAR}))).records == ()


def test_groups_concerned_are_found_by_name_and_by_pattern() -> None:
    """What changes about a matched topic concerns those who match it."""
    bench = Bench()
    bench.tell(ResolveRegularExpression("b.*", frozenset({BAR})))
    pattern_member(bench)
    assert groups_subscribed_to(bench.state, {BAR}) == {GROUP}
    assert groups_subscribed_to(bench.state, {FOO}) == set()


def test_new_pattern_without_match_frees_what_its_member_had() -> None:
    """Deviation from K2.4: in Kafka the old partitions stay the member's target, and nobody reads them."""
    bench = Bench()
    bench.tell(ResolveRegularExpression("f.*", frozenset({FOO})), ResolveRegularExpression("six", frozenset()))
    both = [
        replace(join_request(name), subscribed_topic_names=None, subscribed_topic_regex="f.*") for name in ("a", "b")
    ]
    for one in both:
        bench.ask(one)
    assert bench.target("a") | bench.target("b") == parts(*range(6))
    bench.ask(replace(both[0], subscribed_topic_regex="six"))
    assert (bench.target("a"), bench.target("b")) == (frozenset(), parts(*range(6)))


def test_topics_of_a_classic_group_are_its_leaders_business() -> None:
    """It looks at them itself; without one, as after a conversion, nobody would, so the group is called.

    A member that offers nothing that can be read wants nothing that could change.
    """
    for has_leader, change, called in (
        (True, topic("foo", 9), False),
        (False, topic("foo", 9), True),
        (False, topic("bar", 9), False),
    ):
        bench = ConversionBench()
        first, *_ = bench.settle("one", "two")
        if not has_leader:
            bench.group.roster.leader = None
        member = bench.group.roster.members[first]
        bench.group.roster.members[first] = replace(member, protocols=offer("own"))
        bench.tell(ChangeTopics((change,)))
        assert (bench.phase is Phase.PREPARING_REBALANCE) is called, (has_leader, change.name)
