"""Which seats another cut concerns."""

from bridge.engine.assignors.interface import NOTHING, AssignmentSpec, IndexSource, seat_of
from bridge.engine.assignors.range import Range, SeatIndex, cut_range
from tests.support.assignments import parts, shares, source_of, spec, topic
from translators.dialects.ids import MemberId

M1, M2, M3, M4 = MemberId("m1"), MemberId("m2"), MemberId("m3"), MemberId("m4")
WISH = frozenset({topic("a")})


def rested(question: AssignmentSpec) -> SeatIndex:
    """The index of a group whose target is `range`'s."""
    index = SeatIndex(source_of(question))
    index.rest()
    return index


def cut(counts: dict[str, int], members: dict[str, str]) -> AssignmentSpec:
    """A group with the target that `range` gives it."""
    question = spec(counts, members)
    given = Range().assign(question)
    return AssignmentSpec(members=question.members, previous=given, partition_counts=question.partition_counts)


def test_first_seats_get_one_more() -> None:
    """What can't be divided goes to them, in one piece each (K9.2); who sits beyond the last partition gets none."""
    assert [list(cut_range(5, 3, place)) for place in range(3)] == [[0, 1], [2, 3], [4]]
    assert [list(cut_range(1, 3, place)) for place in range(3)] == [[0], [], []]


def test_target_of_unknown_origin_is_computed_in_full() -> None:
    """After a restart nobody knows how it was cut."""
    assert SeatIndex(source_of(cut({"a": 2}, {"m1": "a"}))).revise({}) is None


def test_newcomer_beyond_the_last_partition_changes_nobody() -> None:
    """It gets an empty share (K2.29), and no other is looked at."""
    question = cut({"a": 2}, {"m1": "a", "m2": "a"})
    index = rested(question)
    assert index.seat(seat_of(M3, None), WISH, None)
    assert index.revise(question.previous) == shares({"m3": ""})


def test_newcomer_shifts_those_behind_its_seat() -> None:
    """m1 keeps its range, m3 gets m4's."""
    question = cut({"a": 3}, {"m1": "a", "m3": "a", "m4": "a"})
    index = rested(question)
    assert index.seat(seat_of(M2, None), WISH, None)
    assert index.revise(question.previous) == shares({"m2": "a1", "m3": "a2", "m4": ""})


def test_leaver_shifts_those_behind_its_seat() -> None:
    """Who came to its place gets its range."""
    question = cut({"a": 2}, {"m1": "a", "m2": "a", "m3": "a"})
    index = rested(question)
    assert index.unseat(M1, NOTHING)
    assert index.revise(question.previous) == shares({"m2": "a0", "m3": "a1"})


def test_grown_topic_concerns_whose_range_grows_or_shifts() -> None:
    """Topics that stay as they are keep their cut."""
    question = cut({"a": 3, "b": 2}, {"m1": "ab", "m2": "ab"})
    index = rested(question)
    assert index.grow(topic("a"), 4, {})
    assert index.revise(question.previous) == shares({"m2": "a2 a3 b1"})
    assert not index.grow(topic("a"), 3, {})
    assert not index.grow(topic("c"), 3, {})


def test_member_with_another_interest_moves_to_another_row() -> None:
    """Those who share neither interest are left alone."""
    question = cut({"a": 2, "b": 2, "c": 1}, {"m1": "a", "m2": "b", "m3": "b", "m4": "c"})
    index = rested(question)
    assert index.seat(seat_of(M3, None), WISH, question.previous[M3])
    assert index.revise(question.previous) == shares({"m2": "b0 b1", "m3": "a1", "m1": "a0"})


def test_interest_for_whole_halls_can_be_learned() -> None:
    """Topics that nobody wanted get a hall of their own; half a hall can't be had."""
    question = cut({"a": 2, "b": 2}, {"m1": "a", "m2": "b"})
    index = rested(question)
    assert index.learn("all", {topic("a"): 2, topic("b"): 2, topic("c"): 1})
    assert index.knows("all")
    assert index.seat(seat_of(M3, None), "all", None)
    assert index.revise(question.previous) == shares({"m1": "a0", "m2": "b0", "m3": "a1 b1 c0"})
    assert not SeatIndex(source_of(cut({"a": 1, "b": 1}, {"m1": "ab"}))).learn("a", {topic("a"): 1})


