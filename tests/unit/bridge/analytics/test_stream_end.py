"""A stream that is told to end: in time, by whichever signal, and as what was before."""

import os
import signal
import subprocess
import sys

import pytest

from bridge.analytics.stream_end import SIGNALS, ending

LINES = """
import signal, threading
from bridge.analytics.stream_end import ending
with ending({within_s}):
    signal.raise_signal(signal.SIGTERM)
    {more}
    threading.Event().wait({wait_s})
"""
LONG_S = 600


@pytest.mark.parametrize("number", SIGNALS)
def test_signal_is_noted_and_not_thrown(number: signal.Signals) -> None:
    """In the middle of a batch it must not tear the word with the JVM apart; afterwards it does what it did."""
    former = signal.getsignal(number)
    with ending(LONG_S) as told:
        assert not told.is_asked()
        signal.raise_signal(number)
        assert told.is_asked()
    assert signal.getsignal(number) is former


@pytest.mark.parametrize(
    ("within_s", "more", "said"),
    [(2, "pass", "2 s are over"), (LONG_S, "signal.raise_signal(signal.SIGINT)", "SIGINT once more")],
)
def test_whoever_is_not_done_in_time_goes_all_the_same(within_s: float, more: str, said: str) -> None:
    """A service manager would kill it, and call that a failure; who asks twice does not wait for tables."""
    program = LINES.format(within_s=within_s, more=more, wait_s=LONG_S)
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=LONG_S, check=False
    )
    assert (answer.returncode, answer.stdout) == (0, "")
    assert answer.stderr.splitlines() == [
        "interrupted: making the tables for the last time",
        f"{said}: what was taken is safe, and the next start brings the tables up to it",
    ]


def test_who_is_done_in_time_is_let_be() -> None:
    """The clock is stopped with the block."""
    program = LINES.format(within_s=LONG_S, more="", wait_s=0) + "print('done')\n"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=LONG_S, check=True)
    assert answer.stdout == "done\n"


@pytest.mark.parametrize(("within_s", "more"), [(0.1, "pass"), (LONG_S, "signal.raise_signal(signal.SIGINT)")])
def test_who_is_heard_by_nobody_any_more_goes_all_the_same(within_s: float, more: str) -> None:
    """Ctrl-C ended the `tee` that read what the stream says, and the stream broke off in the middle, or stayed."""
    reading, writing = os.pipe()
    os.close(reading)
    program = LINES.format(within_s=within_s, more=more, wait_s=LONG_S)
    with os.fdopen(writing, "wb") as pipe:
        answer = subprocess.run([sys.executable, "-c", program], stderr=pipe, timeout=LONG_S, check=False)
    assert answer.returncode == 0
