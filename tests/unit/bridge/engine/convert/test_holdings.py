"""What members of a classic group may be using is read from their own bytes (decisions 6 and 7)."""

from dataclasses import replace

from bridge.engine.convert.holdings import Holding, Unreadable, read_holdings, read_words, translatable_offer
from bridge.engine.state import ClassicGroup
from tests.support.classic_bench import offer
from tests.support.converted_group import COOPERATIVE, ConversionBench, consumer_join, named, says
from translators.dialects.classic import Protocol


def holdings_of(group: ClassicGroup) -> tuple[Holding, ...]:
    """Everybody's holding, in a group all of whose bytes can be read."""
    words = read_words(group)
    assert not isinstance(words, Unreadable)
    return read_holdings(group, words)


def test_working_members_hold_what_they_synced() -> None:
    """Stable: everybody's last assignment."""
    bench = ConversionBench()
    first, second = bench.settle(None, None)
    held = {holding.member.member_id: holding.using for holding in holdings_of(bench.group)}
    assert held == {first: named(0, 2, 4), second: named(1, 3, 5)}


def test_newcomer_of_a_running_rebalance_holds_nothing() -> None:
    """It never completed a join."""
    bench = ConversionBench()
    (first,) = bench.settle(None)
    bench.join(consumer_join())
    holdings = {holding.member.member_id == first: holding for holding in holdings_of(bench.group)}
    assert (holdings[True].is_newcomer, holdings[True].using) == (False, named(*range(6)))
    assert (holdings[False].is_newcomer, holdings[False].using) == (True, frozenset())


def test_newcomer_holds_nothing_whatever_it_says_of_an_earlier_life() -> None:
    """It was never in this group: what it names may be in use by whoever comes to it next."""
    bench = ConversionBench()
    (first,) = bench.join_all(None, name=COOPERATIVE)
    bench.hand_out({first: named(0, 1)})
    bench.join(replace(consumer_join(name=COOPERATIVE), protocols=says(COOPERATIVE, named(5))))
    newcomer = next(holding for holding in holdings_of(bench.group) if holding.member.member_id != first)
    assert (newcomer.is_newcomer, newcomer.using) == (True, frozenset())


def test_translatable_offer_is_the_first_known_protocol() -> None:
    """As the member machine chooses."""
    bench = ConversionBench()
    (member_id,) = bench.settle(None)
    member = bench.group.members[member_id]
    assert translatable_offer(member) == says("range")[0]


def test_translatable_offer_is_the_protocol_told_before_if_there_is_one() -> None:
    """The machine goes on under that name: what it reads must be what was judged here."""
    bench = ConversionBench()
    member_id = bench.settle(None)[0]
    both = replace(bench.group.members[member_id], protocols=(*offer("own", "sticky", says=b"1"), *says("range")))
    assert translatable_offer(both) == Protocol("sticky", b"1")
    assert translatable_offer(both, "range") == says("range")[0]
    assert translatable_offer(both, "own") == Protocol("sticky", b"1")
    assert translatable_offer(replace(both, protocols=offer("own"))) is None


def test_unreadable_bytes_are_found_with_whose_they_are() -> None:
    """Subscriptions first, then assignments."""
    bench = ConversionBench()
    assert bench.settle(None)
    assert not isinstance(read_words(bench.group), Unreadable)
    member_id, member = next(iter(bench.group.members.items()))
    bench.group.synced.members[member_id] = replace(member, assignment=b"\x00")
    found = read_words(bench.group)
    assert isinstance(found, Unreadable)
    assert (found.member.member_id, found.is_subscription) == (member_id, False)


def test_equal_bytes_are_read_once() -> None:
    """Eager members of a group all say the same, and thousands of them may be converted at once."""
    bench = ConversionBench()
    first, second = bench.settle(None, None)
    words = read_words(bench.group)
    assert not isinstance(words, Unreadable)
    assert words[first].wants is words[second].wants


def test_unreadable_subscription_is_told_from_an_assignment() -> None:
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
    found = read_words(bench.group)
    assert isinstance(found, Unreadable)
    assert (found.member.member_id, found.is_subscription) == (member_id, True)
