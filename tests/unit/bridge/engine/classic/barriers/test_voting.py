"""Tests of protocol compatibility, the vote and the choice of a leader."""

from dataclasses import replace

import pytest

from bridge.engine.classic.barriers import choose_leader, choose_protocol, supports
from tests.support.classic_bench import REBALANCE_MS, ClassicBench, join_of, offer
from translators.dialects.classic import JoinGroup
from translators.dialects.ids import MemberId


def joiner(*names: str, protocol_type: str = "consumer") -> JoinGroup:
    """A static newcomer that offers these protocols."""
    return replace(join_of("", "N"), protocols=offer(*names), protocol_type=protocol_type)


def test_empty_group_takes_any_protocol_but_wants_one() -> None:
    """Type and list must not be empty (K1.15)."""
    bench = ClassicBench()
    bench.promise()
    offers = [joiner("x", protocol_type="connect"), joiner(), joiner("x", protocol_type="")]
    assert [supports(bench.group, one) for one in offers] == [True, False, False]


def test_group_with_members_wants_its_type_and_a_common_protocol() -> None:
    """One name that every member offers is enough (K1.15)."""
    bench = ClassicBench()
    bench.join(replace(join_of("", "A"), protocols=offer("range", "sticky")))
    bench.join(replace(join_of("", "B"), protocols=offer("sticky")))
    offers = [joiner("sticky"), joiner("range"), joiner("x", "sticky"), joiner("sticky", protocol_type="connect")]
    assert [supports(bench.group, one) for one in offers] == [True, False, True, False]


@pytest.mark.parametrize(
    ("offers", "current", "chosen"),
    [
        ({("a", "b"): 2, ("b", "a"): 1}, None, "a"),
        ({("a", "b"): 1, ("b", "a"): 1}, None, "a"),
        ({("a", "b"): 1, ("b", "a"): 1}, "b", "b"),
        ({("a", "b"): 1, ("b", "a"): 2}, "a", "b"),
        ({("c", "b"): 5, ("b",): 1}, "c", "b"),
        ({("x", "b", "a"): 1, ("y", "a", "b"): 2, ("b", "a"): 1}, None, "a"),
    ],
)
def test_vote_won_by_most_first_choices_among_common_ones(
    offers: dict[tuple[str, ...], int], current: str | None, chosen: str
) -> None:
    """Most votes of what all offer (K1.38); ties keep the current protocol, else take the first in the alphabet."""
    assert choose_protocol(offers, current) == chosen


def test_vote_without_common_protocol_is_a_bug_with_a_name() -> None:
    """The joiner that makes this impossible is refused before (K1.15)."""
    with pytest.raises(ValueError, match="EB-ENGINE-008"):
        choose_protocol({("a",): 1, ("b",): 1}, None)


def test_leader_stays_if_it_joined_else_the_oldest_joiner_leads() -> None:
    """A leader that did not join is followed by one that did, in Kafka by any (K1.35)."""
    bench = ClassicBench()
    first, second, third = bench.form("A", "B", "C")
    bench.join(replace(join_of(third, "C"), protocols=offer("range", says=b"bar")))
    seen: list[MemberId | None] = [choose_leader(bench.group)]
    bench.join(join_of(second, "B"))
    seen.append(choose_leader(bench.group))
    assert seen == [third, second]
    bench.join(join_of(first, "A"))
    assert bench.group.roster.leader == first


def test_nobody_leads_while_nobody_has_joined() -> None:
    """Then the join phase goes on (K1.35)."""
    bench = ClassicBench()
    bench.form("A", "B")
    bench.leave(("", "B"))
    bench.pass_time(REBALANCE_MS - 1)
    assert choose_leader(bench.group) is None
