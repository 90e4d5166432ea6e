"""`python -m tests.suites franz-go` runs a library's own tests direct and through the bridge, and prints what differs.

It knows brokers and bridges, and must not know how a suite is had or read.
"""

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from bridge.demo.kafka_broker import start_broker
from bridge.demo.kafka_properties import DEFAULT_VERSION, BrokerSettings
from tests.suites.catalogue import SUITES
from tests.suites.outcome import Outcomes, Place, Suite, SuiteError, differences
from tests.support.bridge_process import Globs, bridge_process

BROKER: Mapping[str, str] = {"group.initial.rebalance.delay.ms": "0", "auto.create.topics.enable": "true"}
SETTINGS: Mapping[str, str] = {
    "journal": "memory",
    "embedded.resume.grace.ms": "0",
    "embedded.topics.refresh.ms": "1000",
    "group.initial.rebalance.delay.ms": "0",
}
ROADS: Mapping[str, tuple[Globs, Mapping[str, str]]] = {
    "pass": (Globs(), SETTINGS),
    "embedded": (Globs(("*",)), SETTINGS),
    "embedded, classic": (Globs(("*",)), {**SETTINGS, "embedded.initial.group.type": "classic"}),
    "upstream": (Globs(upstream="*"), SETTINGS),
}
"""Name of a road -> which groups take it, and the bridge's settings."""


def main(arguments: Sequence[str]) -> int:
    """Run one suite on all roads; 1 if anything differs from the direct run."""
    parser = argparse.ArgumentParser(prog="python -m tests.suites", description=__doc__)
    parser.add_argument("suite", choices=sorted(SUITES))
    parser.add_argument("--kafka", default=DEFAULT_VERSION, help="version of the broker")
    parser.add_argument("--only", help="regular expression of the tests' names")
    parser.add_argument("--road", action="append", choices=sorted(ROADS), help="only this one; may be said again")
    chosen = parser.parse_args(arguments)
    directory = Path(tempfile.mkdtemp(prefix="suites-"))
    print(f"logs are in {directory}")
    try:
        roads = tuple(chosen.road or ROADS)
        return _compare(SUITES[chosen.suite], chosen.kafka, chosen.only, directory, roads)
    except SuiteError as error:
        print(error, file=sys.stderr)
        return 1


def _compare(suite: Suite, version: str, only: str | None, directory: Path, roads: Sequence[str]) -> int:
    program = suite.build(directory)
    settings = BrokerSettings(version=version, properties={**BROKER, **suite.broker})
    found = 0
    with start_broker(settings, directory=directory / "kafka") as broker:
        place = Place(address=broker.bootstrap, version=version, log=directory / "direct.log")
        direct = program.run(place, only)
        print(f"direct: {_counts(direct)}")
        for road in roads:
            globs, of_bridge = ROADS[road]
            log = directory / f"{road.replace(', ', '-')}.log"
            with bridge_process(broker.bootstrap, globs, log.with_suffix(".bridge"), of_bridge) as bridge:
                bridged = program.run(replace(place, address=bridge.bootstrap, log=log), only)
            print(f"{road}: {_counts(bridged)}")
            for test, (before, after) in differences(direct, bridged).items():
                found += 1
                print(f"  {test}: {before} direct, {after} here")
    return 1 if found else 0


def _counts(outcomes: Outcomes) -> str:
    kinds = [outcome for test, outcome in outcomes.items() if "/" not in test]
    return ", ".join(f"{kinds.count(kind)} {kind.lower()}" for kind in ("PASS", "FAIL", "SKIP"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
