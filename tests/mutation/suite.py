"""The suites that judge mutants, inside one pytest that has collected everything and forks a child for each question.

A child puts one function's code in the place of another and runs the tests that came to the line, quickest first (and
those first that killed others); the first that fails kills the mutant. It must not know how mutants are made.
"""

import gc
import hashlib
import os
import pickle
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, settings

from tests.mutation.operators import Mutant, spoiled_code

if TYPE_CHECKING:
    from _typeshed import TraceFunction

SUITES = (
    *("tests/unit/translators", "tests/unit/bridge/engine", "tests/unit/bridge/wire", "tests/unit/bridge/coordinators"),
    *("tests/properties", "tests/conformance"),
)
NEED_BROKER = ("tests/conformance/wire", "tests/conformance/random", "tests/conformance/test_broker_versions.py")
"""Conformance tests that start Kafka; what it said in the scenarios was recorded, and those are played without it."""
OPTIONS = (
    *("-q", "-p", "no:randomly", "-p", "no:cacheprovider", "--tb=native", "-o", "timeout=0"),
    *("-p", "no:tests.support.time_limits"),  # A process of mutants is forked, and bounds its tests itself.
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),  # Hypothesis is here before pytest is.
    *("-o", "verbosity_assertions=0", "--no-header", "--no-summary"),
    *(word for path in NEED_BROKER for word in ("--ignore", path)),
)
PROFILE = "mutation"
EXAMPLES, EXAMPLES_WATCHED = 50, 10
"""So many does a property take at most against a mutant, and while it is learned which lines it comes to."""
GIVEN_SETTINGS = "_hypothesis_internal_use_settings"
CALM_CALLS = 40
"""After so many calls of a function in which no line was new to a test, the test's calls of it are not followed."""
MEMORY_BYTES = 6 << 30
SECONDS_MIN, SECONDS_TIMES, PATIENCE_TIMES = 5.0, 10.0, 5.0
"""A test may take this long, or so many times what it took with sound code: then it hangs, which kills, too."""


class Verdict(IntEnum):
    """How a child ends."""

    SURVIVED = 0
    KILLED = 11
    HUNG = 12
    UNCOVERED = 13
    NOT_ALL_RUN = 14
    """It survived what was run until the time for one mutant was over."""
    BROKEN = 15
    """The tool itself failed."""


@dataclass(frozen=True, slots=True)
class Reach:
    """What one test does with sound code: how long it takes, and which lines it comes to."""

    cpu_s: float
    lines: frozenset[tuple[str, int]]
    is_sound: bool


@dataclass(frozen=True, slots=True)
class Judged:
    """A mutant's end, and the test that ended it."""

    verdict: Verdict
    by: str
    cpu_s: float


class Watch:
    """A trace function that notes which lines of the sources a test comes to.

    Codes are told apart by their address: to hash one takes longer than to run most of them.
    """

    def __init__(self, root: str) -> None:
        self.lines: set[tuple[str, int]] = set()
        self._root = root
        self._calls_left: dict[int, int] = {}
        self._codes: list[CodeType] = []

    def call(self, frame: FrameType, _event: str, _argument: object) -> "TraceFunction | None":
        """A function begins."""
        code = frame.f_code
        left = self._calls_left.get(id(code))
        if left is None:
            self._codes.append(code)  # So that no other comes to its address.
            left = CALM_CALLS if code.co_filename.startswith((f"{self._root}/b", f"{self._root}/tr")) else 0
        self._calls_left[id(code)] = left - 1
        if left <= 0:
            return None
        lines, path, calls_left = self.lines, code.co_filename[len(self._root) + 1 :], self._calls_left

        def line(frame: FrameType, event: str, _argument: object) -> "TraceFunction":
            if event == "line" and (path, frame.f_lineno) not in lines:
                lines.add((path, frame.f_lineno))
                calls_left[id(code)] = CALM_CALLS
            return line

        return line


