"""Which chain of moves is cheapest in small regions."""

from bridge.engine.assignors.chain_search import Chain, ChainSearch, Draft
from bridge.engine.assignors.interface import AssignmentSpec
from tests.support.assignments import index_of, spec
from translators.dialects.ids import MemberId

M1, M2, M3 = MemberId("m1"), MemberId("m2"), MemberId("m3")


def find(question: AssignmentSpec) -> Chain | None:
    """The first chain; kinds are numbered by their first topic."""
    index = index_of(question)
    return ChainSearch(Draft(index.regions[0], index.standings)).find_chain()


def test_free_unit_goes_first_to_the_poorest_that_wants_it() -> None:
    """Nobody has to give anything for it."""
    question = spec({"a": 3, "b": 1}, {"m1": "a", "m2": "ab"}, {"m1": "a0 a1", "m2": "a2"})
    assert find(question) == Chain((None, M2), (1,))


def test_rich_member_gives_directly_what_the_poor_one_wants() -> None:
    """One move narrows the gap."""
    question = spec({"a": 3, "b": 1}, {"m1": "a", "m2": "ab"}, {"m1": "a0 a1 a2", "m2": "b0"})
    assert find(question) == Chain((M1, M2), (0,))


def test_unit_passes_through_a_member_that_wants_both() -> None:
    """The poor member wants nothing that the rich one has."""
    question = spec({"a": 3, "b": 1}, {"m1": "a", "m2": "ab", "m3": "b"}, {"m1": "a0 a1 a2", "m2": "b0", "m3": ""})
    assert find(question) == Chain((M1, M2, M3), (0, 1))


def test_balanced_region_has_no_chain() -> None:
    """A gap of one can't be narrowed."""
    question = spec({"a": 2, "b": 1}, {"m1": "a", "m2": "ab"}, {"m1": "a0 a1", "m2": "b0"})
    assert find(question) is None


def test_unit_comes_back_to_who_had_it_when_that_saves_a_move() -> None:
    """At equal balance fewer moves win: m1 gave an a that m2 can spare now."""
    question = spec({"a": 2, "b": 1}, {"m1": "a", "m2": "ab"}, {"m1": "a0", "m2": "a1 b0"})
    index = index_of(question)
    draft = Draft(index.regions[0], index.standings)
    giver, gainer = draft.touch(M1), draft.touch(M2)
    giver.change(0, -1)
    giver.load -= 1
    gainer.change(0, 1)
    gainer.load += 1
    assert ChainSearch(draft).find_chain() == Chain((M2, M1), (0,))


def test_richest_of_all_subscriber_sets_gives_whichever_comes_first() -> None:
    """A poor set that is looked at before a rich one gives nothing, and neither does one that comes after it."""
    for narrow, wide in (("m1", "m2"), ("m2", "m1")):
        had = {"m1": "a0", "m2": "a1 a2 a3 a4"}
        question = spec(
            {"a": 5, "b": 1}, {narrow: "a", wide: "ab", "m3": "a", "m4": "b"}, {**had, "m3": "", "m4": "b0"}
        )
        assert find(question) == Chain((M2, M3), (0,)), f"{narrow} wants a only"
