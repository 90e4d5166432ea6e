"""`python -m tests.kills [--bridge 30] [--brokers 10] [--seed S]`: kills under a mixed fleet of 14, and a page of it.

It must not know how anything is judged; exit status 1 if anything was found.
"""

import argparse
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import trio

from tests.kills.cluster import killable_cluster
from tests.kills.trial import KINDS, PARTITIONS, RATE, Outcome, Plan, play
from tests.support.bridge_process import ROOT

KIND_NAMES = ", ".join(sorted(set(KINDS)))
PROSE = (
    f"Fourteen clients of one embedded group ({KIND_NAMES}) work on {PARTITIONS} partitions with {RATE} records",
    "a second, behind a bridge with a SQLite journal, in front of two Kafka brokers and a controller. Bridge",
    "and brokers die by SIGKILL at moments that the seed draws, some of the bridge's deaths while a broker is",
    "dead; everything has two copies, so the group's coordinator moves to the other broker. Nobody comes or",
    "goes meanwhile: every rebalance callback is one too many. Judged are the clients' own diaries, and the",
    "offsets that are committed at the brokers before, after every broker's return, and in the end. What is",
    "bold has to be 0.",
    "",
)


def main(arguments: Sequence[str]) -> int:
    """Play and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.kills", description=__doc__)
    parser.add_argument("--bridge", type=int, default=30, help="how often the bridge is killed (30)")
    parser.add_argument("--brokers", type=int, default=10, help="how often a broker is killed, in turns (10)")
    parser.add_argument("--seed", default=uuid.uuid4().hex[:6], help="who dies when; printed")
    parser.add_argument("--kept", type=Path, help="keep logs and data here instead of removing them")
    parser.add_argument("--page", type=Path, help="write the result page here")
    wished = parser.parse_args(arguments)
    plan = Plan(bridge=wished.bridge, brokers=wished.brokers, seed=wished.seed)
    print(f"seed {plan.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="kills-") as passing:
        directory = wished.kept or Path(passing)
        directory.mkdir(parents=True, exist_ok=True)
        with killable_cluster(directory / "cluster") as cluster:
            outcome = trio.run(partial(play, cluster, directory, plan))
    text = page(outcome)
    print(text)
    if wished.page:
        wished.page.write_text(text, encoding="utf-8")
    return min(sum(outcome.faults().values()), 1)


def page(outcome: Outcome) -> str:
    """The result in Markdown."""
    plan, verdict = outcome.plan, outcome.verdict
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    command = f"python -m tests.kills --bridge {plan.bridge} --brokers {plan.brokers} --seed {plan.seed}"
    rows = [
        ("kills -9 of the bridge", plan.bridge),
        ("of these while a broker was dead", outcome.bridge_deaths_without_a_broker),
        ("kills -9 of brokers, the two in turns", plan.brokers),
        ("moves of the group's coordinator between looks", outcome.coordinator_moves),
        ("seconds from the first to the last", round(outcome.took_s)),
        ("records produced", verdict.records_produced),
        ("records read twice", verdict.records_duplicated),
        *((f"**{name}**", count) for name, count in outcome.faults().items()),
    ]
    details = [*outcome.rebalances, *outcome.commits_back, *map(str, verdict.commit_mismatches)]
    return "\n".join(
        [
            "# Kills under a mixed fleet",
            "",
            f"`{command}` (also `tox run -e kills`), commit `{commit}`.",
            "",
            *PROSE,
            "| what | count |",
            "|--|--|",
            *(f"| {name} | {count} |" for name, count in rows),
            "",
            *(f"- {detail}" for detail in details),
        ]
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
