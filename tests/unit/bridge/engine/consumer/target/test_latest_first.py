"""Members give up what they were given last, and nobody's load changes by it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from bridge.engine.apply import apply
from bridge.engine.commands import Speaks
from bridge.engine.consumer.target import give_up_latest
from bridge.engine.model import AssignedEpochs
from bridge.engine.records import MemberSubscribed
from bridge.engine.settings import EngineSettings
from bridge.engine.state import Group
from tests.support.engine_bench import GROUP, Bench, Partitions, parts, topic
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
        wish = replace(bench.member(member).subscription, speaks=speaks)
        apply(bench.state, MemberSubscribed(GROUP, wish))
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


def with_many(count: int) -> tuple[Group, AssignedEpochs]:
    """A group whose first member holds `count` partitions, all but one of which came at once, and its epochs."""
    bench = Bench(settings=NO_WAIT, topics=(topic("foo", count),))
    bench.join("a")
    bench.join("b")
    a = MemberId("a")
    seat = bench.member("a")
    epochs = {one: 5 - (one.partition == 0) for one in parts(*range(count))}
    speaks = replace(seat.subscription, speaks=Speaks.CLASSIC)
    bench.group.members[a] = replace(seat, subscription=speaks, current=replace(seat.current, assigned=epochs))
    bench.group.target = {a: parts(*range(count))}
    return bench.group, epochs


def test_of_what_goes_the_first_is_kept_for_the_last_that_stays() -> None:
    """Of those that came together the lowest number goes first."""
    group, _ = with_many(8)
    a, b = MemberId("a"), MemberId("b")
    answer = {a: parts(*range(4, 8)), b: parts(*range(4))}
    assert give_up_latest(group, answer) == {a: parts(0, 5, 6, 7), b: parts(1, 2, 3, 4)}


def test_work_grows_with_what_a_member_holds_and_not_with_its_square() -> None:
    """A member that was alone with all partitions gives up half of them to the next."""
    small, large = (looks_for(count) for count in (100, 400))
    assert large < 4.5 * small


def looks_for(count: int) -> int:
    """How often it is asked when a partition came, if the first member of two gives up half."""
    group, epochs = with_many(count)
    a, b = MemberId("a"), MemberId("b")
    counted = Counted(epochs)
    group.members[a] = replace(group.members[a], current=replace(group.members[a].current, assigned=counted))
    half = count // 2
    give_up_latest(group, {a: parts(*range(half, count)), b: parts(*range(half))})
    return counted.looks


@dataclass(slots=True)
class Counted(Mapping[TopicIdPartition, int]):
    """Epochs that count who looks one up."""

    epochs: AssignedEpochs
    looks: int = 0

    def __getitem__(self, partition: TopicIdPartition) -> int:
        """The epoch, counted."""
        self.looks += 1
        return self.epochs[partition]

    def __iter__(self) -> Iterator[TopicIdPartition]:
        """All partitions."""
        return iter(self.epochs)

    def __len__(self) -> int:
        """How many."""
        return len(self.epochs)
