"""Group requests measured from arrival to answer."""

from bridge.telemetry.request_times import BOUNDS_US, RequestTimes
from translators.dialects.ids import RequestRef

ONE, TWO = RequestRef(1, 1, 1), RequestRef(1, 1, 2)


def test_request_is_measured_once() -> None:
    """An answer that nobody waits for counts for nothing."""
    times = RequestTimes()
    times.asked(ONE, "JoinGroup", 100)
    times.asked(TWO, "SyncGroup", 100)
    assert times.held == 2
    times.answered(ONE, 350)
    times.answered(ONE, 900)
    tally = times.tallies["JoinGroup"]
    assert (times.held, tally.total_us, sum(tally.counts)) == (1, 250, 1)
    assert tally.counts[BOUNDS_US.index(250)] == 1


def test_slow_request_is_in_the_last_bucket() -> None:
    """A JoinGroup may be parked for minutes."""
    times = RequestTimes()
    times.asked(ONE, "JoinGroup", 0)
    times.answered(ONE, 10 * BOUNDS_US[-1])
    assert times.tallies["JoinGroup"].counts[-1] == 1


def test_lost_connection_leaves_nothing_waiting() -> None:
    """Its requests will never be answered."""
    times = RequestTimes()
    times.asked(ONE, "JoinGroup", 0)
    times.asked(TWO, "Heartbeat", 0)
    times.lost(1)
    times.answered(ONE, 5)
    assert (times.held, times.tallies) == (0, {})
