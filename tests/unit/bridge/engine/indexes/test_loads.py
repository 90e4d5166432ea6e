"""Tests of when a group has a load index, and of what makes it forget it."""

from dataclasses import replace

import pytest

from bridge.engine.assignors.range import SeatIndex
from bridge.engine.assignors.uniform import Uniform
from bridge.engine.commands import ChangeTopics, ResolveRegularExpression
from bridge.engine.indexes import index_loads, prepare_loads, remember_target
from bridge.engine.recovery import resume
from bridge.engine.settings import EngineSettings
from tests.support.engine_bench import BAR, FOO, GROUP, Bench, beat_request, join_request, parts, topic, topic_id
from translators.dialects.ids import InstanceId, MemberId, Topic, TopicId

A, B = MemberId("a"), MemberId("b")


def indexed() -> Bench:
    """Two members of the same interest, and an index since the second came."""
    bench = Bench()
    bench.join("a")
    bench.join("b")
    return bench


def fits(bench: Bench) -> bool:
    """Whether the group has an index that equals a fresh one."""
    loads = bench.group.loads
    fresh = index_loads(bench.state, replace(bench.group, loads=None), Uniform())
    return loads is not None and loads.snapshot() == fresh.snapshot()


def test_group_gets_an_index_with_its_first_target() -> None:
    """So that the next change costs what it changes."""
    bench = Bench()
    bench.join("a")
    assert fits(bench)


def test_restarted_group_gets_an_index_at_once() -> None:
    """Nobody waits for it later; a group that is behind its epoch gets it with its target."""
    for assignor in ("uniform", "range"):
        bench = Bench(settings=EngineSettings(group_consumer_assignors=(assignor,)))
        bench.join("a")
        bench.join("c")
        restarted = Bench(settings=bench.settings)
        restarted.state = bench.replayed(durable_only=True)
        resume(restarted.state, 0)
        loads = restarted.group.loads
        assert loads is not None
        restarted.join("b")
        assert restarted.group.loads is loads
        bench.join("b")
        assert restarted.group.target == bench.group.target


def test_seat_that_became_static_before_the_restart_is_not_taken_for_an_old_one() -> None:
    """Its range was cut while it was dynamic: an instance id alone makes no new target."""
    bench = Bench(settings=EngineSettings(group_consumer_assignors=("range",)))
    bench.join("a")
    bench.join("b")
    bench.ask(replace(join_request("b"), instance_id=InstanceId("seat")))
    restarted = Bench(settings=bench.settings)
    restarted.state = bench.replayed(durable_only=True)
    resume(restarted.state, 0)
    restarted.join("c")
    assert [restarted.target(name) for name in "bac"] == [parts(0, 1), parts(2, 3), parts(4, 5)]


def test_index_is_built_for_what_an_incremental_assignor_has_done_only() -> None:
    """A target that is not up to date, or by another's rules, tells nothing."""
    bench = indexed()
    group = replace(bench.group, loads=None)
    assert prepare_loads(bench.state, replace(group, epoch=group.epoch + 1)) is None
    assert prepare_loads(bench.state, replace(group, assignor="")) is None
    remember_target(bench.state, group)
    assert prepare_loads(bench.state, group) is group.loads is not None


def test_index_is_the_same_object_as_long_as_it_fits() -> None:
    """Joins, leaves and growing topics cost what they change."""
    bench = indexed()
    loads = bench.group.loads
    bench.join("c")
    bench.leave("a")
    bench.tell(ChangeTopics((topic("foo", 9),)))
    assert bench.group.loads is loads
    assert fits(bench)
    assert len(bench.target("b") | bench.target("c")) == 9


def test_index_is_asked_for_once() -> None:
    """It is a memo."""
    bench = indexed()
    assert index_loads(bench.state, bench.group, Uniform()) is bench.group.loads


def test_other_topics_make_the_index_anew() -> None:
    """A topic that goes, and one that was wanted for and appears."""
    bench = indexed()
    loads = bench.group.loads
    bench.tell(ChangeTopics((), (topic_id("foo"),)))
    assert bench.group.loads is not loads
    loads = bench.group.loads
    bench.tell(ChangeTopics((topic("foo", 4),)))
    assert bench.group.loads is not loads
    assert fits(bench)


def test_renamed_topic_makes_the_index_anew() -> None:
    """The id is known, the interest is not."""
    bench = indexed()
    loads = bench.group.loads
    bench.tell(ChangeTopics((replace(topic("foo", 6), name=BAR),)))
    assert bench.group.loads is not loads


def test_pattern_that_matches_something_else_makes_the_index_anew() -> None:
    """Its members want other topics."""
    bench = Bench()
    for member in ("a", "b"):
        bench.ask(replace(join_request(member), subscribed_topic_names=None, subscribed_topic_regex="b.*"))
    bench.tell(ResolveRegularExpression("b.*", frozenset({BAR})))
    bench.tell(ResolveRegularExpression("b.*", frozenset({FOO, BAR})))
    assert fits(bench)
    assert len(bench.target("a") | bench.target("b")) == 9


def test_other_assignor_gets_an_index_of_its_own() -> None:
    """Its target is balanced by other rules; it remembers other things."""
    bench = indexed()
    bench.ask(
        replace(beat_request("a", bench.current("a").epoch), server_assignor="range", subscribed_topic_names=(BAR,))
    )
    assert bench.group.assignor == "range"
    assert isinstance(bench.group.loads, SeatIndex)


def test_replayed_group_has_no_index_until_it_is_asked_for() -> None:
    """A restart need not pay for it."""
    group = indexed().replayed().groups[GROUP]
    assert (list(group.members), group.loads) == ([A, B], None)


@pytest.mark.parametrize("assignor", ["uniform", "range"])
def test_interest_that_was_nobody_s_comes_back_to_topics_as_they_are_now(assignor: str) -> None:
    """While nobody wanted the topic the group was not told that it grew, or was made anew."""
    bench = Bench(settings=EngineSettings(group_consumer_assignors=(assignor,)))
    bench.join("a")
    bench.join("b", "bar")
    bench.leave("b")
    bench.tell(ChangeTopics((topic("bar", 5),)))
    bench.join("b", "bar")
    assert bench.target("b") == parts(*range(5), of="bar")
    bench.leave("b")
    made_anew = Topic(TopicId(b"another bar 3456"), BAR, 2)
    bench.tell(ChangeTopics((made_anew,), (topic_id("bar"),)))
    bench.join("b", "bar")
    assert bench.target("b") == {(made_anew.topic_id, 0), (made_anew.topic_id, 1)}
    assert bench.target("a") == parts(*range(6))


@pytest.mark.parametrize("assignor", ["uniform", "range"])
def test_interest_for_a_topic_to_come_gets_it_when_it_comes_back(assignor: str) -> None:
    """Without the topic the interest was for the same as others'; when it was made nobody wanted it any more."""
    bench = Bench(settings=EngineSettings(group_consumer_assignors=(assignor,)))
    bench.join("a")
    bench.join("b", "foo", "later")
    bench.leave("b")
    bench.tell(ChangeTopics((topic("later", 2),)))
    bench.join("b", "foo", "later")
    assert parts(0, 1, of="later") <= bench.target("b")
