"""A mixed region while it is being rearranged: who stands for whom, and what a unit costs."""

from bridge.engine.assignors.chain_search import Draft, Touched
from bridge.engine.assignors.interface import seat_of
from tests.support.assignments import index_of, parts, spec
from translators.dialects.ids import MemberId

M1, M2, M3 = MemberId("m1"), MemberId("m2"), MemberId("m3")
QUESTION = spec({"a": 3, "b": 2}, {"m1": "a", "m2": "ab", "m3": "ab"}, {"m1": "a0 a1", "m2": "a2", "m3": "b0"})
A, B = 0, 1
NARROW, WIDE = 0, 1


def draft() -> Draft:
    """Nothing touched yet."""
    index = index_of(QUESTION)
    return Draft(index.regions[0], index.standings)


def test_draft_counts_free_units_by_kind() -> None:
    """Only b1 is nobody's."""
    assert draft().free == {A: 0, B: 1}


def test_untouched_members_stand_for_their_subscriber_set() -> None:
    """The poorest to gain, the richest holder to give, of equals the last in seat order."""
    fresh = draft()
    assert (fresh.poorest(NARROW), fresh.poorest(WIDE)) == ((2, M1), (1, M3))
    assert (fresh.richest_holder(NARROW, A), fresh.richest_holder(WIDE, A)) == ((2, M1), (1, M2))


def test_touched_member_stands_for_itself_only() -> None:
    """It has been given or has given something, so it costs something else than others."""
    fresh = draft()
    fresh.touch(M1)
    fresh.touch(M3)
    assert (fresh.poorest(NARROW), fresh.poorest(WIDE)) == (None, (1, M2))
    assert fresh.richest_holder(WIDE, B) is None


def test_member_is_owed_what_it_claimed_and_has_not() -> None:
    """Of a kind that it never claimed nothing, and of one that it has none of all."""
    touched = Touched(seat_of(M1, None), NARROW, load=1, units={A: 1}, claimed={B: 1})
    assert [touched.is_owed(kind) for kind in (A, B)] == [False, True]
    assert touched.take_cost(A) == 0


def test_unit_given_away_is_owed_and_one_gained_costs_nothing_to_pass_on() -> None:
    """A move is counted once, and taken back when the unit comes back."""
    member = draft().touch(M1)
    assert (member.take_cost(A), member.is_owed(A)) == (1, False)
    member.change(A, -1)
    assert (member.units, member.is_owed(A)) == ({A: 1}, True)
    member.change(A, 2)
    assert (member.take_cost(A), member.is_owed(A)) == (0, False)


def test_member_is_touched_once() -> None:
    """What it did before is remembered."""
    fresh = draft()
    fresh.touch(M2).change(A, -1)
    assert fresh.touch(M2).units == {}


def test_richest_holder_has_most_of_all_load_and_something_of_the_kind() -> None:
    """A member with more load gives first; one without the kind can't give it."""
    question = spec(
        {"a": 4, "b": 4},
        {"m1": "ab", "m2": "ab", "m3": "ab", "m4": "a"},
        {"m1": "a0", "m2": "a1 b0", "m3": "b1 b2 b3"},
    )
    index = index_of(question)
    fresh = Draft(index.regions[0], index.standings)
    (wide,) = [place for place, held in enumerate(fresh.holders) if len(held) > 1]
    kinds = [place for place, kind in enumerate(fresh.kinds) if index.kind_of(next(iter(parts("a0")))) is kind]
    assert fresh.richest_holder(wide, kinds[0]) == (2, M2)
    assert fresh.poorest(wide) == (1, M1)
    fresh.touch(M2)
    assert fresh.richest_holder(wide, kinds[0]) == (1, M1)


def test_member_that_never_had_a_kind_is_owed_none_of_it() -> None:
    """Else giving it one would look like a move taken back."""
    member = draft().touch(M1)
    assert (member.is_owed(A), member.is_owed(B)) == (False, False)
    member.change(A, -2)
    assert (member.is_owed(A), member.is_owed(B)) == (True, False)
    giver_of_one = draft().touch(M2)
    giver_of_one.change(A, -1)
    assert giver_of_one.is_owed(A)
