"""Kafka's courses of a few sequences kept in a file, so that the bridge is held to them where no second broker runs.

It knows the file's form, and must not know how a course comes about.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from tests.conformance.random.drawing import draw
from tests.conformance.random.sequences import Answered, Course, Drawn, Seen
from tests.support.conformance.schema import Value

FILE = Path(__file__).resolve().parents[1] / "data" / "random" / "4.3.1.json"
SEEDS = range(9001, 9061)
MOVES_MAX = 18


@dataclass(frozen=True, slots=True)
class Recorded:
    """A sequence with the steps as they were when Kafka played it, and what Kafka showed."""

    drawn: Drawn
    steps: str
    kafka: Course


def chosen() -> tuple[Drawn, ...]:
    """The short ones of the seeds that are played by default; none of them waits for a timeout."""
    drawns = (draw(seed) for seed in SEEDS)
    return tuple(one for one in drawns if len(one.moves) <= MOVES_MAX and "Pause" not in steps_of(one))


def steps_of(drawn: Drawn) -> str:
    """The steps as text: a sequence that is drawn otherwise by now has to be recorded anew."""
    return repr(drawn.moves)


def save(courses: Iterable[tuple[Drawn, Course]]) -> None:
    """Keep what Kafka showed, a line a step."""
    entries = []
    for drawn, course in courses:
        rows = ",\n    ".join(json.dumps(_written(seen), sort_keys=True) for seen in course)
        steps = json.dumps(steps_of(drawn))
        entries.append(f'  "{drawn.seed}": {{"steps": {steps}, "course": [\n    {rows}\n  ]}}')
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_text("{\n" + ",\n".join(entries) + "\n}\n", encoding="utf-8")


def load() -> tuple[Recorded, ...]:
    """All that is kept, with the sequences as they are drawn now."""
    document = cast("Mapping[str, Mapping[str, Value]]", json.loads(FILE.read_text(encoding="utf-8")))
    return tuple(
        Recorded(draw(int(seed)), str(entry["steps"]), tuple(_read(row) for row in _rows(entry["course"])))
        for seed, entry in document.items()
    )


def _written(seen: Seen) -> dict[str, Value]:
    answers: list[Value] = [{"asked": one.asked, "answer": one.answer} for one in seen.answers]
    return {"answers": answers, "classic": seen.classic, "consumer": seen.consumer, "settled": seen.settled}


def _read(row: Mapping[str, Value]) -> Seen:
    answers = tuple(
        Answered(asked=cast("int", one["asked"]), answer=_mapping(one["answer"])) for one in _rows(row["answers"])
    )
    return Seen(
        answers=answers,
        classic=_mapping(row["classic"]),
        consumer=_mapping(row["consumer"]),
        settled=_mapping(row["settled"]),
    )


def _rows(value: Value) -> list[Mapping[str, Value]]:
    assert isinstance(value, list)
    return [_mapping(one) for one in value]


def _mapping(value: Value) -> Mapping[str, Value]:
    assert isinstance(value, Mapping)
    return value
