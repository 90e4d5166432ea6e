"""Judges what a plan has moved: whether a stage may go on, and which group came nearest to a condition."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from bridge.migration.canary.pairing import Unit
from bridge.migration.plans.canaries import Trial, Waited, effect_of, observe, rules_of, tell, unit_of
from bridge.migration.plans.conditions import Figures, Measure, Reading, Span, Undecided, judge
from bridge.migration.plans.following import still_parts
from bridge.migration.plans.reading import PlanFault
from bridge.migration.plans.values import GroupsSeen, Part, PartStep, PlanVerdict, Progress, Ruling, SeenGroup
from translators.dialects.counts import counted
from translators.dialects.ids import GroupId, MemberId

NO_FIGURES = "EB-PLAN-018"
"""A condition has no figures, so that nobody knows whether it is kept: the plan is held, or does not begin."""
MISSING_TOLD = 3


def find_fault(progress: Progress, stage: int, looked: GroupsSeen, now_ms: int) -> PlanVerdict | None:
    """Why a stage can't go on: a move that ended on the way, or a condition that a moved group has broken."""
    for part in progress.parts:
        if part.step is PartStep.STOPPED:
            told = f"the move of {part.group_id} ended on the way: {part.reason}"
            return PlanVerdict(now_ms, stage, Ruling.STOPPED, told, part.group_id)
    for group_id, readings in judged(progress, looked):
        broken = [reading for reading in readings if reading.is_broken]
        if broken:
            told = f"{group_id} broke a condition: {'; '.join(map(str, broken))}"
            return PlanVerdict(now_ms, stage, Ruling.BROKEN, told, group_id, readings)
    if progress.trial is not None and progress.trial.has_failed:
        told = f"members that were moved wait longer than others: {judge_said(progress)}"
        return PlanVerdict(now_ms, stage, Ruling.BROKEN, told)
    return None


def find_blind(progress: Progress, looked: GroupsSeen) -> str:
    """Why conditions can't be judged, by groups of the plan that nobody counts; empty if they can be."""
    if not (progress.plan.conditions.limits or progress.plan.conditions.judge):
        return ""
    own = (part.group_id for part in progress.parts if not part.step.is_last)
    blind = [name for name in own if (seen := looked.groups.get(name)) is not None and not seen.is_counted]
    name = progress.plan.name
    ways = f"then `plan resume {name}` goes on; `plan return {name}` brings back what has moved"
    return f"{NO_FIGURES}: {_uncounted(blind)}; {ways}" if blind else ""


def uncounted_fault(groups: Mapping[GroupId, SeenGroup]) -> PlanFault | None:
    """The same of groups before a plan begins."""
    blind = [name for name, seen in groups.items() if not seen.is_counted]
    return PlanFault(NO_FIGURES, "groups", _uncounted(blind), "groups that are counted") if blind else None


def _uncounted(blind: Sequence[GroupId]) -> str:
    return (
        f"nobody counts {counted(len(blind), 'group')} of the plan, such as {blind[0]!r}, so that no condition can be"
        " judged: set metrics.rebalances: true and start the bridge again; where it is true, the bridge has heard of"
        " more groups than it counts (10,000), and begins anew with a restart"
    )


def find_missing(progress: Progress, looked: GroupsSeen) -> str:
    """Which conditions of groups that have moved have no figures, so that nobody knows whether they were kept; empty
    if all have.
    """
    told = [*_missing(progress, looked)]
    if not told:
        return ""
    more = f" and {len(told) - MISSING_TOLD} more" if len(told) > MISSING_TOLD else ""
    listed = ", ".join(told[:MISSING_TOLD]) + more
    name = progress.plan.name
    ways = f"`plan resume {name}` watches the stage again, `plan promote {name}` goes by the other conditions"
    return f"{NO_FIGURES}: there are no figures for {listed}; {ways}, `plan return {name}` brings the groups back"


def _missing(progress: Progress, looked: GroupsSeen) -> Iterator[str]:
    read = {group_id: {reading.measure for reading in readings} for group_id, readings in judged(progress, looked)}
    limits = progress.plan.conditions.limits
    for part in progress.parts if limits else ():
        if not part.has_moved:
            continue
        if part.group_id not in read:
            yield f"{part.group_id} (none of its members is heard)"
        elif any(limit.measure is Measure.LAG and Measure.LAG not in read[part.group_id] for limit in limits):
            yield f"{Measure.LAG.value} of {part.group_id} (the census says why; it may take upstream.sasl.username)"


