"""Loads, holders and free partitions of small groups, and what makes an index out of date."""

from collections.abc import Callable

from bridge.engine.assignors.interface import NOTHING, LoadOrder, Seat, seat_of
from bridge.engine.assignors.load_index import EMPTY_SETS_MAX, LoadIndex
from tests.support.assignments import find_misplaced, index_of, parts, spec, topic
from translators.dialects.ids import InstanceId, MemberId

M1, M2, M3 = MemberId("m1"), MemberId("m2"), MemberId("m3")
EVEN = spec({"a": 4}, {"m1": "a", "m2": "a"}, {"m1": "a0 a1", "m2": "a2"})
MIXED = spec({"a": 2, "b": 2}, {"m1": "a", "m2": "ab"}, {"m1": "a0 a1", "m2": "b0"})


def seat(name: str) -> Seat:
    """A dynamic member's seat."""
    return seat_of(MemberId(name), None)


def free(index: LoadIndex) -> frozenset[object]:
    """What nobody has."""
    return frozenset(index.snapshot().free)


def loads(index: LoadIndex) -> dict[str, int]:
    """Loads by name."""
    return {name: one.load for name, one in index.standings.items()}


def test_members_of_one_interest_stand_on_one_load_order() -> None:
    """Everybody's load, and what nobody has."""
    index = index_of(EVEN)
    assert (loads(index), free(index)) == ({"m1": 2, "m2": 1}, parts("a3"))
    assert index.regions[0].subscriber_sets[0].load_order == LoadOrder(
        {2: [seat("m1")], 1: [seat("m2")]}, size=2, total=3
    )
    assert not index.regions[0].is_mixed


def test_topics_wanted_by_the_same_subscriber_sets_are_one_kind() -> None:
    """Their partitions are interchangeable, so a search need not tell them apart."""
    index = index_of(spec({"a": 1, "b": 1, "c": 1}, {"m1": "ab", "m2": "abc"}))
    kinds = {topic(letter): index.kind_of(next(iter(parts(f"{letter}0")))) for letter in "abc"}
    assert kinds[topic("a")] is kinds[topic("b")] is not kinds[topic("c")]


def test_members_that_share_no_topic_are_regions_apart() -> None:
    """What happens in one concerns no other; topics that don't exist link nobody."""
    index = index_of(spec({"a": 1, "b": 1}, {"m1": "ax", "m2": "bx", "m3": "ax"}))
    assert [
        [sorted(subscriber_set.topics) for subscriber_set in region.subscriber_sets] for region in index.regions
    ] == [
        [[topic("a")]],
        [[topic("b")]],
    ]


def test_partitions_that_are_gone_or_unwanted_do_not_count() -> None:
    """Their members need a new target, as newcomers do."""
    index = index_of(spec({"a": 1}, {"m1": "a", "m2": "a"}, {"m1": "a0 a1 b0"}))
    assert (loads(index), index.unsettled) == ({"m1": 1, "m2": 0}, {"m1", "m2"})


def test_newcomer_with_a_known_interest_takes_a_seat() -> None:
    """It has nothing and needs a target, even an empty one (K2.29)."""
    index = index_of(EVEN)
    index.rest()
    assert index.seat(seat("m3"), EVEN.members[M1].topics, None)
    assert (loads(index)["m3"], index.unsettled, list(index.changed)) == (0, {"m3"}, list(index.regions))


def test_interest_for_whole_kinds_can_be_learned() -> None:
    """Somebody who wants everything links all regions, and costs no more than that."""
    index = index_of(spec({"a": 2, "b": 2}, {"m1": "a", "m2": "b"}, {"m1": "a0 a1", "m2": "b0 b1"}))
    interest = frozenset(map(topic, "abc"))
    assert not index.knows(interest)
    assert index.learn(interest, {topic("a"): 2, topic("b"): 2, topic("c"): 1})
    assert index.knows(interest)
    assert index.seat(seat("m3"), interest, None)
    wide = spec({"a": 2, "b": 2, "c": 1}, {"m1": "a", "m2": "b", "m3": "abc"}, {"m1": "a0 a1", "m2": "b0 b1"})
    assert index.snapshot() == index_of(wide).snapshot()
    assert len(index.regions) == 1


