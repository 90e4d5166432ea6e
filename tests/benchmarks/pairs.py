"""Whether a change made anything dearer: each benchmark with the old tree's code and the new one's, in turns.

`python -m tests.benchmarks pairs --old TREE [--pairs 10] [--whole] [NAME…]`. It must not know how anything is measured;
a figure is the same in both trees when it has the same name and unit.
"""

import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, median, stdev

from tests.benchmarks.broker import bench_broker
from tests.benchmarks.pair_run import MEASURES, NEED_BROKER, NEED_OWN_BROKER
from tests.benchmarks.processes import ROOT, BenchmarkError

DRIVER = Path(__file__).with_name("pair_run.py")
DEFAULT = (
    *("engine", "journal", "giant", "conversion", "assignors", "what-if-play", "event-memory"),
    *("startup", "idle", "relay", "heartbeats", "events", "group"),
)
"""Those without Spark, and without `migration` and `restarts`, whose figures are counts beside Kafka's and no costs."""
RUN_TIMEOUT_S = 1_800.0
DEARER_MAX = 1.03
LOG_TAIL_LINES = 20
T_975 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
"""Of Student's t with 1, 2, … degrees of freedom, what 97.5 % lie below."""
COUNTED_MEMBERS = re.compile(r" of [\d,]+ members$")
"""Older trees end the name of the memory after so many events with a count that is another one in each run."""
CPU_IN_NOTE = re.compile(r"CPU (?:of the bridge )?(?P<value>[\d.]+) (?P<unit>ms|s)\b")
"""Some figures of wall time have the CPU time in their note: the steadier of the two."""


@dataclass(frozen=True, slots=True)
class Cost:
    """One figure of one run, turned so that more is dearer; `baseline` is the same of what doesn't change."""

    value: float
    baseline: float | None = None


Costs = Mapping[str, Cost]
"""By name and unit."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """New over old: the geometric mean of the pairs, and where it lies with 95 %."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        """As a cell of a table."""
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"

    @property
    def verdict(self) -> str:
        """`DEARER` only when the whole interval is above the limit."""
        if self.low > DEARER_MAX:
            return "DEARER"
        if self.high <= DEARER_MAX:
            return "not dearer"
        return "not shown to be dearer"


def ratio_of(pairs: Sequence[tuple[float, float]]) -> Ratio | None:
    """Of (old, new) values; nothing where one is 0, as counts may be, or where there is but one pair."""
    if len(pairs) <= 1 or any(old <= 0 or new <= 0 for old, new in pairs):
        return None
    logs = [math.log(new / old) for old, new in pairs]
    freedom = len(logs) - 1
    reach = T_975[min(freedom, len(T_975)) - 1] * stdev(logs) / math.sqrt(len(logs))
    mean = fmean(logs)
    return Ratio(math.exp(mean), math.exp(mean - reach), math.exp(mean + reach))


def costs_of(line: str) -> dict[str, Cost]:
    """What a run printed, as costs. Raises ValueError for what is no list of figures."""
    costs: dict[str, Cost] = {}
    for told in json.loads(line):
        name, unit = COUNTED_MEMBERS.sub("", told["name"]), told["unit"]
        value, baseline = told["value"], told["baseline"]
        in_note = CPU_IN_NOTE.search(told["note"])
        if in_note is not None:
            costs[f"{name}: CPU, {in_note['unit']}"] = Cost(float(in_note["value"]))
        if unit.endswith("/s") or unit == "/CPU s":
            costs[f"{name}, {unit} (inverse)"] = Cost(_inverse(value), None if baseline is None else _inverse(baseline))
        else:
            costs[f"{name}, {unit}"] = Cost(value, baseline)
    return costs


def _inverse(rate: float) -> float:
    return 1 / rate if rate else 0.0


def table_of(rounds: Sequence[tuple[Costs, Costs]]) -> tuple[list[str], list[str]]:
    """The lines of a benchmark's table, and the names of what became dearer."""
    lines = ["| what | old | new | new : old [95 %] | baseline, new : old | |", "|--|--|--|--|--|--|"]
    dearer: list[str] = []
    shared = [name for name in rounds[0][0] if all(name in old and name in new for old, new in rounds)]
    for name in shared:
        pairs = [(old[name].value, new[name].value) for old, new in rounds]
        ratio, baseline = ratio_of(pairs), _ratio_of_baselines(name, rounds)
        verdict = "no ratio" if ratio is None else ratio.verdict
        if verdict == "DEARER":
            dearer.append(name)
        before, after = (median(one) for one in zip(*pairs, strict=True))
        cells = (name, f"{before:.4g}", f"{after:.4g}", str(ratio or ""), str(baseline or ""), verdict)
        lines.append(f"| {' | '.join(cells)} |")
    alone = sorted({name for pair in rounds for costs in pair for name in costs} - set(shared))
    return [*lines, *(f"\nnot in all runs of both trees: {name}" for name in alone)], dearer


