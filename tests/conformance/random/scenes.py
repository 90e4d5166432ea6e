"""What a rule about known differences looks at, and what it is.

It knows the forms of courses, and must not know any rule.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tests.conformance.random.comparing import Found
from tests.conformance.random.sequences import Course, Drawn
from tests.support.conformance.schema import Value
from tests.support.conformance.steps import Call


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What a rule may look at: the sequence, both courses, all that differs at the step, and how it was sent."""

    drawn: Drawn
    kafka: Course
    ours: Course
    step: int
    found: Sequence[Found]
    pipelined: bool = False

    def call(self, step: int) -> Call | None:
        """The call of a step, if it is one."""
        move = self.drawn.moves[step - 1]
        return move if isinstance(move, Call) else None

    def answer(self, course: Course, asked: int) -> Mapping[str, Value]:
        """What was answered to a step's call, empty if nothing."""
        return next((one.answer for seen in course for one in seen.answers if one.asked == asked), {})

    def group(self, course: Course, view: str) -> Mapping[str, Value]:
        """The group as described after this step."""
        seen = course[self.step - 1]
        rows = (seen.classic if view == "classic" else seen.consumer)["groups"]
        assert isinstance(rows, list)
        return next((row for row in rows if isinstance(row, Mapping)), {})


Applies = Callable[[Scene, Found], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One deviation: what it is, when it applies to a difference, and whether the courses part for good there."""

    title: str
    applies: Applies
    parts: bool = False
