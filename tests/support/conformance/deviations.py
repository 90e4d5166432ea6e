"""Where the bridge's answers differ from Kafka's on purpose: a file of scenarios, steps, both answers and who gains."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import cast

import yaml

from tests.support.conformance.schema import Value
from tests.support.conformance.transcripts import DATA, Answers, Difference

BEGUN_AS_CONSUMER = ", begun as consumer"
FILE: Path = DATA / "deviations.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deviation:
    """One decision: what differs in one line, who gains, and by scenario the steps with both answers."""

    title: str
    gains: str
    differs: Mapping[str, Mapping[Difference, tuple[Value, Value]]]


@cache
def deviations() -> tuple[Deviation, ...]:
    """All of the file: a list of `title`, `gains` and `scenarios`, which give `[step, path, Kafka's, ours]` by name."""
    document = cast("Sequence[Mapping[str, Value]]", yaml.safe_load(FILE.read_text(encoding="utf-8")) or [])
    return tuple(_deviation(entry) for entry in document)


def _deviation(entry: Mapping[str, Value]) -> Deviation:
    scenarios = entry["scenarios"]
    assert isinstance(scenarios, Mapping)
    return Deviation(
        title=str(entry["title"]),
        gains=str(entry["gains"]),
        differs={name: _steps(rows) for name, rows in scenarios.items()},
    )


def _steps(rows: Value) -> dict[Difference, tuple[Value, Value]]:
    steps: dict[Difference, tuple[Value, Value]] = {}
    assert isinstance(rows, list)
    for row in rows:
        assert isinstance(row, list)
        step, path, kafka, ours = row
        assert isinstance(step, int)
        steps[step, str(path)] = (kafka, ours)
    return steps


def deviations_of(scenario: str, begins: str) -> dict[Difference, tuple[Value, Value]]:
    """All that is meant to differ in a scenario, by step and path, where groups begin as `begins` says.

    What is said of a scenario `begun as consumer` replaces what is said of it otherwise.
    """
    name = f"{scenario}{BEGUN_AS_CONSUMER}"
    own = begins == "consumer" and any(name in deviation.differs for deviation in deviations())
    found: dict[Difference, tuple[Value, Value]] = {}
    for deviation in deviations():
        found |= deviation.differs.get(name if own else scenario, {})
    return dict(sorted(found.items()))


def without_leaders(
    found: Mapping[Difference, tuple[Value, Value]], kafka: Answers, ours: Answers
) -> dict[Difference, tuple[Value, Value]]:
    """What is left when a classic member of a consumer group need not lead (K4.14): to a member that both let in, a
    classic group names a leader, and that one all members; a consumer group, Kafka's as well, neither.
    """
    return {
        (step, path): pair
        for (step, path), pair in found.items()
        if not (LEADS.match(path) and leads_nobody(kafka[step - 1], ours[step - 1]))
    }


LEADS = re.compile(r"(leader$|members\b)")


def leads_nobody(kafka: Mapping[str, Value], ours: Mapping[str, Value]) -> bool:
    """Whether both let a member in, Kafka with a leader, and ours as one of a consumer group: nobody leads."""
    both = kafka.get("error") == ours.get("error") == "NONE"
    return both and bool(kafka.get("leader")) and (ours.get("leader"), ours.get("members")) == ("", [])