def _ratio_of_baselines(name: str, rounds: Sequence[tuple[Costs, Costs]]) -> Ratio | None:
    pairs = [(old[name].baseline, new[name].baseline) for old, new in rounds]
    both = [(old, new) for old, new in pairs if old is not None and new is not None]
    return ratio_of(both) if len(both) == len(pairs) else None


@dataclass(frozen=True, slots=True)
class Trees:
    """What is compared, and how."""

    old: Path
    new: Path
    is_whole: bool

    def compare(self, name: str, pairs: int) -> list[tuple[Costs, Costs]]:
        """Old, new, new, old, old, new …, each in a fresh process. Raises BenchmarkError."""
        rounds: list[tuple[Costs, Costs]] = []
        with _shared_broker(name) as broker:
            for number in range(pairs):
                order = (self.old, self.new) if number % 2 == 0 else (self.new, self.old)
                taken = {tree: self._run(tree, name, broker) for tree in order}
                rounds.append((taken[self.old], taken[self.new]))
        return rounds

    def _run(self, tree: Path, name: str, broker: str) -> dict[str, Cost]:
        words = [sys.executable, str(DRIVER), str(tree), name, "whole" if self.is_whole else "small", broker]
        environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": ""}
        ended = subprocess.run(
            words, cwd=tree, env=environment, capture_output=True, text=True, timeout=RUN_TIMEOUT_S, check=False
        )
        lines = ended.stdout.splitlines()
        if ended.returncode or not lines:
            tail = "\n".join(ended.stderr.splitlines()[-LOG_TAIL_LINES:])
            raise BenchmarkError(f"{name} in {tree} ended with {ended.returncode}:\n{tail}")
        return costs_of(lines[-1])


@contextmanager
def _shared_broker(name: str) -> Iterator[str]:
    """One broker for all runs of a benchmark, as JSON; nothing where it needs none, or one for each run."""
    if name not in NEED_BROKER or name in NEED_OWN_BROKER:
        yield ""
        return
    with tempfile.TemporaryDirectory(prefix="bench-") as directory, bench_broker(Path(directory)) as broker:
        yield json.dumps(asdict(broker))


def main(arguments: Sequence[str]) -> int:
    """Compare and print; 1 if anything became dearer or couldn't be measured."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks pairs", description=__doc__)
    parser.add_argument("--old", required=True, type=Path, help="a tree of the older sources, as `git worktree` makes")
    parser.add_argument("--pairs", type=int, default=10, help="how often each tree is measured (10)")
    parser.add_argument("--whole", action="store_true", help="the sizes of the real benchmarks, not the short ones")
    parser.add_argument("benchmarks", nargs="*", metavar="NAME", help=f"of {', '.join(MEASURES)}; {', '.join(DEFAULT)}")
    wished = parser.parse_args(arguments)
    unknown = sorted(set(wished.benchmarks) - set(MEASURES))
    if unknown:
        parser.error(f"no benchmark is named {unknown[0]!r}; there are {', '.join(MEASURES)}")
    trees = Trees(wished.old.resolve(), ROOT, wished.whole)
    dearer: list[str] = []
    for name in wished.benchmarks or DEFAULT:
        begin = time.monotonic()
        try:
            rounds = trees.compare(name, wished.pairs)
        except BenchmarkError as error:
            print(f"\n## {name}\n\nnot measured: {error}", flush=True)
            dearer.append(f"{name}, which could not be measured")
            continue
        lines, found = table_of(rounds)
        dearer += found
        print(f"\n## {name} ({wished.pairs} pairs, {time.monotonic() - begin:.0f} s)\n", *lines, sep="\n", flush=True)
    print(f"\n{len(dearer)} above {DEARER_MAX}", *dearer, sep="\n  ", flush=True)
    return min(len(dearer), 1)
