"""Two courses of one sequence compared: by the call answered, when the answer came, and the group's views.

It knows the forms of answers, and must not know which of two is right.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tests.conformance.random.sequences import Course
from tests.support.conformance.schema import Value
from tests.support.conformance.transcripts import ABSENT

NEVER = "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One difference: the step at which it shows, the step that was asked, where in the answer, and both values."""

    step: int
    asked: int
    path: str
    kafka: Value
    ours: Value

    def leaf(self) -> str:
        """The path without positions in lists."""
        return re.sub(r"\[\d+\]", "", self.path)

    def is_one_sided(self) -> bool:
        """Whether a side has nothing there; what the other has may be an empty list or record."""
        return ABSENT in (self.kafka, self.ours)

    def line(self) -> str:
        """It as text."""
        call = "" if self.asked == self.step else f" (answer to step {self.asked})"
        return f"step {self.step}{call} {self.path}: {self.kafka!r} -> {self.ours!r}"


def differences(kafka: Course, ours: Course) -> list[Found]:
    """All, in the order in which they show."""
    first, second = flat(kafka), flat(ours)
    keys = sorted({*first, *second})
    found = []
    for key in keys:
        (step, one), (other_step, other) = first.get(key, (0, ABSENT)), second.get(key, (0, ABSENT))
        if one != other:
            shown = min(at for at in (step, other_step) if at)
            found.append(Found(step=shown, asked=key[0], path=key[1], kafka=one, ours=other))
    return sorted(found, key=lambda one: (one.step, one.asked, one.path))


def flat(course: Course) -> dict[tuple[int, str], tuple[int, Value]]:
    """Every value by the step that it belongs to and its path, with the step at which it showed."""
    values: dict[tuple[int, str], tuple[int, Value]] = {}
    for step, seen in enumerate(course, 1):
        for one in seen.answers:
            values[one.asked, "answered in step"] = (step, step)
            values |= {(one.asked, path): (step, value) for path, value in flatten("answer", one.answer).items()}
        views = {"classic view": seen.classic, "consumer view": seen.consumer, "settled": seen.settled}
        for name, view in views.items():
            values |= {(step, path): (step, value) for path, value in flatten(name, view).items()}
    return values


def flatten(path: str, value: Value) -> dict[str, Value]:
    """Leaves by path; lists of numbers are leaves."""
    if isinstance(value, Mapping) and value:
        inner = {f"{path}.{key}": one for key, one in value.items()}
    elif isinstance(value, list) and value and not all(isinstance(one, int) for one in value):
        inner = {f"{path}[{at}]": one for at, one in enumerate(value)}
    else:
        return {path: str(value) if isinstance(value, list) else value}
    return {at: leaf for key, one in inner.items() for at, leaf in flatten(key, one).items()}
