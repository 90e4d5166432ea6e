"""Tests of what the shell asks: news, states, deadlines, subscribed topics."""

from dataclasses import replace

from bridge.engine.commands import ResolveRegularExpression
from bridge.engine.queries import group_state, has_news, next_deadline, subscribed_topics
from tests.support.engine_bench import BAR, FOO, GROUP, Bench, join_request
from translators.dialects.ids import GroupId, MemberId


def news(bench: Bench) -> list[str]:
    """The members that have news."""
    return [member for member in bench.group.members if has_news(bench.state, GROUP, member)]


def test_rebalance_tells_news_to_those_concerned_at_each_step() -> None:
    """A second member comes: first the old one has news, then the new one, then nobody."""
    bench = Bench()
    bench.join("a")
    assert news(bench) == []
    bench.join("b")
    assert news(bench) == ["a"]
    bench.beat("a")
    assert news(bench) == ["a"]
    bench.beat("a", bench.assigned("a"))
    assert news(bench) == ["b"]
    bench.beat("b")
    assert news(bench) == []


def test_unknown_member_has_news() -> None:
    """Its heartbeat tells it that it is unknown."""
    assert has_news(Bench().state, GROUP, MemberId("nobody"))


def test_states_follow_a_rebalance() -> None:
    """K2.60."""
    bench = Bench()
    bench.join("a")
    seen = [group_state(bench.group)]
    bench.join("b")
    seen.append(group_state(bench.group))
    bench.settle("a", "b")
    seen.append(group_state(bench.group))
    bench.leave("a")
    bench.leave("b")
    seen.append(group_state(bench.group))
    assert seen == ["Stable", "Reconciling", "Stable", "Empty"]


def test_group_behind_its_epoch_is_assigning() -> None:
    """K2.60: while the bridge waits for survivors no target is computed (decision 9)."""
    bench = Bench(no_assignment_before_ms=3_000)
    bench.join("a")
    assert group_state(bench.group) == "Assigning"


def test_next_deadline_is_the_earliest_session() -> None:
    """Sessions are the only deadlines of settled native members."""
    bench = Bench()
    assert next_deadline(bench.state) is None
    bench.join("a")
    bench.now_ms = 10
    bench.join("b")
    assert next_deadline(bench.state) == 45_000


def test_subscribed_topics_include_those_matched() -> None:
    """K5.22: a topic somebody matches by pattern is protected too; an unknown group has none."""
    bench = Bench()
    bench.tell(ResolveRegularExpression("b.*", frozenset({BAR})))
    bench.join("a")
    bench.ask(replace(join_request("b"), subscribed_topic_names=None, subscribed_topic_regex="b.*"))
    assert subscribed_topics(bench.state, GROUP) == frozenset({FOO, BAR})
    assert subscribed_topics(bench.state, GroupId("other")) is None
