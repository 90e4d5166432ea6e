"""`python -m tests.simulation [--moves] [--seed N] [--count N]`: stories from a seed on, or from one drawn afresh.

It knows the real owner as subject and must not know the laws.
"""

import argparse
import logging
import secrets
import sys
import time
from collections.abc import Sequence

from tests.support.moves_simulation.campaign import run_seeds as run_moves
from tests.support.simulated_bridge import OwnerSubject
from tests.support.simulation.campaign import BATCH, choose_seeds, run_seeds


def main(given: Sequence[str] | None = None) -> int:
    """Tell stories and report; exit status 1 if a law was broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument(
        "--seed", type=int, help="tell the story of this seed; without it a fresh one is drawn and printed"
    )
    parser.add_argument("--count", type=int, help=f"how many, from that seed on; 1 with --seed, else {BATCH}")
    parser.add_argument("--moves", action="store_true", help="stories of live groups that are moved")
    arguments = parser.parse_args(given)
    if arguments.moves:
        return _tell_moves(choose_seeds(arguments.seed, arguments.count, secrets.randbelow))
    seeds = choose_seeds(arguments.seed, arguments.count, secrets.randbelow)
    again = f"python -m tests.simulation --seed {seeds.start} --count {len(seeds)}"
    print(f"{len(seeds)} stories from seed {seeds.start} on; to be told again by: {again}", flush=True)
    begun_s = time.monotonic()
    outcomes, failures = run_seeds(seeds, OwnerSubject)
    for failure in failures:
        print(failure.report(), end="\n\n")
    virtual_h = sum(outcome.virtual_ms for outcome in outcomes) / 3_600_000
    print(
        f"{len(outcomes)} stories from seed {seeds.start} on, {virtual_h:.1f} h of virtual time,"
        f" {sum(outcome.steps for outcome in outcomes)} events, {sum(outcome.joins for outcome in outcomes)} joins,"
        f" {sum(outcome.commits for outcome in outcomes)} commits in {time.monotonic() - begun_s:.1f} s:"
        f" {len(failures)} broke a law"
    )
    return 1 if failures else 0


def _tell_moves(seeds: range) -> int:
    """The same for moves."""
    # What the bridges log of deaths and refusals is no news here.
    logging.disable(logging.CRITICAL)
    again = f"python -m tests.simulation --moves --seed {seeds.start} --count {len(seeds)}"
    print(f"{len(seeds)} stories of moves from seed {seeds.start} on; to be told again by: {again}", flush=True)
    begun_s, broken, moved, orders, commits = time.monotonic(), 0, 0, 0, 0
    for seed in seeds:
        outcomes, failures = run_moves((seed,))
        broken += len(failures)
        for failure in failures:
            print(failure.report(), end="\n\n", flush=True)
        moved += sum(outcome.moved for outcome in outcomes)
        orders += sum(outcome.orders for outcome in outcomes)
        commits += sum(outcome.commits for outcome in outcomes)
    print(
        f"{len(seeds)} stories of moves from seed {seeds.start} on, {orders} orders, {moved} moves, {commits} commits"
        f" in {time.monotonic() - begun_s:.1f} s: {broken} broke a law"
    )
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
