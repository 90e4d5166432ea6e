"""`python -m tests.conformance.random --seeds 1-200` plays drawn sequences on Kafka and on the bridge and compares.

It knows the order of things, and must not know what a coordinator does.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

from tests.conformance.random.comparing import Found
from tests.conformance.random.drawing import draw
from tests.conformance.random.judging import LOOSE, Verdict, judge
from tests.conformance.random.older import readable
from tests.conformance.random.playing import CAREFUL
from tests.conformance.random.recording import SELECTIONS, chosen, save
from tests.conformance.random.restarts import restart_all
from tests.conformance.random.sequences import FAILED, KINDS, PROFILES, Course, Drawn, Kind
from tests.conformance.random.shrinking import shrink, signature
from tests.conformance.random.sides import Sides, both_sides
from tests.conformance.random.writing import scenario_of, written
from tests.support.conformance.steps import BOTH, NEWEST

LINES_SHOWN = 12
RECORDED_AT_ONCE, RECORDED_TIMES = 12, 4
PROGRESS_S = 10.0


def read_options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.random")
    parser.add_argument("--seeds", default="1-50", help="like 1-50 or 7,12,20-30")
    parser.add_argument("--kind", choices=KINDS, help="of group; classic and consumer by turns unless given")
    parser.add_argument("--profile", choices=tuple(PROFILES), default="plain", help="settings of both sides")
    parser.add_argument("--kafka", choices=BOTH, default=NEWEST, help="the older one has classic groups only")
    parser.add_argument("--at-once", type=int, default=24, help="sequences played side by side")
    parser.add_argument("--shrink", type=int, default=10, help="differences to make short and print as scenarios")
    parser.add_argument("--pipelined", action="store_true", help="send behind parked requests, on the same connection")
    parser.add_argument("--record", action="store_true", help="keep Kafka's answers for the tests that run by default")
    parser.add_argument("--restarts", action="store_true", help="compare the bridge with itself, killed in the middle")
    options = parser.parse_args()
    if options.profile == "expiry" and options.kind in LOOSE:
        parser.error(
            f"with sessions of 6 s, {options.kind} groups are not the same on both sides: where one lets a classic"
            " client wait, more time passes there; choose --kind consumer or classic, or none"
        )
    return options


def seeds_of(text: str) -> list[int]:
    """All seeds of a text like 7,12,20-30."""
    ends = [part.partition("-") for part in text.split(",")]
    return [seed for first, _, last in ends for seed in range(int(first), int(last or first) + 1)]


def compare(sides: Sides, drawns: Sequence[Drawn], options: argparse.Namespace) -> int:
    """Play all, print what differs and what was explained; give the number of sequences that differ."""
    begun = time.monotonic()
    verdicts = examine_all(sides, drawns, options.at_once)
    bad = [(drawn, verdict) for drawn, verdict in zip(drawns, verdicts, strict=True) if verdict.unexplained]
    steps, compared = sum(len(one.moves) for one in drawns), sum(one.steps for one in verdicts)
    print(f"{len(drawns)} sequences, {compared} of {steps} steps compared, {len(bad)} differ", end=", ")
    print(f"{time.monotonic() - begun:.0f} s", flush=True)
    rules: Counter[str] = Counter()
    for verdict in verdicts:
        rules.update(verdict.rules)
    for title, count in rules.most_common():
        print(f"  {count:5} times: {title}")
    show_shrunk(sides, bad, options.shrink)
    return len(bad)


def examine_all(sides: Sides, drawns: Sequence[Drawn], at_once: int) -> list[Verdict]:
    """Play all side by side and say now and then how far this is, and what is still on its way."""
    begun, differing = time.monotonic(), 0
    with ThreadPoolExecutor(at_once) as pool:
        futures = {pool.submit(sides.examine, one): one.seed for one in drawns}
        still = set(futures)
        while still:
            done, still = wait(still, timeout=PROGRESS_S)
            for one in [one for one in done if one.result().unexplained]:
                differing += 1
                print(f"    seed {futures[one]}: {one.result().unexplained[0].line()}", file=sys.stderr)
            playing = sorted(futures[one] for one in still if one.running())
            counts = f"{len(futures) - len(still)} of {len(futures)} examined, {differing} differ"
            took = f"{time.monotonic() - begun:4.0f} s"
            print(f"  {took}: {counts}, playing {playing}", file=sys.stderr, flush=True)
        return [one.result() for one in futures]


def show_shrunk(sides: Sides, bad: Sequence[tuple[Drawn, Verdict]], shrunk_max: int) -> None:
    """Print each kind of difference once, made short, as a scenario."""
    seen: set[str] = set()
    for drawn, verdict in bad:
        print(f"seed {drawn.seed} ({drawn.kind}) at step {verdict.steps} of {len(drawn.moves)}", flush=True)
        is_new = not signature(drawn, verdict) & seen
        seen |= signature(drawn, verdict)
        if not is_new or shrunk_max <= 0:
            show(drawn, verdict.unexplained[:2])
            continue
        shrunk_max -= 1
        small, its = shrink(sides.examine, drawn, verdict)
        seen |= signature(small, its)
        show(small, its.unexplained)
        print(scenario_of(small, sides.course_of_kafka(small, CAREFUL)), flush=True)


def show(drawn: Drawn, found: Sequence[Found]) -> None:
    """Print differences, and for answers what was asked."""
    for one in found[:LINES_SHOWN]:
        print("  ", one.line())
    print("   asked:", written(drawn.moves[found[0].asked - 1]))


def record(drawns: Sequence[Drawn], directory: Path) -> Sequence[tuple[Drawn, Course]]:
    """What Kafka shows of these, more than once the same: what does not come to rest there, what chance decides (in
    which order made-up ids are sorted, who else wrote to the group's partition), and what fails in Kafka is left out.
    """
    directory.mkdir(exist_ok=True)
    with both_sides("plain", directory) as sides, ThreadPoolExecutor(RECORDED_AT_ONCE) as pool:
        times = [list(pool.map(lambda one: sides.course_of_kafka(one, CAREFUL), drawns)) for _ in range(RECORDED_TIMES)]
    entries = zip(drawns, *times, strict=True)
    return [(drawn, first) for drawn, first, *others in entries if is_kept(drawn, first, others)]


def is_kept(drawn: Drawn, first: Course, others: Sequence[Course]) -> bool:
    """Whether Kafka came to rest without a failure of its own, and does so every time."""
    settled = [one.settled for one in first]
    is_quiet = all(one.get("quiet", True) for one in settled)
    has_failed = any(FAILED in one or "UNKNOWN_SERVER_ERROR" in str(one.get("ended")) for one in settled)
    return is_quiet and not has_failed and not any(judge(drawn, first, other).unexplained for other in others)


def main() -> int:
    """Run; 0 if nothing is unexplained."""
    options = read_options()
    is_older = options.kafka != NEWEST
    kind: Kind | None = "classic" if is_older else options.kind
    drawns = [draw(seed, kind, options.profile) for seed in seeds_of(options.seeds)]
    drawns = [readable(one) for one in drawns] if is_older else drawns
    with tempfile.TemporaryDirectory() as directory:
        if options.restarts:
            bad = restart_all(drawns, Path(directory))
            for drawn, found in bad:
                print(f"seed {drawn.seed} ({drawn.kind}):", flush=True)
                show(drawn, found)
            print(f"{len(drawns)} sequences with a kill, {len(bad)} differ")
            return 1 if bad else 0
        if options.record:
            for selection in SELECTIONS:
                save(selection, record(chosen(selection), Path(directory) / selection.name))
            return 0
        with both_sides(options.profile, Path(directory), options.kafka) as sides:
            sides.pipelined = options.pipelined
            sides.note = lambda line: print(f"    {line}", file=sys.stderr)
            return 1 if compare(sides, drawns, options) else 0


if __name__ == "__main__":
    sys.exit(main())
