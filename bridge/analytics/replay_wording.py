"""What a rebalance became, in words.

It must not know how it was found out.
"""

from bridge.whatif.comparison import Became
from bridge.whatif.measures import Measured, summed

SECOND_US = 1_000_000


def became_words(one: Became) -> str:
    """One sentence without its end: not happened, became so many, would have come besides, or belongs to none."""
    after = summed(one.predicted)
    count = sum(1 for measured in one.predicted if measured.rebalance_id)
    if one.recorded is None:
        return f"would have happened besides: {_told(after)}" if count else f"outside of rebalances {_told(after)}"
    before = _told(one.recorded)
    if not one.recorded.rebalance_id:
        return f"outside of rebalances {_told(after)} instead of {before}"
    if not count:
        return f"would not have happened; it was {before}"
    return f"would have been {'one' if count == 1 else count} of {_told(after)}, instead of {before}"


def _told(measured: Measured) -> str:
    disturbed, stalls = measured.disturbed, measured.stalls
    words = [f"{measured.duration_us / SECOND_US:.1f} s"]
    words.append(
        f"{disturbed} {'member' if disturbed == 1 else 'members'} disturbed" if disturbed else "nobody disturbed"
    )
    if stalls:
        still = f"{stalls} {'partition' if stalls == 1 else 'partitions'} still"
        words.append(f"{still} for {measured.stall_us / SECOND_US:.1f} s")
    else:
        words.append("no partition still")
    return ", ".join(words)
