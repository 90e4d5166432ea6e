"""Kafka's courses of a few sequences kept in a file, so that the bridge is held to them where no second broker runs.

It knows the file's form, and must not know how a course comes about.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from tests.conformance.random.drawing import draw
from tests.conformance.random.sequences import Answered, Course, Drawn, Kind, Seen
from tests.support.conformance.schema import Value

DATA = Path(__file__).resolve().parents[1] / "data" / "random"
MOVES_MAX = 18


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Sequences that are kept: their file, the kind that their seeds are drawn as, and the seeds."""

    name: str
    kind: Kind | None
    seeds: range

    @property
    def file(self) -> Path:
        """Where Kafka's courses of them are."""
        return DATA / f"{self.name}.json"


BY_TURNS = Selection(name="4.3.1", kind=None, seeds=range(9001, 9061))
"""Classic and consumer groups, compared step by step."""
RESTING = Selection(name="4.3.1-resting", kind="resting", seeds=range(7001, 7077))
"""Groups of both kinds, asked all round where they rest."""
SELECTIONS = (BY_TURNS, RESTING)


@dataclass(frozen=True, slots=True)
class Recorded:
    """A sequence with the steps as they were when Kafka played it, and what Kafka showed."""

    drawn: Drawn
    steps: str
    kafka: Course


def chosen(selection: Selection) -> tuple[Drawn, ...]:
    """The short ones of the seeds that are played by default; none of them waits for a timeout."""
    drawns = (draw(seed, selection.kind) for seed in selection.seeds)
    return tuple(one for one in drawns if len(one.moves) <= MOVES_MAX and "Pause" not in steps_of(one))


def steps_of(drawn: Drawn) -> str:
    """The steps as text: a sequence that is drawn otherwise by now has to be recorded anew."""
    return repr(drawn.moves)


def save(selection: Selection, courses: Iterable[tuple[Drawn, Course]]) -> None:
    """Keep what Kafka showed, a line a step."""
    entries = []
    for drawn, course in courses:
        rows = ",\n    ".join(json.dumps(_written(seen), sort_keys=True) for seen in course)
        steps = json.dumps(steps_of(drawn))
        entries.append(f'  "{drawn.seed}": {{"steps": {steps}, "course": [\n    {rows}\n  ]}}')
    selection.file.parent.mkdir(parents=True, exist_ok=True)
    selection.file.write_text("{\n" + ",\n".join(entries) + "\n}\n", encoding="utf-8")


def load(selection: Selection) -> tuple[Recorded, ...]:
    """All that is kept, with the sequences as they are drawn now."""
    document = cast("Mapping[str, Mapping[str, Value]]", json.loads(selection.file.read_text(encoding="utf-8")))
    return tuple(
        Recorded(
            draw(int(seed), selection.kind), str(entry["steps"]), tuple(_read(row) for row in _rows(entry["course"]))
        )
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