def test_interest_for_known_topics_joins_their_subscriber_set() -> None:
    """However it is put, by names or by a pattern."""
    index = index_of(EVEN)
    assert index.learn("a.*", {topic("a"): 4})
    assert index.seat(seat("m3"), "a.*", None)
    assert len(index.regions[0].subscriber_sets) == 1


def test_interest_that_divides_a_kind_makes_the_index_out_of_date() -> None:
    """Of which kind a member's partitions are would have to be found out anew."""
    index = index_of(spec({"a": 1, "b": 1}, {"m1": "ab"}))
    assert not index.learn("a", {topic("a"): 1})


def test_topic_that_grew_unseen_makes_the_index_out_of_date() -> None:
    """While nobody wanted it, nobody told."""
    index = index_of(spec({"a": 1, "b": 1}, {"m1": "a", "m2": "b"}))
    assert index.unseat(M2, NOTHING)
    assert not index.knows(frozenset({topic("b")}))
    assert not index.learn("b", {topic("b"): 2})
    assert index.learn("b", {topic("b"): 1})


def test_last_member_of_a_interest_leaves_a_deserted_subscriber_set() -> None:
    """What it had is nobody's then, and belongs to no region; the last of all leaves nothing worth keeping."""
    index = index_of(MIXED)
    assert index.unseat(M1, parts("a0 a1"))
    assert [len(region.subscriber_sets) for region in index.regions] == [1]
    assert not index.unseat(M2, parts("b0"))


def test_too_many_deserted_subscriber_sets_make_the_index_out_of_date() -> None:
    """They cost memory and time."""
    index = index_of(EVEN)
    kept = []
    for number in range(EMPTY_SETS_MAX + 1):
        letter = "bcdefghijk"[number]
        index.learn(letter, {topic(letter): 1})
        index.seat(seat("m3"), letter, None)
        kept.append(index.unseat(M3, NOTHING))
    assert kept == [True] * EMPTY_SETS_MAX + [False]


def test_leaver_frees_what_it_had() -> None:
    """Nobody has it until the next target."""
    index = index_of(EVEN)
    index.unseat(M1, parts("a0 a1"))
    assert (loads(index), free(index)) == ({"m2": 1}, parts("a0 a1 a3"))


def test_member_with_another_interest_keeps_what_it_still_wants() -> None:
    """The rest is free, and its target must be told anew."""
    question = spec({"a": 2, "b": 2}, {"m1": "a", "m2": "ab", "m3": "ab"}, {"m1": "", "m2": "a0 b0", "m3": "a1 b1"})
    index = index_of(question)
    assert index.seat(seat("m2"), question.members[M1].topics, parts("a0 b0"))
    assert (loads(index), free(index), index.unsettled) == ({"m1": 0, "m3": 2, "m2": 1}, parts("b0"), {"m2"})


def test_moved_partition_changes_loads_and_holders() -> None:
    """Holders are kept by kind and load where kinds differ."""
    index = index_of(MIXED)
    index.retarget(M1, parts("a0"), NOTHING, parts("a1"))
    index.retarget(M2, parts("a1 b0"), parts("a1"), NOTHING)
    after = spec({"a": 2, "b": 2}, {"m1": "a", "m2": "ab"}, {"m1": "a0", "m2": "a1 b0"})
    assert index.snapshot() == index_of(after).snapshot()


def test_member_is_settled_by_a_target_of_valid_partitions_only() -> None:
    """A seat that was taken over may bring partitions that are gone."""
    index = index_of(spec({"a": 1}, {"m1": "a"}))
    index.retarget(M1, parts("a1"), parts("a1"), NOTHING)
    assert (index.unsettled, loads(index)) == ({"m1"}, {"m1": 0})
    index.retarget(M1, parts("a0"), parts("a0"), parts("a1"))
    assert (index.unsettled, loads(index)) == (set(), {"m1": 1})


def test_partition_named_by_another_target_is_lost_at_once() -> None:
    """The records of one target come one by one; who gains may come first."""
    index = index_of(EVEN)
    index.lose(M1, next(iter(parts("a1"))))
    index.move(M2, parts("a1"), NOTHING)
    assert (loads(index), free(index)) == ({"m1": 1, "m2": 2}, parts("a3"))


