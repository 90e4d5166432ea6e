"""Drives a plan: observe, move a stage, watch it, move the next; hold or return when a condition is broken.

It is told what is seen, and says what is to be ordered.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import assert_never

from bridge.migration.orders import MoveOrder
from bridge.migration.plans.following import RETRY_MS, follow, note, with_controls
from bridge.migration.plans.judging import (
    find_blind,
    find_fault,
    find_missing,
    judge_said,
    judged,
    missing_arm,
    nearest,
    waits_for_judge,
    with_canaries,
)
from bridge.migration.plans.values import (
    REFUSALS_MAX,
    TRANSITIONS,
    WHOLE,
    GroupsSeen,
    Held,
    Moving,
    Observing,
    OrderMove,
    Part,
    PartStep,
    PauseOrdered,
    Plan,
    PlanEffect,
    PlanEvent,
    PlanStage,
    PlanState,
    PlanVerdict,
    Progress,
    PromoteOrdered,
    Reaction,
    Ready,
    ResumeOrdered,
    Returned,
    Returning,
    ReturnOrdered,
    Ruling,
    SeenGroup,
    Settled,
    StopMove,
    Watching,
)
from translators.dialects.counts import counted
from translators.dialects.ids import GroupId, MemberId
from translators.machine import Step, checked_step

PlanStep = Step[PlanState, PlanEffect]
NAMED_MAX = 5
"""So many groups a verdict names that a return has left behind; the plan lists all of them."""


def begin(plan: Plan, groups: Mapping[GroupId, SeenGroup], now_ms: int) -> Observing:
    """The first state of a plan with these groups; which of them come first is drawn by their names, always alike."""
    order = sorted(groups, key=lambda group_id: _lot(plan.name, group_id))
    parts = tuple(Part(group_id=group_id, observed=groups[group_id].figures) for group_id in order)
    stages = counted(len(plan.stages), "stage")
    told = f"the plan begins: {counted(len(parts), 'group')} to {plan.destination.value} in {stages}"
    begun = PlanVerdict(now_ms, -1, Ruling.TOLD, told)
    return Observing(Progress(plan, parts, (begun,)), now_ms + plan.observe_ms)


def begun_ms(state: PlanState) -> int:
    """When the plan began, by the figures that its groups had then."""
    return min((part.observed.at_ms for part in state.progress.parts if part.observed is not None), default=0)


def parts_of(plan: Plan, stage: int, count: int) -> int:
    """How many of so many groups are to have moved with this stage and those before it."""
    return max(-(-count * one.groups_percent // WHOLE) for one in plan.stages[: stage + 1]) if stage >= 0 else 0


def stage_of(state: PlanState) -> int:
    """The stage that a plan is in, counted from 0; -1 before the first, and the last one when it is over."""
    match state:
        case Moving() | Watching() | Held():
            return state.stage
        case Observing() | Ready():
            return -1
        case Settled() | Returning() | Returned():
            return len(state.progress.plan.stages) - 1
        case _:
            assert_never(state)


def is_over(state: PlanState) -> bool:
    """Whether nothing happens any more unless an operator says so, and no group is on its way."""
    is_at_rest = not any(part.is_under_way for part in state.progress.parts)
    return isinstance(state, Settled | Returned) and is_at_rest


def _react(state: PlanState, event: PlanEvent, now_ms: int) -> PlanStep:
    match event:
        case GroupsSeen():
            return _look(state, event, now_ms)
        case PauseOrdered():
            return Step(_pause(state, now_ms))
        case ResumeOrdered():
            return Step(_resume(state, now_ms))
        case PromoteOrdered():
            return Step(_promote(state, now_ms))
        case ReturnOrdered():
            return _return(state.progress, _told(state, now_ms, "an operator ordered the return"))
        case _:
            assert_never(event)


step = checked_step(TRANSITIONS, _react)
"""What an event does to a plan."""


# -------------------------------------------------------------------- an operator's word


def _pause(state: PlanState, now_ms: int) -> PlanState:
    told = _told(state, now_ms, "an operator paused the plan")
    match state:
        case Observing() | Ready() | Moving() | Watching():
            progress = note(state.progress, told)
            return Held(progress, stage_of(state), told.sentence, is_watched=isinstance(state, Watching))
        case Held() | Settled() | Returning() | Returned():
            return state
        case _:
            assert_never(state)


def _resume(state: PlanState, now_ms: int) -> PlanState:
    """Go on where it was held; figures are counted afresh, and what could not be moved is tried again."""
    if not isinstance(state, Held):
        return state
    progress = note(state.progress, _told(state, now_ms, "an operator resumed the plan"))
    progress = replace(progress, parts=tuple(map(_tried_again, progress.parts)), controls=(), trial=None)
    if state.stage < 0:
        return Observing(progress, now_ms)
    if state.is_watched:
        return Watching(progress, state.stage, now_ms + progress.plan.stages[state.stage].watch_ms)
    return Moving(progress, state.stage)


def _tried_again(part: Part) -> Part:
    is_stuck = part.step in {PartStep.REFUSED, PartStep.STOPPED}
    return replace(part, step=PartStep.WAITING if is_stuck else part.step, refusals=0, began=None)


def _promote(state: PlanState, now_ms: int) -> PlanState:
    match state:
        case Observing():
            return Ready(note(state.progress, _told(state, now_ms, "an operator ended the observation")))
        case Held(stage=-1):
            return Ready(note(state.progress, _told(state, now_ms, "an operator ordered the first stage")))
        case Watching() | Held():
            progress = note(state.progress, _told(state, now_ms, "an operator ordered the next stage"))
            if isinstance(state, Held):
                progress = replace(progress, parts=tuple(map(_tried_again, progress.parts)), trial=None)
            return _after(progress, state.stage)
        case Ready() | Moving() | Settled() | Returning() | Returned():
            return state
        case _:
            assert_never(state)


def _after(progress: Progress, stage: int) -> Moving | Settled:
    """What comes after a stage; figures are counted afresh, with others to compare them with.

    A judge that was certain begins anew: what it found concerns what was moved by then; so does one that takes no more
    pairs. One that may yet become certain goes on.
    """
    trial = progress.trial
    is_over = trial is not None and (trial.is_certain or trial.is_full)
    parts = tuple(replace(part, began=None) for part in progress.parts)
    progress = replace(progress, parts=parts, controls=(), trial=None if is_over else trial)
    return Settled(progress) if stage + 1 >= len(progress.plan.stages) else Moving(progress, stage + 1)


def _return(progress: Progress, verdict: PlanVerdict) -> PlanStep:
    parts = tuple(replace(part, refusals=0) for part in progress.parts)
    ends = tuple(StopMove(part.group_id) for part in parts if part.step is PartStep.MOVING)
    return Step(Returning(note(replace(progress, parts=parts), verdict)), ends)


# -------------------------------------------------------------------- what is seen


def _look(state: PlanState, looked: GroupsSeen, now_ms: int) -> PlanStep:
    progress = follow(state.progress, stage_of(state), looked, now_ms)
    match state:
        case Observing():
            is_due = now_ms >= state.until_ms
            return Step(Ready(progress) if is_due else Observing(progress, state.until_ms))
        case Ready():
            return Step(Moving(progress, 0) if looked.room > 0 else Ready(progress))
        case Moving():
            progress = with_canaries(with_controls(progress, looked), looked, now_ms)
            return _move(Moving(progress, state.stage), looked, now_ms)
        case Watching():
            progress = with_canaries(with_controls(progress, looked), looked, now_ms)
            return _watch(Watching(progress, state.stage, state.until_ms), looked, now_ms)
        case Returning():
            return _bring_back(progress, looked, now_ms)
        case Settled() | Returned() | Held():
            return Step(replace(state, progress=progress))
        case _:
            assert_never(state)


# -------------------------------------------------------------------- moving and watching


def _move(state: Moving, looked: GroupsSeen, now_ms: int) -> PlanStep:
    verdict = find_fault(state.progress, state.stage, looked, now_ms)
    if verdict is not None:
        return _break_off(state, verdict)
    if blind := find_blind(state.progress, looked):
        return _hold(state, blind, now_ms)
    progress = state.progress
    plan, stage = progress.plan, progress.plan.stages[state.stage]
    due = progress.parts[: parts_of(plan, state.stage, len(progress.parts))]
    wanting = [part for part in due if _wants(part, stage) and part.group_id in looked.groups]
    room = min(looked.room, plan.groups_max - sum(part.is_under_way for part in progress.parts))
    ordered = [
        _order(plan, stage, part, looked.groups[part.group_id], now_ms)
        for part in [one for one in wanting if now_ms >= one.ordered_ms + RETRY_MS * bool(one.refusals)][: max(0, room)]
    ]
    if wanting or any(part.is_under_way for part in due):
        return Step(Moving(_with(progress, ordered), state.stage), tuple(map(_effect, ordered)))
    moved = sum(part.step is PartStep.MOVED for part in due)
    if due and not moved:
        reason = f"no group of stage {state.stage + 1} could be moved"
        return Step(Held(note(progress, PlanVerdict(now_ms, state.stage, Ruling.REFUSED, reason)), state.stage, reason))
    told = PlanVerdict(
        now_ms, state.stage, Ruling.TOLD, f"stage {state.stage + 1}: {moved} of {counted(len(due), 'group')} moved"
    )
    return Step(Watching(note(progress, told), state.stage, now_ms + stage.watch_ms))


def _watch(state: Watching, looked: GroupsSeen, now_ms: int) -> PlanStep:
    verdict = find_fault(state.progress, state.stage, looked, now_ms)
    if verdict is not None:
        return _break_off(state, verdict)
    if blind := find_blind(state.progress, looked):
        return _hold(state, blind, now_ms)
    if now_ms < state.until_ms:
        return Step(state)
    if waits_for_judge(state.progress):
        missing = missing_arm(state.progress, looked)
        return _hold_undecided(state, missing, now_ms) if missing else Step(state)
    if unread := find_missing(state.progress, looked):
        return _hold(state, unread, now_ms)
    group_id, readings = nearest(judged(state.progress, looked))
    told = f"stage {state.stage + 1} kept its conditions" + (f"; nearest to one came {group_id}" if group_id else "")
    told += f"; the judge of waits: {said}" if (said := judge_said(state.progress)) else ""
    told += f"; {missing}" if (missing := missing_arm(state.progress, looked)) else ""
    kept = PlanVerdict(now_ms, state.stage, Ruling.KEPT, told, group_id, readings)
    return Step(_after(note(state.progress, kept), state.stage))


def _hold(state: Moving | Watching, why: str, now_ms: int) -> PlanStep:
    """Nobody knows whether the conditions are kept: an operator decides, and nothing is taken back by itself."""
    progress = note(state.progress, PlanVerdict(now_ms, state.stage, Ruling.TOLD, why))
    return Step(Held(progress, state.stage, why, is_watched=isinstance(state, Watching)))


def _hold_undecided(state: Watching, missing: str, now_ms: int) -> PlanStep:
    """A stage is to wait for the judge, which never will be certain: an operator decides."""
    name = state.progress.plan.name
    told = (
        f"the judge of waits can't become certain: {missing}; `plan promote {name}` goes by the other conditions, "
        f"`plan return {name}` brings the groups back; what it found: {judge_said(state.progress)}"
    )
    return _hold(state, told, now_ms)


def _bring_back(progress: Progress, looked: GroupsSeen, now_ms: int) -> PlanStep:
    plan = progress.plan
    wanting = [part for part in progress.parts if _wants_back(part)]
    room = min(looked.room, plan.groups_max - sum(part.is_under_way for part in progress.parts))
    due = [part for part in wanting if now_ms >= part.ordered_ms + RETRY_MS * bool(part.refusals)]
    ordered = [_order_back(plan, part, now_ms) for part in due[: max(0, room)]]
    if wanting or any(part.is_under_way for part in progress.parts):
        return Step(Returning(_with(progress, ordered)), tuple(map(_effect, ordered)))
    left = [part.group_id for part in progress.parts if part.has_moved]
    told = (
        f"not brought back: {', '.join(left[:NAMED_MAX])}{' …' * (len(left) > NAMED_MAX)}"
        if left
        else "every group is back"
    )
    ruling = Ruling.STOPPED if left else Ruling.TOLD
    stage = stage_of(Returning(progress))
    return Step(Returned(note(progress, PlanVerdict(now_ms, stage, ruling, told))))


def _wants(part: Part, stage: PlanStage) -> bool:
    """Whether a group is still to be moved in a stage."""
    return part.step in {PartStep.WAITING, PartStep.MOVED} and part.percent < stage.members_percent


def _wants_back(part: Part) -> bool:
    """Whether a group is still to be brought back; from where it was is known from its move."""
    is_tried = part.step is PartStep.STOPPED and part.refusals >= REFUSALS_MAX
    return part.has_moved and not part.is_under_way and not is_tried and part.origin is not None


def _order(plan: Plan, stage: PlanStage, part: Part, seen: SeenGroup, now_ms: int) -> Part:
    members = _share(plan, seen.members, stage.members_percent)
    order = MoveOrder(part.group_id, plan.destination, members, allow_rebalance=plan.allow_rebalance)
    return replace(
        part,
        step=PartStep.MOVING,
        order=order,
        ordered_ms=now_ms,
        percent_ordered=stage.members_percent,
        began=part.began or seen.figures,
        reason="",
        others=tuple(member_id for member_id in seen.members if member_id not in set(members)) if members else (),
    )


def _order_back(plan: Plan, part: Part, now_ms: int) -> Part:
    if part.origin is None:
        return part
    members = part.order.members if part.order is not None else ()
    order = MoveOrder(part.group_id, part.origin, members, allow_rebalance=plan.allow_rebalance)
    return replace(part, step=PartStep.RETURNING, order=order, ordered_ms=now_ms, reason="")


def _share(plan: Plan, members: Sequence[MemberId], percent: int) -> tuple[MemberId, ...]:
    """Which members come first, drawn by their ids; empty: all of them."""
    if percent >= WHOLE or not members:
        return ()
    drawn = sorted(members, key=lambda member_id: _lot(plan.name, member_id))
    return tuple(drawn[: -(-len(members) * percent // WHOLE)])


def _effect(part: Part) -> OrderMove:
    if part.order is None:
        raise ValueError(f"EB-PLAN-090: group {part.group_id!r} has no order to give; please report this")
    return OrderMove(part.order)


def _with(progress: Progress, changed: Iterable[Part]) -> Progress:
    by_id = {part.group_id: part for part in changed}
    return replace(progress, parts=tuple(by_id.get(part.group_id, part) for part in progress.parts))


def _break_off(state: Moving | Watching, verdict: PlanVerdict) -> PlanStep:
    """A condition is broken: what the plan says is done then."""
    progress = state.progress
    if progress.plan.reaction is Reaction.RETURN:
        return _return(progress, verdict)
    is_watched = isinstance(state, Watching)
    return Step(Held(note(progress, verdict), state.stage, verdict.sentence, is_watched=is_watched))


def _told(state: PlanState, now_ms: int, sentence: str) -> PlanVerdict:
    return PlanVerdict(now_ms, stage_of(state), Ruling.TOLD, sentence)


def _lot(name: str, drawn: str) -> bytes:
    return sha256(f"{name}\0{drawn}".encode(errors="surrogatepass")).digest()
