"""`python -m tests.fuzz [--frames N] [--seed N]`: strangers for a real bridge, from a fresh seed that is printed.

It must not know how a run is made.
"""

import argparse
import secrets
import sys
import tempfile
from pathlib import Path

from tests.fuzz.campaign import Result, run_campaign

FRAMES = 200_000
FRESH_SEEDS = 10**9


def main() -> int:
    """Run and report; exit status 1 if anything was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--frames", type=int, default=FRAMES, help=f"how many are sent, {FRAMES} if not said")
    parser.add_argument("--seed", type=int, help="send what this seed gives; without it a fresh one is drawn")
    arguments = parser.parse_args()
    seed = secrets.randbelow(FRESH_SEEDS) if arguments.seed is None else arguments.seed
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    print(f"{arguments.frames} frames from seed {seed}; the bridge's log is in {folder}", flush=True)
    result = run_campaign(seed, arguments.frames, folder)
    print("\n".join(report(result)))
    return 1 if result.faults else 0


def report(result: Result) -> list[str]:
    """What a person wants to read."""
    ratio = [round(rough / max(calm, 0.01), 1) for calm, rough in zip(result.calm_ms, result.rough_ms, strict=True)]
    return [
        f"{result.frames} frames of {len(result.apis)} apis, {result.spoilt} spoilt, in {result.seconds} s",
        f"answers {result.answers}, connections closed {result.closed}",
        f"connections by manner: {dict(sorted(result.manners.items()))}",
        f"the broker was asked {result.broker_asked} times and spoilt {result.broker_spoilt} answers",
        f"canary: {result.canary_beats} beats, {result.canary_commits} commits, {result.canary_retries} retries",
        f"its beats (half, 99 of 100): {result.calm_ms} ms before, {result.rough_ms} ms during, ratio {ratio}",
        f"resident {result.resident_growth_bytes / 1024 / 1024:+.0f} MiB",
        f"files {result.files_kept:+d}, and ends of pipes {result.pipes_kept:+d}",
        *(f"FAULT: {fault}" for fault in result.faults),
        *([] if result.faults else ["no faults"]),
    ]


if __name__ == "__main__":
    sys.exit(main())
