"""What guards every task."""

import pytest
import trio
import trio.testing

from bridge import supervision
from bridge.supervision import ADMIN, SWEEP, TASKS, Failures, Single, guarded, keep_running, start_guarded, start_job


class Flaky:
    """Fails as often as it is told, then is done; notes when it began."""

    def __init__(self, failures: int, lasts_s: float = 0) -> None:
        self.began_s: list[float] = []
        self._left = failures
        self._lasts_s = lasts_s

    async def run(self) -> None:
        """Do it once."""
        self.began_s.append(trio.current_time())
        await trio.sleep(self._lasts_s)
        self._left -= 1
        if self._left >= 0:
            raise ValueError("a bug")


async def test_job_is_started_again_with_longer_and_longer_pauses(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Up to a bound; every failure is counted, and told with code and traceback once a minute."""
    failures, job = Failures(), Flaky(12)
    await keep_running(failures, SWEEP, job.run)
    pauses = [after - before for before, after in zip(job.began_s, job.began_s[1:], strict=False)]
    assert pauses == [0.25, 0.5, 1, 2, 4, 8, 16, 30, 30, 30, 30, 30]
    assert failures.counts == dict.fromkeys(TASKS, 0) | {"sweep": 12}
    # They come within three minutes.
    assert len(caplog.records) == 3
    assert "times more since this was last said" in caplog.records[-1].getMessage()
    assert caplog.records[0].getMessage().startswith("EB-TASK-001: sweep failed, which closes connections that stand")
    assert caplog.records[0].exc_info is not None


async def test_job_that_ran_for_long_is_started_again_at_once(autojump_clock: trio.testing.MockClock) -> None:
    """The pauses are for those that can't run at all."""
    job = Flaky(5, lasts_s=supervision.SOUND_AFTER_S)
    await keep_running(Failures(), SWEEP, job.run)
    pauses = [after - before for before, after in zip(job.began_s, job.began_s[1:], strict=False)]
    assert pauses == [pytest.approx(supervision.SOUND_AFTER_S + 0.25)] * 5


async def test_failure_in_a_nursery_of_the_task_is_its_failure(caplog: pytest.LogCaptureFixture) -> None:
    """An exception group with a single error is told as that error."""
    failures = Failures()

    async def work() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(Flaky(1).run)
            await trio.sleep_forever()

    await guarded(failures, ADMIN, work)
    assert failures.counts["admin"] == 1
    assert "ValueError('a bug')" in caplog.text


async def test_cancellation_is_never_swallowed_even_in_company() -> None:
    """A task that is cancelled and fails in its last moments ends cancelled, and its failure is told."""
    failures, after, scope_ends = Failures(), list[str](), trio.Event()

    async def fail_late() -> None:
        try:
            await trio.sleep_forever()
        finally:
            raise ValueError("a bug")

    async def work() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(fail_late)
            await scope_ends.wait()
        after.append("went on")

    with trio.CancelScope() as scope:
        async with trio.open_nursery() as outer:
            start_job(outer, failures, SWEEP, work)
            start_guarded(outer, failures, ADMIN, work)
            await trio.testing.wait_all_tasks_blocked()
            scope.cancel()
    assert scope.cancelled_caught
    assert after == []
    assert (failures.counts["sweep"], failures.counts["admin"]) == (1, 1)


async def test_interrupt_is_nobodys_to_keep() -> None:
    """Ctrl-C ends the process, whoever runs at that moment."""

    async def work() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await guarded(Failures(), ADMIN, work)
    with pytest.raises(KeyboardInterrupt):
        await keep_running(Failures(), ADMIN, work)


async def test_what_is_done_at_once_spares_its_caller(caplog: pytest.LogCaptureFixture) -> None:
    """And is counted like a task."""
    failures = Failures()

    def fail() -> None:
        raise LookupError("a bug")

    failures.spare(SWEEP, fail)
    failures.spare(SWEEP, lambda: None)
    assert failures.counts["sweep"] == 1
    assert "LookupError" in caplog.text


async def test_single_goes_on_once_and_begins_anew_when_done_or_failed(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """A failure is no reason never to do it again."""
    failures, flaky, single = Failures(), Flaky(1, lasts_s=1), Single(SWEEP)
    async with trio.open_nursery() as nursery:
        for _ in range(6):
            single.start(nursery, failures, flaky.run)
            await trio.sleep(0.6)
    assert len(flaky.began_s) == 3
    assert failures.counts["sweep"] == 1