def judge_said(progress: Progress) -> str:
    """What the judge of canaries says up to now; empty if the plan does not ask it."""
    judge = progress.plan.conditions.judge
    if judge is None:
        return ""
    trial, rules = progress.trial or Trial(since_ms=0), rules_of(judge)
    return tell(trial, rules, effect_of(trial, rules))


def with_canaries(progress: Progress, looked: GroupsSeen, now_ms: int) -> Progress:
    """The same after the judge, if the plan asks it, has seen the rebalances since the look before."""
    judge = progress.plan.conditions.judge
    if judge is None:
        return progress
    parts = {part.group_id: part for part in progress.parts}
    found = (
        _unit(waited, parts[waited.group_id], looked.groups.get(waited.group_id))
        for waited in looked.waits
        if waited.group_id in parts
    )
    units = [unit for unit in found if unit is not None]
    if not units:
        return progress
    return replace(progress, trial=observe(progress.trial or Trial(since_ms=now_ms), units, rules_of(judge)))


def _unit(waited: Waited, part: Part, seen: SeenGroup | None) -> Unit | None:
    """A rebalance in its arms; None if it is of neither: the group is on the way, or was when the rebalance began."""
    if not waited.members or seen is None:
        return None
    if part.step is PartStep.WAITING and part.order is None:
        return unit_of(waited, [False] * len(waited.members))
    if part.step is not PartStep.MOVED or part.order is None or part.percent < part.percent_ordered:
        # A further share that was refused: its order names members that did not move, and no longer who did.
        return None
    move = seen.move
    since_ms = part.ordered_ms if move is None or move.ended_ms is None else move.ended_ms
    if waited.at_ms < since_ms:
        return None
    if not part.order.members:
        return unit_of(waited, [True] * len(waited.members))
    # Who joined later is of neither arm: in a rolling restart they all would be control, and joining takes long.
    moved, others = set(part.order.members), set(part.others)
    known = tuple(one for one in waited.members if one[0] in moved or one[0] in others)
    return unit_of(replace(waited, members=known), [member_id in moved for member_id, _ in known]) if known else None


def missing_arm(progress: Progress, looked: GroupsSeen) -> str:
    """Which arm of a judge that is not certain has nobody left, so that it can't become so; empty if neither.

    A group that is not heard, or is empty, may come back with the members that it had.
    """
    judge, trial = progress.plan.conditions.judge, progress.trial
    if judge is None or (trial is not None and (trial.is_certain or trial.is_full)):
        return ""
    parts = [(part, part.order.members) for part in progress.parts if part.step is PartStep.MOVED and part.order]
    if not any(members for _, members in parts):
        return ""
    if not any(not members or _is_left(part, members, looked) for part, members in parts):
        return "no member that was moved is left"
    if _has_still(progress) or any(members and _is_left(part, part.others, looked) for part, members in parts):
        return ""
    return "no member is left that was there and was not moved"


def _is_left(part: Part, members: Collection[MemberId], looked: GroupsSeen) -> bool:
    seen = looked.groups.get(part.group_id)
    return bool(members) and (seen is None or not seen.members or not set(members).isdisjoint(seen.members))


def _has_still(progress: Progress) -> bool:
    return any(part.step is PartStep.WAITING and part.order is None for part in progress.parts)


def waits_for_judge(progress: Progress) -> bool:
    """Whether a stage is to be watched on because the judge is not certain, and may still become so.

    Groups that are not heard count, too: behind a restart of the bridge nobody is heard for a while.
    """
    judge, trial = progress.plan.conditions.judge, progress.trial
    if judge is None or judge.undecided is not Undecided.WAIT:
        return False
    if trial is not None and (trial.is_certain or trial.is_full):
        return False
    moved = [part for part in progress.parts if part.step is PartStep.MOVED]
    has_share = any(part.order is not None and part.order.members for part in moved)
    return bool(moved) and (has_share or _has_still(progress))


def judged(progress: Progress, looked: GroupsSeen) -> Iterator[tuple[GroupId, tuple[Reading, ...]]]:
    """The readings of every group that was moved and is there."""
    others = list(_others(progress, looked))
    for part in progress.parts:
        seen = looked.groups.get(part.group_id)
        if seen is None or part.began is None or not part.has_moved:
            continue
        history = None if part.observed is None else _span(part.observed, part.began)
        watched = Span(part.began, seen.figures)
        yield part.group_id, judge(progress.plan.conditions, watched, history, others)


def _others(progress: Progress, looked: GroupsSeen) -> Iterator[Span]:
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
