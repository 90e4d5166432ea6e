"""What members of a classic group may be using is read from their own bytes (decisions 6 and 7)."""

from dataclasses import replace

import pytest

from bridge.engine.convert.holdings import find_unreadable, read_holdings, translatable_metadata
from tests.support.classic_bench import offer
from tests.support.converted_group import ConversionBench, consumer_join, named, says
from translators.dialects.consumer_protocol import MalformedBlob
from translators.dialects.ids import MemberId


def test_working_members_hold_what_they_synced() -> None:
    """Stable: everybody's last assignment."""
    bench = ConversionBench()
    first, second = bench.settle(None, None)
    held = {holding.member.member_id: holding.using for holding in read_holdings(bench.group)}
    assert held == {first: named(0, 2, 4), second: named(1, 3, 5)}


def test_newcomer_of_a_running_rebalance_holds_nothing() -> None:
    """It never completed a join."""
    bench = ConversionBench()
    (first,) = bench.settle(None)
    bench.join(consumer_join())
    holdings = {holding.member.member_id == first: holding for holding in read_holdings(bench.group)}
    assert (holdings[True].is_newcomer, holdings[True].using) == (False, named(*range(6)))
    assert (holdings[False].is_newcomer, holdings[False].using) == (True, frozenset())


def test_translatable_metadata_is_that_of_the_first_known_protocol() -> None:
    """As the member machine chooses."""
    bench = ConversionBench()
    (member_id,) = bench.settle(None)
    member = bench.group.members[member_id]
    assert translatable_metadata(member) == says("range")[0].metadata
    assert translatable_metadata(bench.group.members[MemberId(member_id)]) is not None


def test_translatable_metadata_is_that_of_the_protocol_told_before_if_there_is_one() -> None:
    """The machine goes on under that name: what it reads must be what was judged here."""
    bench = ConversionBench()
    member_id = bench.settle(None)[0]
    both = replace(bench.group.members[member_id], protocols=(*offer("own", "sticky", says=b"1"), *says("range")))
    assert translatable_metadata(both) == b"1"
    assert translatable_metadata(both, "range") == says("range")[0].metadata
    assert translatable_metadata(both, "own") == b"1"
    assert translatable_metadata(replace(both, protocols=offer("own"))) is None


def test_unreadable_bytes_are_found_with_whose_they_are() -> None:
    """Subscriptions first, then assignments."""
    bench = ConversionBench()
    assert bench.settle(None)
    assert find_unreadable(bench.group) is None
    member_id, member = next(iter(bench.group.members.items()))
    bench.group.synced.members[member_id] = replace(member, assignment=b"\x00")
    found = find_unreadable(bench.group)
    assert found is not None
    assert (found[0].member_id, found[2]) == (member_id, False)


def test_unreadable_subscription_is_an_error() -> None:
    """`readiness` makes a reason of it."""
    bench = ConversionBench()
    from_custom = consumer_join()
    bench.join(from_custom)
    member_id, member = next(iter(bench.group.members.items()))
    bench.group.roster.members[member_id] = type(member)(
        member_id=member.member_id,
        instance_id=None,
        identity=member.identity,
        session_timeout_ms=1,
        rebalance_timeout_ms=1,
        protocols=offer("range", says=b"\x00"),
    )
    with pytest.raises(MalformedBlob):
        read_holdings(bench.group)
