"""Time."""

import time

import trio
import trio.testing

from bridge.net.clock import deadline_in, now_ms, now_ns, wall_ms


async def test_clock_follows_the_event_loop(autojump_clock: trio.testing.MockClock) -> None:
    """Milliseconds that pass as the loop's clock does, so tests need not wait."""
    before = now_ms()
    await trio.sleep(300)
    assert 300_000 <= now_ms() - before <= 300_001
    assert deadline_in(5) - trio.current_time() == 5


def test_fine_clock_never_goes_back() -> None:
    """Work is measured with it."""
    times = [now_ns() for _ in range(100)]
    assert times == sorted(times)


def test_wall_clock_is_that_of_the_machine() -> None:
    """Whatever the loop's clock says."""
    before_s = time.time()
    told_ms = wall_ms()
    assert int(before_s * 1000) <= told_ms <= int(time.time() * 1000)
