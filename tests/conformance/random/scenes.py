"""What a rule about known differences looks at, and what it is.

It knows the forms of courses, and must not know any rule.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.conformance.random.comparing import Found
from tests.conformance.random.sequences import Course, Drawn, Settle
from tests.support.conformance.playing import EPOCH
from tests.support.conformance.schema import Value
from tests.support.conformance.steps import Call, Part


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What a rule may look at: the sequence, both courses, all that differs at the step, and how it was sent.

    `shifts` is by how much our epochs may be ahead since courses parted and met again.
    """

    drawn: Drawn
    kafka: Course
    ours: Course
    step: int
    found: Sequence[Found]
    pipelined: bool = False
    shifts: frozenset[int] = frozenset()

    def call(self, step: int) -> Call | None:
        """The call of a step, if it is one."""
        move = self.drawn.moves[step - 1]
        return move if isinstance(move, Call) else None

    def calls(self, *apis: str) -> Iterator[tuple[int, Call]]:
        """The calls of these APIs up to this step, with their steps."""
        for step in range(1, self.step + 1):
            call = self.call(step)
            if call is not None and call.api in apis:
                yield step, call

    def answer(self, course: Course, asked: int) -> Mapping[str, Value]:
        """What was answered to a step's call, empty if nothing."""
        return next((one.answer for seen in course for one in seen.answers if one.asked == asked), {})

    def group(self, course: Course, view: str, before: int = 0) -> Mapping[str, Value]:
        """The group as described after this step, or so many steps before; empty before the first."""
        if self.step - 1 - before < 0:
            return {}
        seen = course[self.step - 1 - before]
        return next(iter(rows_of((seen.classic if view == "classic" else seen.consumer)["groups"])), {})

    def states(self, view: str) -> tuple[Value, Value]:
        """The group's state on both sides."""
        return self.group(self.kafka, view).get("state"), self.group(self.ours, view).get("state")

    def inside(self, course: Course, before: int = 0) -> set[str]:
        """The ids of the group's members, of whichever kind it is."""
        views = self.group(course, "classic", before), self.group(course, "consumer", before)
        return {str(row["member_id"]) for view in views for row in rows_of(view.get("members"))}

    def told(self, course: Course, who: str) -> str:
        """The id that a member had been told last, by the time of this step."""
        ids = [
            str(one.answer["member_id"])
            for seen in course[: self.step]
            for one in seen.answers
            if (call := self.call(one.asked)) is not None and call.who == who and one.answer.get("member_id")
        ]
        return ids[-1] if ids else ""

    def named(self, course: Course, text: Part) -> str:
        """The id that a call's field stands for."""
        return self.told(course, text[1:]) if isinstance(text, str) and text.startswith("@") else str(text)

    def epoch(self, course: Course, value: Part, asked: int) -> int:
        """The epoch that a call's field stands for, by what its member had been told before that step.

        What clients are told while they go on by themselves is not in the course: it is some epoch.
        """
        match = EPOCH.fullmatch(value) if isinstance(value, str) else None
        if match is None:
            return value if isinstance(value, int) else 0
        told = 0
        for step, move in enumerate(self.drawn.moves[: asked - 1], 1):
            if isinstance(move, Settle):
                told = max(told, any(member.name == match[1] for member in move.members))
            heard = self.answer(course, step) if isinstance(move, Call) and move.who == match[1] else {}
            epoch = heard.get("generation_id", heard.get("member_epoch"))
            told = epoch if isinstance(epoch, int) and epoch > 0 else told
        return told + int(match[2] or 0)

    def all_owners(self) -> tuple[Mapping[str, set[str]], Mapping[str, set[str]]]:
        """Who has what on both sides."""
        return self.owners(self.kafka), self.owners(self.ours)

    def owners(self, course: Course) -> Mapping[str, set[str]]:
        """The members of a consumer group that have each partition now, or are still to give it up."""
        owners: dict[str, set[str]] = {}
        for row in rows_of(self.group(course, "consumer").get("members")):
            for partition in partitions_of(row["assignment"]):
                owners.setdefault(partition, set()).add(str(row["member_id"]))
        return owners


def rows_of(value: Value) -> list[Mapping[str, Value]]:
    """The entries of a list."""
    return [row for row in value if isinstance(row, Mapping)] if isinstance(value, list) else []


def parts_of(value: Part) -> list[Mapping[str, Part]]:
    """The entries of a list in a request."""
    return [row for row in value if isinstance(row, Mapping)] if isinstance(value, list) else []


def names_in(fields: Mapping[str, Part]) -> list[str]:
    """The protocols that a JoinGroup proposes, in its order."""
    return [str(row["name"]) for row in parts_of(fields.get("protocols"))]


def partitions_of(assignment: Value) -> list[str]:
    """Topics and numbers of an assignment as it is described, of a consumer group or in a classic member's blob; where
    partitions were counted, how many."""
    found: list[str] = []
    rows = assignment if isinstance(assignment, Mapping) else {}
    for row in [*rows_of(rows.get("topic_partitions")), *rows_of(rows.get("partitions"))]:
        numbers = row["partitions"]
        name = row.get("topic_name", row.get("topic"))
        found += [f"{name} {one}" for one in (numbers if isinstance(numbers, list) else [f"x {numbers}"])]
    return sorted(found)


Applies = Callable[[Scene, Found], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One deviation: what it is, when it applies to a difference, and whether the group may go another way from there.

    Where it `parts`, what differs is laid to it for as long as both sides show different groups, and no longer.
    """

    title: str
    applies: Applies
    parts: bool = False
