"""No run hangs: every part of a test and the whole run end in time, and say what was going on.

pytest-timeout raises in a test that takes too long. That is not enough where somebody swallows the exception, where a
library waits in C, or in fixtures. So a thread of each process watches the rest: it says where the process is, ends
what the process started, and then the process, which xdist reports as a failure of the test and replaces.
"""

import faulthandler
import gc
import os
import signal
import threading
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from math import inf
from pathlib import PurePath
from time import monotonic, sleep
from types import FrameType
from typing import NoReturn, Protocol

import psutil
import pytest
import trio

from bridge.demo.kafka_broker import READY_TIMEOUT_S
from bridge.demo.kafka_jars import RESOLVE_TIMEOUT_S

SETUP_S = RESOLVE_TIMEOUT_S + READY_TIMEOUT_S + 60.0
"""How long one fixture may take: the first that asks for a broker fetches it, and says by itself when that takes too
long. A test has the fixtures of two brokers, so what is bounded is each of them.
"""
TEARDOWN_S = 240.0
GRACE_S = 60.0
"""How long a test may go on after pytest-timeout has raised in it, and a run after its own limit."""
REPORT_S = 10.0
"""How long the workers have to say where they are before the run is ended."""
RUN_LIMIT = "run_limit_s"
DEADLINE = "run_deadline_s"
STATUS = 3
SAY_S = 1.0
"""How long before pytest-timeout raises is said where a test is: afterwards its tasks are gone."""
TASKS_MAX = 200
REASON_CHARS_MAX = 160
_MAIN_THREAD = threading.main_thread().ident or 0
Bounded = Generator[None, object, object]


@dataclass(frozen=True, slots=True)
class Limit:
    """When something is to end, in seconds of `time.monotonic`, and what is said and done if it has not."""

    at_s: float
    words: str
    then: Callable[[str], None]


class Watch(threading.Thread):
    """Looks at the limits of this process, and does what one says that has passed; each only once."""

    def __init__(self) -> None:
        super().__init__(name="time limits", daemon=True)
        self._limits: dict[str, Limit] = {}
        self._changed = threading.Condition()

    def bound(self, name: str, limit: Limit | None) -> None:
        """Set or lift the limit of this name."""
        with self._changed:
            self._limits.pop(name, None)
            if limit is not None:
                self._limits[name] = limit
            self._changed.notify()

    def extend(self, name: str, limit: Limit) -> None:
        """Set the limit of this name anew where there is one."""
        with self._changed:
            if name in self._limits:
                self._limits[name] = limit
                self._changed.notify()

    def limit_of(self, name: str) -> Limit | None:
        """The limit of this name, None if there is none."""
        with self._changed:
            return self._limits.get(name)

    def clear(self) -> None:
        """Lift all limits."""
        with self._changed:
            self._limits.clear()
            self._changed.notify()

    def run(self) -> None:
        """Wait for limits that pass as long as the process lives."""
        while True:
            limit = self._next_passed()
            limit.then(limit.words)

    def _next_passed(self) -> Limit:
        with self._changed:
            while True:
                now_s = monotonic()
                name = min(self._limits, key=lambda one: self._limits[one].at_s, default=None)
                if name is not None and self._limits[name].at_s <= now_s:
                    return self._limits.pop(name)
                self._changed.wait(None if name is None else self._limits[name].at_s - now_s)


class Node(Protocol):
    """What is read of xdist's side of a worker."""

    workerinput: dict[str, object]


class TimeoutSettings(Protocol):
    """What is read of pytest-timeout's settings of a test."""

    timeout: float


