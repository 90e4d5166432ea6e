"""What one pair says, whatever the next ones say."""

from collections.abc import Sequence
from random import Random

import numpy as np
import pytest

from bridge.migration.canary.pairing import Pair
from bridge.migration.canary.scoring import RECENT_PAIRS, TAIL_WARM_UP, Scored, quantile, score, win_share


def pair(control: Sequence[float], treatment: Sequence[float]) -> Pair:
    """Both sides, in seconds."""
    return Pair(control=tuple(control), treatment=tuple(treatment))


def test_win_share_counts_every_choice_of_two_members() -> None:
    """Even counts half; who did not wait is faster than whoever did."""
    assert win_share(pair([1.0, 3.0], [2.0])) == 0.5
    assert win_share(pair([0.0, 0.0], [0.0, 5.0])) == 0.75


def test_threshold_of_a_tail_knows_earlier_pairs_only() -> None:
    """Nothing is staked before there are some; then what is beyond their quantile counts, on as many members each."""
    pairs = [pair([1.0, 2.0], [1.0, 2.0])] * TAIL_WARM_UP + [pair([1.0], [3.0, 1.0, 9.0])]
    found = [one.excesses[0] for one in score(Scored(), pairs).scores]
    assert not any(found[:TAIL_WARM_UP])
    assert found[TAIL_WARM_UP] == 1.0, "one of each side counts: of the treatment's three the first"


def test_pairs_may_come_one_by_one() -> None:
    """What is kept between them is enough, and has a limit."""
    random = Random(3)
    pairs = [pair([random.random(), random.random()], [random.random()]) for _ in range(RECENT_PAIRS + 75)]
    scored = Scored()
    for one in pairs:
        scored = score(scored, [one])
    assert scored == score(Scored(), pairs)
    assert len(scored.recent) == RECENT_PAIRS


@pytest.mark.parametrize("count", [1, 2, 7, 40])
def test_quantile_lies_between_neighbours(count: int) -> None:
    """As NumPy finds it."""
    values = sorted(Random(count).random() for _ in range(count))
    for level in (0.0, 0.25, 0.5, 0.95, 0.99, 1.0):
        assert quantile(values, level) == pytest.approx(float(np.quantile(values, level)), abs=1e-12)
