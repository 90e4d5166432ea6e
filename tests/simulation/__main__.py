"""`python -m tests.simulation [--seed N] [--count N]`: the story of one seed, of some, or of the day's batch.

It knows the real owner as subject and must not know the laws.
"""

import argparse
import sys
import time

from bridge.simulation.campaign import days_batch, run_seeds
from tests.support.simulated_bridge import OwnerSubject

DAY_S = 86_400


def main() -> int:
    """Tell stories and report; exit status 1 if a law was broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seed", type=int, help="tell the story of this seed; without it those of today")
    parser.add_argument("--count", type=int, default=1, help="with --seed: how many, from that seed on")
    arguments = parser.parse_args()
    day = int(time.time()) // DAY_S
    seeds = days_batch(day) if arguments.seed is None else range(arguments.seed, arguments.seed + arguments.count)
    begun_s = time.monotonic()
    endings, failures = run_seeds(seeds, OwnerSubject)
    for failure in failures:
        print(failure.report(), end="\n\n")
    virtual_h = sum(ending.virtual_ms for ending in endings) / 3_600_000
    print(
        f"{len(endings)} stories from seed {seeds.start} on, {virtual_h:.1f} h of virtual time,"
        f" {sum(ending.steps for ending in endings)} events, {sum(ending.joins for ending in endings)} joins,"
        f" {sum(ending.commits for ending in endings)} commits in {time.monotonic() - begun_s:.1f} s:"
        f" {len(failures)} broke a law"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
