"""`python -m tests.mutation [--seed N] [--mutants N]`: how many small faults in the code the tests would notice.

It draws mutants of engine, member machine, coordinators and wire, and tells which survive. It must not know how a test
is run.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from tests.mutation.equivalents import EQUIVALENT
from tests.mutation.operators import Mutant, mutants_of
from tests.mutation.report import page
from tests.mutation.suite import Judged, Suite, Verdict

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("translators", "bridge/engine", "bridge/coordinators", "bridge/wire")
CPU_S = 20.0
TERMINAL = os.dup(2)


def all_mutants(rooms: Sequence[str] = ROOMS) -> list[Mutant]:
    """Of every module of the rooms, in the order of their paths."""
    paths = sorted(str(path.relative_to(ROOT)) for room in rooms for path in (ROOT / room).rglob("*.py"))
    return [mutant for path in paths for mutant in mutants_of(ROOT, path)]


def draw(seed: int, count: int, rooms: Sequence[str]) -> list[Mutant]:
    """The same for the same sources, seed and rooms."""
    known = all_mutants(rooms)
    return random.Random(seed).sample(known, min(count, len(known)))


def kept_survivors(file: Path) -> list[Mutant]:
    """Those of an earlier run that survived, where the sources still have them."""
    keys = {tuple(json.loads(line)["key"]) for line in file.read_text().splitlines() if not json.loads(line)["killed"]}
    return [mutant for mutant in all_mutants() if mutant.key in keys]


def killed_again(file: Path | None) -> frozenset[tuple[str, str, str, str]]:
    """Survivors that a run with `--survivors` killed, in every place where the sources had them by then."""
    told = [json.loads(line) for line in file.read_text().splitlines()] if file is not None else []
    alive = {tuple(one["key"]) for one in told if not one["killed"]}
    return frozenset(tuple(one["key"]) for one in told) - alive


def already_judged(file: Path | None, drawn: Sequence[Mutant]) -> dict[Mutant, Judged]:
    """What an interrupted run found of these mutants."""
    if file is None or not file.exists():
        return {}
    told = [json.loads(line) for line in file.read_text().splitlines()]
    known = {(*one["key"], one["place"]): one for one in told}
    return {
        mutant: Judged(Verdict[one["verdict"]], one["by"], one["cpu_s"])
        for mutant in drawn
        if (one := known.get((*mutant.key, mutant.place))) is not None
    }


def main(arguments: Sequence[str]) -> int:
    """Judge and tell; 1 if the tool failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--seed", type=int, default=int(time.time()), help="which mutants are drawn; printed")
    parser.add_argument("--mutants", type=int, default=1_000)
    parser.add_argument(
        "--rooms", nargs="+", choices=ROOMS, default=ROOMS, help="where mutants are drawn; all unless given"
    )
    parser.add_argument("--cpu-s", type=float, default=CPU_S, help="no further test of a mutant is begun after this")
    parser.add_argument("--kept", type=Path, default=Path(tempfile.gettempdir()) / "mutation-reach.pickle")
    parser.add_argument(
        "--out", type=Path, help="a line of JSON for each mutant; who has one already is not judged again"
    )
    parser.add_argument("--survivors", type=Path, help="judge the survivors of an earlier --out instead of drawing")
    parser.add_argument("--again", type=Path, help="the --out of a later run with --survivors: told beside the score")
    parser.add_argument("--page", type=Path, help="write the result page here")
    wished = parser.parse_args(arguments)
    drawn = kept_survivors(wished.survivors) if wished.survivors else draw(wished.seed, wished.mutants, wished.rooms)
    print(f"seed {wished.seed}: {len(drawn)} mutants", flush=True)
    judged = already_judged(wished.out, drawn)

    def work(suite: Suite) -> None:
        begin = time.monotonic()
        suite.learn(wished.kept)
        unsound = [name for name, reach in suite.reach.items() if not reach.is_sound]
        _tell(f"{len(suite.items)} tests known after {time.monotonic() - begin:.0f} s; failing anyway: {unsound}")
        for number, mutant in enumerate((one for one in drawn if one not in judged), 1):
            judged[mutant] = found = suite.judge(mutant, wished.cpu_s)
            if wished.out:
                with wished.out.open("a") as file:
                    file.write(json.dumps(_line(mutant, found)) + "\n")
            if not _is_killed(found):
                _tell(f"{found.verdict.name} {mutant}")
            if number % 100 == 0:
                counts = Counter(one.verdict.name for one in judged.values())
                _tell(f"{number} after {time.monotonic() - begin:.0f} s: {dict(counts)}")

    os.chdir(ROOT)
    status = Suite(ROOT, work).run() if len(judged) < len(drawn) else 0
    if len(judged) < len(drawn):
        print(f"pytest ended with {status} after {len(judged)} mutants")
        return 1
    text = page(_summary(wished.seed), judged, EQUIVALENT, killed_again(wished.again))
    print(text)
    if wished.page:
        wished.page.write_text(text, encoding="utf-8")
    return 0


def _is_killed(found: Judged) -> bool:
    return found.verdict in {Verdict.KILLED, Verdict.HUNG}


def _line(mutant: Mutant, found: Judged) -> Mapping[str, object]:
    told = {**asdict(mutant), "key": mutant.key, "verdict": found.verdict.name, "killed": _is_killed(found)}
    return {**told, "by": found.by, "cpu_s": round(found.cpu_s, 2)}


def _tell(line: str) -> None:
    """Past pytest, which keeps what is written to the descriptors that it knows."""
    os.write(TERMINAL, f"{line}\n".encode())


def _summary(seed: int) -> str:
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    return f"`python -m tests.mutation --seed {seed}`, commit `{commit}`"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
