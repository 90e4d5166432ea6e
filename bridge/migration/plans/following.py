"""What has become of the groups of a plan, from what is seen of them and of their moves."""

from collections.abc import Iterator
from dataclasses import replace

from bridge.migration.orders import MoveProgress, MoveStage
from bridge.migration.plans.values import (
    CONTROLS_MAX,
    REFUSALS_MAX,
    VERDICTS_MAX,
    Control,
    GroupsSeen,
    Part,
    PartStep,
    PlanVerdict,
    Progress,
    Ruling,
    SeenGroup,
)
from bridge.migration.route import Road

REASON_CHARS_MAX = 1_000
"""Of why a group was not moved: it is kept in the journal."""
RETRY_MS = 10_000
"""How long a move that was refused, or whose order was lost, waits before it is ordered again."""

# What a move says that finds nobody to be moved.
NOBODY_IS_LEFT_TO_BE_MOVED = "EB-MOVE-103"


def follow(progress: Progress, stage: int, looked: GroupsSeen, now_ms: int) -> Progress:
    """What has become of every group since; `stage` is for the verdicts."""
    followed = [_follow(part, looked.groups.get(part.group_id), now_ms) for part in progress.parts]
    news = [
        PlanVerdict(now_ms, stage, ruling, part.reason, part.group_id)
        for old, part in zip(progress.parts, followed, strict=True)
        if part.step is not old.step and (ruling := _RULINGS.get(part.step)) is not None
    ]
    return note(replace(progress, parts=tuple(followed)), *news)


_RULINGS = {PartStep.REFUSED: Ruling.REFUSED, PartStep.STOPPED: Ruling.STOPPED, PartStep.LEFT: Ruling.TOLD}
"""What is worth a verdict when a group comes to it."""


def _follow(part: Part, seen: SeenGroup | None, now_ms: int) -> Part:
    if seen is None:
        return _lost(part, now_ms) if part.is_under_way else part
    if part.order is None:
        return _moved_by_others(part, seen)
    if part.began is None and part.has_moved:
        part = replace(part, began=seen.figures)
    move = seen.move
    is_ours = move is not None and (move.order == part.order or _is_what_was_left(part, move))
    if move is not None and not is_ours and move.started_ms > part.ordered_ms and not part.step.is_last:
        return _left(part, move)
    if not part.is_under_way:
        return part
    if move is None or not is_ours or move.started_ms < part.ordered_ms:
        return _lost(part, now_ms)
    part = part if part.origin is not None else replace(part, origin=move.origin)
    return _ended(part, move, now_ms) if move.stage.has_ended else part


def _ended(part: Part, move: MoveProgress, now_ms: int) -> Part:
    if move.order != part.order:
        told = f"the bridge was started again on the way, which ended on {move.order.destination.value}: {move.verdict}"
        return _failed(part, MoveStage.REFUSED, told[:REASON_CHARS_MAX], now_ms)
    if move.stage is MoveStage.DONE or _is_nothing_left(part, move):
        is_back = part.step is PartStep.RETURNING
        percent = 0 if is_back else part.percent_ordered
        return replace(part, step=PartStep.RETURNED if is_back else PartStep.MOVED, percent=percent, refusals=0)
    why = "; ".join([move.verdict, *(f"{one.code}: {one.sentence}" for one in move.obstacles)])
    return _failed(part, move.stage, why[:REASON_CHARS_MAX], now_ms)


def _is_what_was_left(part: Part, move: MoveProgress) -> bool:
    """Whether this is the first part of the way that was ordered, with which a bridge goes on that was started again in
    the middle of it; what comes behind can be ordered (`itinerary.order_resumed`).
    """
    is_cut = part.order is not None and move.order == replace(part.order, destination=Road.PASS)
    return move.is_resumed and is_cut and part.order is not None and part.order.destination is Road.EMBEDDED


def _is_nothing_left(part: Part, move: MoveProgress) -> bool:
    """Whether the members that a further stage or a way back named are there already, as where two stages come to the
    same share of few members, or have left meanwhile. Of a whole group its newcomers are to be moved, too.
    """
    is_further = part.percent > 0 and bool(move.order.members) and move.stage is MoveStage.REFUSED
    return is_further and bool(move.obstacles) and all(one.code == NOBODY_IS_LEFT_TO_BE_MOVED for one in move.obstacles)


def _moved_by_others(part: Part, seen: SeenGroup) -> Part:
    """A group whose stage has not come belongs to whoever moved it since the plan began; it is nothing to compare with
    any more.
    """
    move = seen.move
    if move is None or part.step.is_last or move.stage is MoveStage.REFUSED:
        return part
    return _left(part, move) if part.observed is not None and move.started_ms > part.observed.at_ms else part


def _left(part: Part, move: MoveProgress) -> Part:
    told = f"an operator moved the group to {move.order.destination.value} meanwhile: the plan leaves it alone"
    return replace(part, step=PartStep.LEFT, reason=told)


def _lost(part: Part, now_ms: int) -> Part:
    """Nobody knows of the move that was ordered: after a while it counts as refused."""
    if now_ms < part.ordered_ms + RETRY_MS:
        return part
    return _failed(part, MoveStage.REFUSED, "the move that was ordered is not known any more", now_ms)


def _failed(part: Part, ended: MoveStage, why: str, now_ms: int) -> Part:
    """A move that ended on the way is judged by an operator; one that was refused is ordered a few times more."""
    refusals = part.refusals + 1
    failed = replace(part, reason=why, refusals=refusals, ordered_ms=now_ms)
    if part.step is PartStep.RETURNING:
        return replace(failed, step=PartStep.STOPPED)
    if ended is MoveStage.STOPPED:
        return replace(failed, step=PartStep.STOPPED)
    waits = PartStep.MOVED if part.percent else PartStep.WAITING
    return replace(failed, step=waits if refusals < REFUSALS_MAX else PartStep.REFUSED)


def with_controls(progress: Progress, looked: GroupsSeen) -> Progress:
    """The groups that a stage is compared with, and what they had when it began."""
    if progress.controls:
        return progress
    still = {part.group_id: looked.groups[part.group_id].figures for part in still_parts(progress, looked)}
    found = list({**still, **looked.others}.items())[:CONTROLS_MAX]
    return replace(progress, controls=tuple(Control(group_id, figures) for group_id, figures in found))


def still_parts(progress: Progress, looked: GroupsSeen) -> Iterator[Part]:
    """The groups of the plan that nobody has moved, and that are there."""
    return (
        part
        for part in progress.parts
        if part.group_id in looked.groups and part.order is None and part.step is PartStep.WAITING
    )


def note(progress: Progress, *verdicts: PlanVerdict) -> Progress:
    """The same with what was decided."""
    return replace(progress, verdicts=(*progress.verdicts, *verdicts)[-VERDICTS_MAX:])
