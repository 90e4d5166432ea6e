"""What a rebalance became, in words."""

import pytest

from bridge.analytics.replay_wording import became_words
from bridge.whatif.comparison import Became
from bridge.whatif.measures import Measured

BEFORE = Measured(rebalance_id="r1", began_us=0, duration_us=4_200_000, disturbed=3, stalls=6, stall_us=9_000_000)
AFTER = Measured(rebalance_id="p1", began_us=0, duration_us=500_000, disturbed=1, stalls=1, stall_us=400_000)
LOOSE = Measured(rebalance_id="", began_us=0, stalls=2, stall_us=1_000_000)
OLD = "4.2 s, 3 members disturbed, 6 partitions still for 9.0 s"
NOTHING = "0.0 s, nobody disturbed, no partition still"
STILL = "0.0 s, nobody disturbed, 2 partitions still for 1.0 s"
NEW = "0.5 s, 1 member disturbed, 1 partition still for 0.4 s"


@pytest.mark.parametrize(
    ("became", "words"),
    [
        (Became(BEFORE), f"would not have happened; it was {OLD}"),
        (Became(BEFORE, (AFTER,)), f"would have been one of {NEW}, instead of {OLD}"),
        (
            Became(BEFORE, (AFTER, AFTER)),
            f"would have been 2 of 1.0 s, 2 members disturbed, 2 partitions still for 0.8 s, instead of {OLD}",
        ),
        (Became(None, (AFTER,)), f"would have happened besides: {NEW}"),
        (
            Became(LOOSE, ()),
            f"outside of rebalances {NOTHING} instead of {STILL}",
        ),
        (
            Became(None, (LOOSE,)),
            f"outside of rebalances {STILL}",
        ),
    ],
)
def test_words_say_count_seconds_disturbances_and_stalls(became: Became, words: str) -> None:
    """Of both sides, where there are two."""
    assert became_words(became) == words
