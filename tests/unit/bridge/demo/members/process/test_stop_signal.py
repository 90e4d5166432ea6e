"""When client processes end: tried in child processes. It must not know what is ended."""

import os
import signal
import subprocess
import sys

CHILD = """
import time
from bridge.demo.members.process import StopSignal
stop = StopSignal()
print("ready", flush=True)
while not stop.is_set():
    time.sleep(0.01)
print("stopped", flush=True)
"""
PARENT = f"""
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", {CHILD!r}])
time.sleep(60)
"""


def test_stop_signal_is_set_by_sigterm_and_not_by_sigint() -> None:
    """A terminal sends SIGINT to all; the parent decides when members stop."""
    with subprocess.Popen([sys.executable, "-c", CHILD], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        os.kill(child.pid, signal.SIGINT)
        os.kill(child.pid, signal.SIGTERM)
        assert child.stdout.readline() == "stopped\n"
        assert child.wait(90) == 0


def test_stop_signal_is_set_when_the_parent_dies() -> None:
    """A killed parent leaves no clients behind: the grandchild closes the pipe it inherited."""
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "ready\n"
        parent.kill()
        assert parent.stdout.readline() == "stopped\n"