def test_row_that_everybody_left_takes_its_interest_along() -> None:
    """Nobody tells whether its topics grow meanwhile; the last member of all leaves nothing worth keeping."""
    index = rested(cut({"a": 2, "b": 2}, {"m1": "a", "m4": "b"}))
    assert index.unseat(M4, NOTHING)
    assert not index.knows(frozenset({topic("b")}))
    assert not index.learn("b", {topic("b"): 3})
    index.rest()
    assert index.learn("b", {topic("b"): 2})
    assert index.seat(seat_of(M2, None), "b", None)
    assert index.revise({}) == shares({"m2": "b0 b1"})
    index.unseat(M2, NOTHING)
    assert not index.unseat(M1, NOTHING)


def test_target_that_was_told_otherwise_is_cut_anew() -> None:
    """A static seat that changed hands brings the old member's target."""
    question = cut({"a": 2}, {"m1": "a", "m2": "a"})
    index = rested(question)
    index.retarget(M2, NOTHING, NOTHING, parts("a1"))
    assert index.revise({**question.previous, M2: NOTHING}) == shares({"m2": "a1"})
    index.rest()
    index.lose(M1, next(iter(parts("a0"))))
    assert index.revise(question.previous) == shares({"m1": "a0"})


def test_snapshot_is_that_of_an_index_built_anew() -> None:
    """Whatever order members came in."""
    index = rested(cut({"a": 2}, {"m1": "a", "m3": "a"}))
    index.seat(seat_of(M2, None), WISH, None)
    fresh = SeatIndex(source_of(cut({"a": 2}, {"m1": "a", "m2": "a", "m3": "a"})))
    assert (
        index.snapshot()
        == fresh.snapshot()
        == SeatIndex(
            IndexSource(
                seats={name: seat_of(name, None) for name in (M3, M2, M1)},
                interests=dict.fromkeys((M1, M2, M3), WISH),
                topics={WISH: WISH},
                partition_counts={topic("a"): 2},
                target={},
            )
        ).snapshot()
    )


def test_interest_for_some_of_the_halls_can_be_learned() -> None:
    """Halls that it doesn't touch are no obstacle."""
    question = cut({"a": 2, "b": 2, "c": 1}, {"m1": "a", "m2": "b", "m4": "c"})
    index = rested(question)
    assert index.learn("a or b", {topic("a"): 2, topic("b"): 2})
    assert index.seat(seat_of(M3, None), "a or b", None)
    assert index.revise(question.previous) == shares({"m1": "a0", "m2": "b0", "m3": "a1 b1"})


def test_topic_that_does_not_exist_is_cut_for_nobody() -> None:
    """Members may want it: it may come later."""
    question = cut({"a": 2}, {"m1": "ax", "m2": "ax", "m3": "x"})
    index = rested(question)
    assert index.unseat(M2, NOTHING)
    assert index.revise(question.previous) == shares({"m1": "a0 a1"})


def test_newcomer_that_left_again_is_told_nothing() -> None:
    """Nor does its seat count."""
    question = cut({"a": 2}, {"m1": "a"})
    index = rested(question)
    index.seat(seat_of(M2, None), WISH, None)
    index.unseat(M2, NOTHING)
    assert index.revise(question.previous) == {}


def test_interest_with_one_topic_that_changed_unseen_cannot_be_learned() -> None:
    """Whatever else it names is as it was."""
    index = rested(cut({"a": 1, "b": 1}, {"m1": "a", "m2": "b"}))
    assert not index.learn("a or b", {topic("a"): 1, topic("b"): 2})
    assert not index.learn("a or b", {topic("a"): 2, topic("b"): 1})
    assert index.learn("a or b", {topic("a"): 1, topic("b"): 1})


def test_newcomers_are_known_once_all_have_their_target() -> None:
    """A second revision looks at nobody whom nothing concerns."""
    question = cut({"a": 3, "b": 1}, {"m1": "a", "m3": "a", "m4": "b"})
    index = rested(question)
    assert index.seat(seat_of(M2, None), WISH, None)
    target = {**question.previous, **(index.revise(question.previous) or {})}
    index.rest()
    assert index.revise(target) == {}


def test_snapshot_shows_seats_topics_and_cuts() -> None:
    """Two indexes are compared by it: one that shows nothing is like every other."""
    one, other = (rested(cut({"a": count}, {"m1": "a"})) for count in (2, 3))
    assert one.snapshot() != other.snapshot()
    assert one.snapshot() == rested(cut({"a": 2}, {"m1": "a"})).snapshot()


def test_member_without_a_target_may_come_back_for_other_topics() -> None:
    """It was seated and got nothing yet."""
    question = cut({"a": 2, "b": 2}, {"m1": "a", "m2": "b"})
    index = rested(question)
    assert index.seat(seat_of(M3, None), WISH, None)
    assert index.seat(seat_of(M3, None), frozenset({topic("b")}), None)
    assert index.revise(question.previous) == shares({"m2": "b0", "m3": "b1"})
