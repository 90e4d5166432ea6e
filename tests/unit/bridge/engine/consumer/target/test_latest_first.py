"""Members give up what they were given last, and nobody's load changes by it."""

from dataclasses import replace

from bridge.engine.commands import Speaks
from bridge.engine.consumer.target import give_up_latest
from bridge.engine.settings import EngineSettings
from bridge.engine.state import Group
from tests.support.engine_bench import Bench, Partitions, parts, topic
from translators.dialects.ids import MemberId, TopicId, TopicIdPartition

NO_WAIT = EngineSettings(departure_wait_ms=0)


def after_a_departure(speaks: Speaks = Speaks.CLASSIC) -> tuple[Bench, dict[str, Partitions], Partitions]:
    """Four members with three partitions each, until one leaves and the others have taken over what it had: what they
    had before, and what was its own.
    """
    bench = Bench(settings=NO_WAIT, topics=(topic("foo", 12),))
    for count, member in enumerate("abcd", 1):
        bench.join(member)
        bench.settle(*"abcd"[:count])
    before = {member: bench.assigned(member) for member in "abc"}
    left = bench.assigned("d")
    bench.leave("d")
    bench.settle(*"abc")
    assert [len(bench.assigned(member)) for member in "abc"] == [4, 4, 4]
    for member in "abc":
        seat = bench.member(member)
        bench.group.members[MemberId(member)] = replace(seat, subscription=replace(seat.subscription, speaks=speaks))
    return bench, before, left


def test_who_comes_gets_what_the_others_were_given_last() -> None:
    """So that those that have not begun with it never hear of it (issue 17)."""
    bench, before, left = after_a_departure()
    bench.join("again")
    assert {member: bench.target(member) for member in "abc"} == before
    assert bench.target("again") == left


def test_places_are_changed_within_a_topic_and_only_with_somebody_who_gains() -> None:
    """Loads by topic stay, and what nobody gains is no business of the answer."""
    bench, before, _ = after_a_departure()
    group: Group = bench.group
    a, b = MemberId("a"), MemberId("b")
    old = min(before["a"])
    answer = {a: bench.target("a") - {old}, b: bench.target("b")}
    assert give_up_latest(group, answer) == answer
    foreign = TopicIdPartition(TopicId(b"another topic..."), 0)
    swapped = give_up_latest(group, {a: bench.target("a") - {old}, b: bench.target("b") | {old, foreign}})
    assert swapped[a] == before["a"]
    assert swapped[b] == bench.target("b") | {foreign} | (bench.target("a") - before["a"])


def test_who_gives_nothing_up_keeps_its_answer() -> None:
    """Gains alone change nothing."""
    bench = Bench(settings=NO_WAIT)
    bench.join("a")
    answer = {MemberId("a"): parts(*range(6))}
    assert give_up_latest(bench.group, answer) == answer


def test_what_a_kip_848_client_was_given_last_is_left_to_it() -> None:
    """It may be about to take it, and its report that lacks it is no acknowledgement (docs/decisions/0123)."""
    bench, _, _ = after_a_departure(Speaks.CONSUMER)
    a, b, old = MemberId("a"), MemberId("b"), min(bench.target("a"))
    answer = {a: bench.target("a") - {old}, b: bench.target("b") | {old}}
    assert give_up_latest(bench.group, answer) == answer


def test_member_whose_answer_is_its_target_changes_no_place() -> None:
    """Though it still has to let go of something that it was given early, and another gains."""
    bench, before, _ = after_a_departure()
    a, b, old = MemberId("a"), MemberId("b"), min(before["a"])
    bench.group.target[a] = bench.target("a") - {old}
    answer = {a: bench.target("a"), b: bench.target("b") | {old}}
    assert old in bench.current("a").assigned
    assert give_up_latest(bench.group, answer) == answer