def test_grown_topic_has_free_partitions() -> None:
    """Only a topic that is known and did not shrink can be kept in step."""
    index = index_of(EVEN)
    assert index.grow(topic("a"), 6, {})
    assert free(index) == parts("a3 a4 a5")
    assert not index.grow(topic("a"), 5, {})
    assert not index.grow(topic("b"), 5, {})
    assert not index.grow(topic("a"), 7, dict.fromkeys(parts("a6"), M1))


def test_valid_target_is_told_as_the_same_object() -> None:
    """So that "nothing changed" is cheap to see."""
    question = spec({"a": 2}, {"m1": "a", "m2": "a"}, {"m1": "a0 a1", "m2": "a5 b0"})
    index = index_of(question)
    assert index.valid(M1, question.previous) is question.previous[M1]
    assert (index.valid(M2, question.previous), index.valid(M2, {})) == (NOTHING, NOTHING)


def test_rested_index_has_no_region_to_look_at() -> None:
    """Until something changes there."""
    index = index_of(EVEN)
    index.rest()
    assert index.changed == {}
    index.move(M2, parts("a3"), NOTHING)
    assert list(index.changed) == list(index.regions)


def test_one_new_partition_that_somebody_was_given_already_makes_the_index_out_of_date() -> None:
    """Whatever others are new and free."""
    index = index_of(EVEN)
    assert not index.grow(topic("a"), 7, dict.fromkeys(parts("a5"), M1))


def test_target_that_still_names_what_is_not_valid_leaves_its_member_unsettled() -> None:
    """What it gains may be valid while the rest is not."""
    index = index_of(spec({"a": 2}, {"m1": "a"}, {"m1": "a0 b0"}))
    index.retarget(M1, parts("a0 a1 b0"), parts("a1"), NOTHING)
    assert (index.unsettled, loads(index)) == ({"m1"}, {"m1": 2})


def test_holders_stand_where_their_loads_are_whatever_moved() -> None:
    """By kind: with a gain, a loss, both, another's claim, a newcomer and a departure."""
    index = index_of(MIXED)
    assert find_misplaced(index) == []
    steps: tuple[Callable[[], object], ...] = (
        lambda: index.retarget(M2, parts("a1 b0 b1"), parts("a1 b1"), NOTHING),
        lambda: index.lose(M2, next(iter(parts("b0")))),
        lambda: index.retarget(M2, parts("a0 b0"), parts("a0 b0"), parts("a1 b1")),
        lambda: index.seat(seat("m3"), frozenset({topic("a"), topic("b")}), parts("b1")),
        lambda: index.unseat(M2, parts("a0 b0")),
    )
    for number, step in enumerate(steps):
        step()
        assert find_misplaced(index) == [], f"after step {number}"


def test_interest_with_one_topic_that_changed_unseen_makes_the_index_out_of_date() -> None:
    """Whatever else it names is as it was."""
    index = index_of(spec({"a": 1, "b": 1}, {"m1": "a", "m2": "b"}))
    assert not index.learn("a or b", {topic("a"): 1, topic("b"): 2})
    assert not index.learn("a or b", {topic("a"): 2, topic("b"): 1})
    assert index.learn("a or b", {topic("a"): 1, topic("b"): 1})


def test_interest_for_exactly_one_kind_can_be_learned() -> None:
    """Others want it together with more; it divides nothing."""
    index = index_of(spec({"a": 1, "b": 2, "c": 1}, {"m1": "ab", "m2": "bc"}))
    assert index.learn("b", {topic("b"): 2})
    assert index.seat(seat("m3"), "b", None)
    assert index.snapshot() == index_of(spec({"a": 1, "b": 2, "c": 1}, {"m1": "ab", "m2": "bc", "m3": "b"})).snapshot()


def test_member_that_changes_its_seat_is_seated_anew() -> None:
    """A static one that lost its instance sits elsewhere, though it wants the same."""
    index = index_of(EVEN)
    index.rest()
    static = seat_of(M2, InstanceId("seat"))
    assert static != seat("m2")
    assert index.seat(static, EVEN.members[M1].topics, EVEN.previous[M2])
    assert index.standings[M2].seat == static


def test_member_that_stays_where_it_is_disturbs_nothing() -> None:
    """The same seat and the same topics are no change."""
    index = index_of(EVEN)
    index.rest()
    standing = index.standings[M2]
    assert index.seat(seat("m2"), EVEN.members[M2].topics, EVEN.previous[M2])
    assert index.standings[M2] is standing
    assert not index.changed