class Suite:
    """A pytest plugin: `work` is called with it in the place of running the tests."""

    def __init__(self, root: Path, work: Callable[["Suite"], None]) -> None:
        self.root = root
        self.items: Sequence[pytest.Item] = ()
        self.reach: Mapping[str, Reach] = {}
        self._work = work
        self._failed = False
        self._kills: Counter[str] = Counter()
        self._functions: Mapping[FunctionKey, Sequence[FunctionType]] = {}
        self._shared = _digest_of(root)

    def run(self) -> int:
        """Collect all and work. Returns pytest's exit status."""
        return int(pytest.main([*OPTIONS, *SUITES], plugins=[self]))

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """No shrinking: that a test fails is enough; the same examples each time; nothing kept."""
        settings.register_profile(
            PROFILE,
            deadline=None,
            derandomize=True,
            database=None,
            phases=(Phase.explicit, Phase.generate),
            suppress_health_check=list(HealthCheck),
        )
        settings.load_profile(PROFILE)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Work instead."""
        self.items = session.items
        self.limit_examples(EXAMPLES)
        sys.stdout.flush()
        gc.collect()
        self._functions = known_functions()
        gc.freeze()  # From here on the collector knows them no more.
        self._work(self)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """In a child: whether the test that runs has failed."""
        self._failed = self._failed or report.failed

    def limit_examples(self, most: int) -> None:
        """Let each property take so many examples at most."""
        for item in self.items:
            if not isinstance(item, pytest.Function):
                continue
            for owner, name in ((item.obj, GIVEN_SETTINGS), (item.cls, "settings")):
                known = getattr(owner, name, None)
                if isinstance(known, settings) and known.max_examples > most:
                    setattr(getattr(owner, "__func__", owner), name, settings(known, max_examples=most))

    def learn(self, kept: Path) -> None:
        """Run every test once with sound code, in a child, but those of which that was kept for the same sources, the
        same support and the same file of tests.
        """
        states = {item.path: self._state_for(item.path) for item in self.items}
        if kept.exists():
            known = pickle.loads(kept.read_bytes())
            self.reach = {
                item.nodeid: known[item.nodeid][1]
                for item in self.items
                if item.nodeid in known and known[item.nodeid][0] == states[item.path]
            }
        unknown = [item for item in self.items if item.nodeid not in self.reach]
        if unknown:
            if _in_child(lambda: self._watch(unknown, kept, states)) is not Verdict.SURVIVED:
                raise SystemExit("the tests could not be run with sound code")
            self.reach = {name: reach for name, (_, reach) in pickle.loads(kept.read_bytes()).items()}

    def judge(self, mutant: Mutant, cpu_s: float) -> Judged:
        """Run the tests that come to the mutant's line; no new one is begun after `cpu_s`."""
        chosen = sorted(
            (item for item in self.items if self._reaches(item, mutant)),
            key=lambda item: self.reach[item.nodeid].cpu_s / (1 + self._kills[item.nodeid]),
        )
        if not chosen:
            return Judged(Verdict.UNCOVERED, "", 0.0)
        before_s = _children_cpu_s()
        told, tell = os.pipe()
        verdict = _in_child(lambda: self._try(mutant, chosen, cpu_s, tell))
        os.close(tell)
        with os.fdopen(told, "rb") as pipe:
            by = pipe.read().decode().splitlines()
        if verdict is Verdict.KILLED:
            self._kills[by[-1]] += 1
        return Judged(verdict, by[-1] if by and verdict != Verdict.SURVIVED else "", _children_cpu_s() - before_s)

    def _reaches(self, item: pytest.Item, mutant: Mutant) -> bool:
        reach = self.reach.get(item.nodeid)
        return reach is not None and reach.is_sound and (mutant.path, mutant.line) in reach.lines

    def _state_for(self, tests: Path) -> str:
        """Of all that a file of tests can come to: the sources, what tests share, and the file itself."""
        digest = self._shared.copy()
        digest.update(tests.read_bytes())
        return digest.hexdigest()

    def _watch(self, items: Sequence[pytest.Item], kept: Path, states: Mapping[Path, str]) -> Verdict:
        reach = dict(self.reach)
        self.limit_examples(EXAMPLES_WATCHED)
        for item, following in zip(items, [*items[1:], None], strict=True):
            watch = Watch(str(self.root))
            self._failed, begin = False, time.process_time()
            sys.settrace(watch.call)
            try:
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            finally:
                sys.settrace(None)
            reach[item.nodeid] = Reach(time.process_time() - begin, frozenset(watch.lines), not self._failed)
        paths = {item.nodeid: item.path for item in self.items}
        kept.write_bytes(pickle.dumps({name: (states[paths[name]], found) for name, found in reach.items()}))
        return Verdict.SURVIVED

    def _try(self, mutant: Mutant, chosen: Sequence[pytest.Item], cpu_s: float, tell: int) -> Verdict:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        for number in (signal.SIGPROF, signal.SIGALRM):
            signal.signal(number, lambda *_: os._exit(Verdict.HUNG))
        put(spoiled_code(self.root, mutant), self._functions)
        begin = time.process_time()
        for item, following in zip(chosen, [*chosen[1:], None], strict=True):
            os.write(tell, f"{item.nodeid}\n".encode())
            allowed_s = max(SECONDS_MIN, SECONDS_TIMES * self.reach[item.nodeid].cpu_s)
            signal.setitimer(signal.ITIMER_PROF, allowed_s)
            signal.setitimer(signal.ITIMER_REAL, PATIENCE_TIMES * allowed_s)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self._failed:
                return Verdict.KILLED
            if time.process_time() - begin > cpu_s and following is not None:
                return Verdict.NOT_ALL_RUN
        return Verdict.SURVIVED


