"""Client processes: real child processes of a few lines instead of Kafka clients. It must not know groups."""

import sys
from pathlib import Path

import trio

from bridge.demo.events import Ended, Failed
from bridge.demo.fleet import ClientProcess

ENDS_ON_TERM = """
import signal, sys, time
def end(*_):
    print('{"event": "ended", "at_ns": 2}', flush=True)
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
print('{"event": "failed", "at_ns": 1, "reason": "ready"}', flush=True)
time.sleep(60)
"""
IGNORES_TERM = ENDS_ON_TERM.replace("signal.SIGTERM, end", "signal.SIGTERM, signal.SIG_IGN")
PARENT = f"""
import subprocess, sys
subprocess.run([sys.executable, "-c", {ENDS_ON_TERM!r}])
"""
READY = Failed(at_ns=1, reason="ready")


async def wait_ready(process: ClientProcess) -> None:
    """Wait, within a bound, until the program has written its first event."""
    with trio.move_on_after(60):
        while READY not in process.events:  # noqa: ASYNC110 - it sets no Event
            await trio.sleep(0.01)
    assert READY in process.events, f"not ready, it said: {process.errors()}"


async def test_process_stopped_ends_by_itself_and_tells(tmp_path: Path) -> None:
    """SIGTERM; everything it wrote until its end is read."""
    process = ClientProcess("a", 1, tmp_path)
    async with trio.open_nursery() as nursery:
        await nursery.start(process.run, [sys.executable, "-c", ENDS_ON_TERM])
        await wait_ready(process)
        assert process.alive
        await process.stop(10)
    assert process.events == [READY, Ended(at_ns=2)]
    assert (process.alive, process.exit_status, process.failed) == (False, 0, False)


async def test_process_that_ignores_sigterm_is_killed_and_that_is_told(tmp_path: Path) -> None:
    """Bounded waits: after the grace it is killed."""
    process = ClientProcess("a", 1, tmp_path)
    async with trio.open_nursery() as nursery:
        await nursery.start(process.run, [sys.executable, "-c", IGNORES_TERM])
        await wait_ready(process)
        await process.stop(0.2)
    assert [type(event) for event in process.events] == [Failed, Failed]
    assert process.exit_status == -9
    assert process.died_ns is not None


async def test_process_killed_takes_its_own_children_with_it(tmp_path: Path) -> None:
    """A wrapper's program must not go on consuming: the pipe it holds is closed, so reading ends."""
    process = ClientProcess("a", 1, tmp_path)
    with trio.fail_after(120):
        async with trio.open_nursery() as nursery:
            await nursery.start(process.run, [sys.executable, "-c", PARENT])
            await wait_ready(process)
            await process.kill()
    assert (process.exit_status, process.failed) == (-9, False)


async def test_process_dying_unasked_has_failed_with_its_last_words(tmp_path: Path) -> None:
    """A crash is seen with its status and standard error."""
    process = ClientProcess("a", 1, tmp_path)
    async with trio.open_nursery() as nursery:
        await nursery.start(process.run, [sys.executable, "-c", "raise SystemExit('broken')"])
    assert (process.failed, process.exit_status) == (True, 1)
    assert process.errors() == "broken\n"
    assert process.log().started is None


async def test_line_that_is_no_event_is_written_down(tmp_path: Path) -> None:
    """Nothing a client prints is swallowed."""
    process = ClientProcess("a", 1, tmp_path)
    async with trio.open_nursery() as nursery:
        await nursery.start(process.run, [sys.executable, "-c", "print('hello')"])
    (event,) = process.events
    assert isinstance(event, Failed)
    assert "'hello'" in event.reason


async def test_process_of_a_cancelled_fleet_is_killed(tmp_path: Path) -> None:
    """A test or demo that ends early leaves no client behind."""
    process = ClientProcess("a", 1, tmp_path)
    async with trio.open_nursery() as nursery:
        await nursery.start(process.run, [sys.executable, "-c", ENDS_ON_TERM])
        await wait_ready(process)
        child = process._process
        nursery.cancel_scope.cancel()
    assert child is not None
    assert child.returncode == -9
