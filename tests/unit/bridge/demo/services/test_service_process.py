"""Services as child processes: ready, ended in order, ended too early. It must not know what they serve."""

import sys
from pathlib import Path

import pytest
import trio

from bridge.demo.errors import DemoError
from bridge.demo.run import first_cause
from bridge.demo.services import Service, run_service

READS_ITS_INPUT = "import os, sys; print(os.getpid(), flush=True); sys.stdin.read()"
IGNORES_ALL = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print(os.getpid(), flush=True)
time.sleep(60)
"""
DIES_SOON = "import sys, time; print('ready', flush=True); time.sleep(0.2); sys.exit('out of luck')"


def service(program: str, directory: Path, *, ready_timeout_s: float = 60.0) -> Service:
    """A Python program as a service."""
    return Service(
        name="the thing",
        command=[sys.executable, "-c", program],
        log=directory / "log",
        ready_timeout_s=ready_timeout_s,
        stop_grace_s=0.3,
    )


def is_there(pid: str) -> bool:
    """Whether a process exists."""
    return Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize("program", [READS_ITS_INPUT, IGNORES_ALL])
async def test_service_is_gone_after_the_body(program: str, tmp_path: Path) -> None:
    """Asked first, killed if it doesn't go."""
    with trio.fail_after(60):
        async with run_service(service(program, tmp_path)) as pid:
            assert is_there(pid)
    assert not is_there(pid)


async def test_service_is_gone_when_the_body_is_cancelled(tmp_path: Path) -> None:
    """Ctrl-C leaves nothing behind."""
    seen: list[str] = []
    with trio.fail_after(60), trio.CancelScope() as scope:
        async with run_service(service(IGNORES_ALL, tmp_path)) as pid:
            seen.append(pid)
            scope.cancel()
            await trio.sleep_forever()
    assert [is_there(pid) for pid in seen] == [False]


async def test_service_dying_in_the_middle_ends_the_body_and_says_so(tmp_path: Path) -> None:
    """EB-DEMO-004 with status and last words; nobody waits for a dead service."""
    with trio.fail_after(60), pytest.raises(ExceptionGroup) as caught:
        async with run_service(service(DIES_SOON, tmp_path)):
            await trio.sleep_forever()
    cause = first_cause(caught.value)
    assert isinstance(cause, DemoError)
    assert str(cause).startswith("EB-DEMO-004: the thing (process ")
    assert str(cause).endswith(
        f"ended with status 1 while it was needed. It said: out of luck (all of it is in {tmp_path / 'log'})"
    )


async def test_service_dying_at_start_says_its_last_words(tmp_path: Path) -> None:
    """EB-DEMO-003."""
    with pytest.raises(DemoError, match=r"EB-DEMO-003: the thing ended at start with status 1. It said: no \(all"):
        async with run_service(service("import sys; sys.exit('why\\nno')", tmp_path)):
            pytest.fail("it never was ready")


async def test_service_that_says_nothing_is_not_waited_for_forever(tmp_path: Path) -> None:
    """EB-DEMO-003 after the bound."""
    with pytest.raises(DemoError, match="EB-DEMO-003: the thing was not ready within 0 s"):
        async with run_service(service("import time; time.sleep(60)", tmp_path, ready_timeout_s=0.2)):
            pytest.fail("it never was ready")