class TimeLimits:
    """The limits of one process: a worker of xdist, what controls the workers, or the only one."""

    def __init__(self, stderr: int, deadline_s: float, *, is_worker: bool) -> None:
        self.deadline_s = deadline_s
        self._stderr = stderr
        self._is_worker = is_worker
        self._watch = Watch()
        self._running: dict[str, float] = {}
        self._session: pytest.Session | None = None
        self._ended = ""

    # ------------------------------------------------------------------ the whole run

    def begin(self) -> None:
        """Watch from now on; a worker that comes after the deadline is ended by what controls it."""
        signal.signal(signal.SIGUSR2, self._exit)
        if monotonic() < self.deadline_s < inf:
            self.bound_run(self.deadline_s)
        self._watch.start()

    def bound_run(self, deadline_s: float) -> None:
        """End the run at this time, by `monotonic`."""
        self._watch.bound("run", Limit(deadline_s, f"The run has not ended in time ({RUN_LIMIT})", self._end_run))

    def end(self) -> None:
        """Watch only that the process ends, as a thread that nobody ends would keep it; a worker waits to be ended."""
        self._watch.clear()
        if self._is_worker:
            return
        words = f"The run is over, but its process has not ended within {GRACE_S:.0f} s"
        self._watch.bound("exit", Limit(monotonic() + GRACE_S, words, self._end_process))

    def limit_of(self, name: str) -> Limit | None:
        """What now bounds what has this name, None if nothing."""
        return self._watch.limit_of(name)

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Note what can be told to stop."""
        self._session = session

    def pytest_configure_node(self, node: "Node") -> None:
        """Tell a worker when the run ends."""
        node.workerinput[DEADLINE] = self.deadline_s

    def _end_run(self, words: str) -> None:
        now_s = monotonic()
        going_on = [f"{test} (for {now_s - begun_s:.0f} s)" for test, begun_s in self._running.items()]
        words = f"{words}; in progress: {', '.join(going_on) or 'no test'}"
        if self._is_worker:
            self._end_process(words)
        self._watch.bound("end", Limit(monotonic() + REPORT_S + GRACE_S, words, self._end_process))
        self._say(words)
        sleep(REPORT_S)
        self._ended = words
        if self._session is not None:
            self._session.shouldstop = words
        signal.pthread_kill(_MAIN_THREAD, signal.SIGUSR2)

    def _exit(self, _signal: int, _frame: FrameType | None) -> None:
        pytest.exit(self._ended or "ended by SIGUSR2", returncode=STATUS)

    # ------------------------------------------------------------------ one test

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """What controls workers hears of their tests, too."""
        self._running[nodeid] = monotonic()

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """See `pytest_runtest_logstart`."""
        self._running.pop(nodeid, None)

    def pytest_handlecrashitem(self, crashitem: str) -> None:
        """The process of this test has ended, and the test with it."""
        self._running.pop(crashitem, None)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Name what failed when it does: a run that its machine ends never comes to its summary."""
        if report.failed and not self._is_worker:
            self._write(f"\n{report.nodeid} failed ({report.when}): {_reason(report)}\n")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Bounded:
        """Bound what fixtures do before the test."""
        return (yield from self._bounded(f"The setup of {item.nodeid}", SETUP_S))

    @pytest.hookimpl(tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest) -> None:
        """Give each of a setup's fixtures the time anew; one that a test asks for itself is within the test's."""
        what = f"The setup of {request.node.nodeid or 'the run'} has not ended within {SETUP_S:.0f} s"
        self._watch.extend(
            "fixtures", Limit(monotonic() + SETUP_S, f"{what}, in {fixturedef.argname}", self._end_process)
        )

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Bounded:
        """Bound what fixtures do after the test, also those of its module and of the run."""
        return (yield from self._bounded(f"The teardown of {item.nodeid}", TEARDOWN_S))

    def _bounded(self, what: str, within_s: float) -> Bounded:
        words = f"{what} has not ended within {within_s:.0f} s"
        self._watch.bound("fixtures", Limit(monotonic() + within_s, words, self._end_process))
        try:
            return (yield)
        finally:
            self._watch.bound("fixtures", None)

    @pytest.hookimpl(tryfirst=True)
    def pytest_timeout_set_timer(self, item: pytest.Item, settings: TimeoutSettings) -> None:
        """Say where the process is when pytest-timeout raises, and end it if that ends nothing."""
        due_s, what = monotonic() + settings.timeout, f"{item.nodeid} has not ended within {settings.timeout:.0f} s"
        self._watch.bound("say", Limit(due_s - SAY_S, what, self._say))
        words = f"{what}, nor in {GRACE_S:.0f} s after pytest-timeout raised in it"
        self._watch.bound("test", Limit(due_s + GRACE_S, words, self._end_process))

    @pytest.hookimpl(tryfirst=True)
    def pytest_timeout_cancel_timer(self, item: pytest.Item) -> None:
        """The test itself is over."""
        self._watch.bound("say", None)
        self._watch.bound("test", None)

    def pytest_enter_pdb(self) -> None:
        """Whoever debugs takes the time that it takes."""
        self._watch.clear()

    # ------------------------------------------------------------------ what is done

    def _say(self, words: str) -> None:
        self._write(f"\n{words}. Where process {os.getpid()} is:\n")
        faulthandler.dump_traceback(self._stderr)
        tasks = [one for one in gc.get_objects() if type(one) is trio.lowlevel.Task]
        for task in tasks[:TASKS_MAX]:
            self._write("".join(_lines(task)))

    def _end_process(self, words: str) -> NoReturn:
        """Nobody may be left who holds the output of the run, or the cores of its machine."""
        try:
            self._say(words)
            for child in psutil.Process().children(recursive=True):
                child.kill()
        finally:
            os._exit(STATUS)

    def _write(self, text: str) -> None:
        os.write(self._stderr, text.encode())


def _reason(report: pytest.TestReport) -> str:
    """The first line of what was wrong, as far as it fits into one."""
    crash = getattr(report.longrepr, "reprcrash", None)
    words = str(crash.message if crash else report.longrepr).strip() or "no reason given"
    return words.splitlines()[0][:REASON_CHARS_MAX]


def _lines(task: trio.lowlevel.Task) -> Iterator[str]:
    """Where a task waits, outermost first; nothing of one that is over."""
    if getattr(task.coro, "cr_frame", None) is None:
        return
    yield f"Task {task.name}:\n"
    try:
        for frame, line in task.iter_await_frames():
            yield f"  {PurePath(frame.f_code.co_filename).name}:{line} in {frame.f_code.co_qualname}\n"
    except (AttributeError, TypeError) as problem:
        yield f"  … and went on meanwhile ({problem})\n"  # it is looked at from another thread


# ---------------------------------------------------------------------- the plugin

LIMITS = pytest.StashKey[TimeLimits]()


def pytest_configure(config: pytest.Config) -> None:
    """Begin to watch: here nothing captures what is written to standard error."""
    told: dict[str, object] | None = getattr(config, "workerinput", None)
    limits = TimeLimits(os.dup(2), _deadline_s(config, told), is_worker=told is not None)
    config.pluginmanager.register(limits, "time limits")
    config.stash[LIMITS] = limits
    limits.begin()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Watch only that the process ends."""
    config.stash[LIMITS].end()


def _deadline_s(config: pytest.Config, told: dict[str, object] | None) -> float:
    """When the run is to end, by `monotonic`, which is the same for all processes: workers are told."""
    if told is not None and isinstance(at_s := told.get(DEADLINE), float):
        return at_s
    limit_s = float(config.getini(RUN_LIMIT))
    return monotonic() + limit_s if limit_s else inf
