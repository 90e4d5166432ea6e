"""Transcripts as files, and two of them compared step by step."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TypeAlias

from tests.support.conformance.schema import Value
from tests.support.conformance.steps import Await, Call, Close, Pause, Poll, Scenario

Answers: TypeAlias = Sequence[Mapping[str, Value]]
Difference: TypeAlias = tuple[int, str]
"""A step's number, from 1 on, and the path of a field in its answer."""

DATA = Path(__file__).resolve().parents[2] / "conformance" / "data" / "wire"
EPOCHS = {"generation_id", "member_epoch", "group_epoch", "assignment_epoch"}
ABSENT = "(absent)"


def transcript_file(version: str, theme: str) -> Path:
    """Where the answers of a Kafka to the scenarios of a theme are."""
    return DATA / version / f"{theme}.json"


def save(version: str, theme: str, answers: Mapping[str, Answers]) -> None:
    """Keep them, a line a step."""
    lines = []
    for name, steps in answers.items():
        rows = ",\n    ".join(json.dumps(step, sort_keys=True) for step in steps)
        lines.append(f"  {json.dumps(name)}: [\n    {rows}\n  ]")
    path = transcript_file(version, theme)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


@cache
def load(version: str, theme: str) -> Mapping[str, Answers]:
    """What that Kafka answered."""
    answers: Mapping[str, Answers] = json.loads(transcript_file(version, theme).read_text(encoding="utf-8"))
    return answers


def differences(scenario: Scenario, kafka: Answers, ours: Answers) -> dict[Difference, tuple[Value, Value]]:
    """Where two transcripts of a scenario differ: by step and field, the two values."""
    first, second = (flat_steps(scenario, answers) for answers in (kafka, ours))
    keys = sorted({*first, *second})
    pairs = {key: (first.get(key, ABSENT), second.get(key, ABSENT)) for key in keys}
    return {key: pair for key, pair in pairs.items() if pair[0] != pair[1]}


def flat_steps(scenario: Scenario, answers: Answers) -> dict[Difference, Value]:
    """All values of a transcript by step and path, in the form in which they are compared."""
    flat: dict[Difference, Value] = {}
    for number, answer in enumerate(answers, 1):
        flat |= {(number, path): value for path, value in _flatten("", answer, shares=scenario.shares).items()}
    return _ranked(scenario, flat) if scenario.relative else flat


def _flatten(path: str, value: Value, *, shares: bool) -> dict[str, Value]:
    if isinstance(value, Mapping) and value:
        inner = {f"{path}.{key}" if path else key: one for key, one in value.items()}
        return {at: leaf for key, one in inner.items() for at, leaf in _flatten(key, one, shares=shares).items()}
    if isinstance(value, list) and path.endswith("partitions") and all(isinstance(one, int) for one in value):
        return {path: f"{len(value)} partitions" if shares else str(value)}
    if isinstance(value, list) and value:
        pairs = {f"{path}[{at}]": one for at, one in enumerate(value)}
        return {at: leaf for key, one in pairs.items() for at, leaf in _flatten(key, one, shares=shares).items()}
    return {path: value}


def _ranked(scenario: Scenario, flat: Mapping[Difference, Value]) -> dict[Difference, Value]:
    """Epochs by their place among all of their kind that the same client was told: the order counts, no number."""
    speakers = [speaker_of(step) for step in scenario.steps if not isinstance(step, Pause | Close)]
    told: dict[tuple[str, str], set[int]] = {}
    for key, value in flat.items():
        if _is_epoch(key) and isinstance(value, int) and value > 0:
            told.setdefault(_kind(speakers, key), set()).add(value)
    ranked = dict(flat)
    for key, value in flat.items():
        if _is_epoch(key) and isinstance(value, int) and value > 0:
            ranked[key] = f"epoch {sorted(told[_kind(speakers, key)]).index(value) + 1}"
    return ranked


def speaker_of(step: Call | Await | Poll) -> str:
    """Whose answer a step gives."""
    return step.call.who if isinstance(step, Poll) else step.who


def _kind(speakers: Sequence[str], key: Difference) -> tuple[str, str]:
    number, path = key
    return (speakers[number - 1], path)


def _is_epoch(key: Difference) -> bool:
    return key[1].rpartition(".")[2] in EPOCHS