FunctionKey = tuple[str, str, int]
"""File, qualified name and first line of a function's code."""


def known_functions() -> Mapping[FunctionKey, list[FunctionType]]:
    """Every function that was imported; the same code may be behind several."""
    found: dict[FunctionKey, list[FunctionType]] = {}
    for one in gc.get_objects():
        if isinstance(one, FunctionType):
            found.setdefault(_key(one.__code__), []).append(one)
    return found


def _key(code: CodeType) -> FunctionKey:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def put(code: CodeType, functions: Mapping[FunctionKey, Sequence[FunctionType]]) -> None:
    """Put the spoiled code in the place of the sound one, wherever the function is known. Raises LookupError.

    Functions made inside it before, as tables of closures are at import, get theirs, too.
    """
    if not functions.get(_key(code), ()):
        raise LookupError(f"{code.co_qualname} of {code.co_filename} was not imported")
    waiting = [code]
    while waiting:
        one = waiting.pop()
        for function in functions.get(_key(one), ()):
            if function.__code__.co_freevars == one.co_freevars:
                function.__code__ = one
        waiting += [inner for inner in one.co_consts if isinstance(inner, CodeType)]


def _digest_of(root: Path) -> "hashlib._Hash":
    """Of the sources, and of everything below `tests` that is no test itself."""
    digest = hashlib.sha256()
    for folder in ("bridge", "translators", "tests"):
        for path in sorted((root / folder).rglob("*.py")):
            if "mutation" not in path.parts and not (folder == "tests" and path.name.startswith("test_")):
                digest.update(path.read_bytes())
    return digest


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _in_child(work: Callable[[], Verdict]) -> Verdict:
    """What a forked child returns; it prints to nowhere, and leaves nothing behind in this process."""
    pid = os.fork()
    if pid == 0:
        verdict = Verdict.BROKEN
        try:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            verdict = work()
        except BaseException as error:  # noqa: BLE001 - whatever a spoiled function throws, up to SystemExit
            os.write(2, f"{error!r}\n".encode())
        finally:
            os._exit(verdict)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        return Verdict.HUNG  # Killed by the kernel: out of memory or of time.
    return Verdict(os.WEXITSTATUS(status))
