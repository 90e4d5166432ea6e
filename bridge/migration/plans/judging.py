"""Judges what a plan has moved: whether a stage may go on, and which group came nearest to a condition."""

from collections.abc import Iterable, Iterator

from bridge.migration.plans.conditions import Figures, Reading, Span, judge
from bridge.migration.plans.following import still_parts
from bridge.migration.plans.values import Looked, PartStep, Progress, Ruling, Verdict
from translators.dialects.ids import GroupId


def find_fault(progress: Progress, stage: int, looked: Looked, now_ms: int) -> Verdict | None:
    """Why a stage can't go on: a move that ended on the way, or a condition that a moved group has broken."""
    for part in progress.parts:
        if part.step is PartStep.STOPPED:
            told = f"the move of {part.group_id} ended on the way: {part.reason}"
            return Verdict(now_ms, stage, Ruling.STOPPED, told, part.group_id)
    for group_id, readings in judged(progress, looked):
        broken = [reading for reading in readings if reading.is_broken]
        if broken:
            told = f"{group_id} broke a condition: {'; '.join(map(str, broken))}"
            return Verdict(now_ms, stage, Ruling.BROKEN, told, group_id, readings)
    return None


def judged(progress: Progress, looked: Looked) -> Iterator[tuple[GroupId, tuple[Reading, ...]]]:
    """The readings of every group that was moved and is there."""
    others = list(_others(progress, looked))
    for part in progress.parts:
        seen = looked.groups.get(part.group_id)
        if seen is None or part.began is None or not part.has_moved:
            continue
        history = None if part.observed is None else _span(part.observed, part.began)
        watched = Span(part.began, seen.figures)
        yield part.group_id, judge(progress.plan.conditions, watched, history, others)


def _others(progress: Progress, looked: Looked) -> Iterator[Span]:
    still = {part.group_id for part in still_parts(progress, looked)}
    for control in progress.controls:
        if control.group_id in still:
            yield Span(control.began, looked.groups[control.group_id].figures)
        elif control.group_id in looked.others:
            yield Span(control.began, looked.others[control.group_id])


def _span(before: Figures, after: Figures) -> Span | None:
    """A time that has a length, else nothing to compare with."""
    return Span(before, after) if after.at_ms > before.at_ms else None


def nearest(judged: Iterable[tuple[GroupId, tuple[Reading, ...]]]) -> tuple[str, tuple[Reading, ...]]:
    """The group that came nearest to breaking a condition, with its figures."""
    found = [
        (max((reading.value / (reading.most or 1) for reading in readings), default=0.0), group_id, readings)
        for group_id, readings in judged
    ]
    if not found:
        return "", ()
    _, group_id, readings = max(found, key=lambda one: one[0])
    return group_id, readings
