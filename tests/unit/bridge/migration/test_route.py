"""Which road a group takes."""

from hypothesis import given
from hypothesis import strategies as st

from bridge.migration.route import Road, Router, Rule
from translators.dialects.ids import GroupId

RULES = (Rule("orders-old*", Road.PASS), Rule("orders-*", Road.EMBEDDED), Rule("p?y", Road.UPSTREAM))


def test_first_matching_rule_wins_and_pass_is_the_default() -> None:
    """Rules are tried in order; a group that none names passes."""
    router = Router(RULES)
    groups = ("orders-old-1", "orders-1", "pay", "ORDERS-1", "orders", "")
    assert [router.road(GroupId(group)) for group in groups] == [
        Road.PASS,
        Road.EMBEDDED,
        Road.UPSTREAM,
        Road.PASS,
        Road.PASS,
        Road.PASS,
    ]


def test_router_knows_whether_any_group_is_taken() -> None:
    """Without such a rule batches need not be decoded."""
    assert Router(RULES).takes_groups()
    assert not Router(RULES[:1]).takes_groups()


@given(st.lists(st.text(max_size=12), max_size=60))
def test_remembered_answers_are_bounded_and_the_same(names: list[str]) -> None:
    """Memory stays bounded however many group ids clients invent, and memory never changes an answer."""
    small, fresh = Router(RULES, remembered_groups_max=4), Router(RULES)
    assert [small.road(GroupId(name)) for name in names] == [fresh.road(GroupId(name)) for name in names]
    assert small.remembered() <= 4
