"""An operator's orders: carried out, tried, or refused with the reason."""

from bridge.engine.commands import GroupType
from bridge.engine.outcome import Converted, DowngradeDue, Unready
from tests.support.converted_group import ConversionBench, consumer_join
from tests.support.engine_bench import GROUP


def test_order_in_the_middle_of_a_rebalance_says_that_it_goes_on() -> None:
    """Somebody's assignment will change then."""
    bench = ConversionBench()
    bench.settle(None, None)
    bench.join(consumer_join())
    assert bench.converted(is_dry_run=True) == Converted(GROUP, GroupType.CONSUMER, 3, rebalances=True)


def test_dry_order_to_classic_asks_for_seats_to_try() -> None:
    """Only the machines know what clients were shown."""
    bench = ConversionBench()
    bench.settle(None)
    bench.converted()
    assert bench.order(GroupType.CLASSIC, is_dry_run=True) is None
    assert [notice.is_dry_run for notice in bench.notices if isinstance(notice, DowngradeDue)] == [True]


def test_order_for_a_group_of_that_type_is_refused() -> None:
    """Nothing to do is said, not done."""
    bench = ConversionBench()
    bench.settle(None)
    assert bench.refused(GroupType.CLASSIC).reason is Unready.SAME_TYPE
