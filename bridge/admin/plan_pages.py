"""The pages of the admin API by which plans are judged, begun, looked at and told what an operator wants: how far each
is, its groups, and every verdict with its figures.
"""

from collections.abc import Mapping
from dataclasses import asdict

from starlette.requests import Request
from starlette.responses import Response

from bridge.admin.contracts import PLAN_CHARS_MAX, Plans
from bridge.admin.documents import NAME_CHARS_SHOWN, Document, error_document, show
from bridge.admin.orders import OrderRefused, read_flag, read_order, read_text
from bridge.migration.plans.canaries import Trial, effect_of, rules_of, tell
from bridge.migration.plans.reading import WAITS, PlanFault
from bridge.migration.plans.step import parts_of, stage_of
from bridge.migration.plans.values import (
    Held,
    Observing,
    Part,
    PauseOrdered,
    PlanEvent,
    PlanState,
    PlanVerdict,
    Progress,
    PromoteOrdered,
    ResumeOrdered,
    ReturnOrdered,
    Watching,
)


def plan_document(state: PlanState) -> Document:
    """All of one plan: what `plan_summary` has, and `judge` (None if the plan asks none)."""
    return {**plan_summary(state), "judge": _judge(state.progress)}


def plan_summary(state: PlanState) -> Document:
    """`name`, `to`, `phase`, `stage` (from 1 on, 0 before the first) of `stages`, `until_ms` if it waits for a time,
    `reason` if it is held, `groups` in the order in which they move, and `verdicts`.

    Without the judge: while its bounds are worked out no client is served.
    """
    progress = state.progress
    plan = progress.plan
    return {
        "name": plan.name,
        "to": plan.destination.value,
        "phase": type(state).__name__.lower(),
        "stage": stage_of(state) + 1,
        "stages": [
            {**asdict(stage), "groups": parts_of(plan, number, len(progress.parts))}
            for number, stage in enumerate(plan.stages)
        ],
        "until_ms": state.until_ms if isinstance(state, Observing | Watching) else None,
        "reason": state.reason if isinstance(state, Held) else "",
        "on_broken": plan.reaction.value,
        "groups_max": plan.groups_max,
        "conditions": {limit.measure.value: limit.most for limit in plan.conditions.limits},
        "groups": [_part(part) for part in progress.parts],
        "verdicts": [_verdict(verdict) for verdict in progress.verdicts],
    }


def faults_document(faults: tuple[PlanFault, ...]) -> Document:
    """`code` of the first one, `error` with all their sentences, and `faults` (`code`, `key`, `seen`, `wanted`)."""
    sentences = "; ".join(map(str, faults))
    return {"code": faults[0].code, "error": sentences, "faults": [asdict(fault) for fault in faults]}


def _judge(progress: Progress) -> Document | None:
    """What the judge of canaries says by now, and of how many rebalances of each arm; `slower` is how often a member
    that was moved is the slower of two, `difference_s` how much longer it waits.
    """
    judge = progress.plan.conditions.judge
    if judge is None:
        return None
    trial, rules = progress.trial or Trial(since_ms=0), rules_of(judge)
    effect = effect_of(trial, rules)
    return {
        "of": WAITS,
        "level_percent": judge.level_percent,
        "effect_percent": judge.effect_percent,
        "undecided": judge.undecided.value,
        "since_ms": trial.since_ms or None,
        "verdict": trial.finding.verdict.value,
        "decided_after": trial.finding.decided_after,
        "pairs": len(trial.scored.scores),
        "pairs_min": rules.pairs_min,
        "moved_rebalances": trial.treatment_count,
        "other_rebalances": trial.control_count,
        "slower": None if effect is None else asdict(effect.slower),
        "difference_s": None if effect is None or effect.difference_s is None else asdict(effect.difference_s),
        "doubts": list(trial.finding.doubts),
        "sentence": tell(trial, rules, effect),
    }


def _part(part: Part) -> Document:
    return {
        "group_id": part.group_id,
        "step": part.step.value,
        "percent": part.percent,
        "from": None if part.origin is None else part.origin.value,
        "reason": part.reason,
    }


def _verdict(verdict: PlanVerdict) -> Document:
    return {
        "at_ms": verdict.at_ms,
        "stage": verdict.stage + 1,
        "ruling": verdict.ruling.value,
        "group_id": verdict.group_id,
        "sentence": verdict.sentence,
        "readings": [{**asdict(reading), "is_broken": reading.is_broken} for reading in verdict.readings],
    }


WORDS: Mapping[str, PlanEvent] = {
    "pause": PauseOrdered(),
    "resume": ResumeOrdered(),
    "promote": PromoteOrdered(),
    "return": ReturnOrdered(),
}
"""What an operator may want of a plan."""


class PlanStartPage:
    """A plan is judged and begun, or with `dry_run` only judged; 400 with every mistake if it can't be."""

    def __init__(self, plans: Plans | None) -> None:
        self._plans = plans

    async def __call__(self, request: Request) -> Response:
        """Answer one request."""
        order = await read_order(request)
        text, source = read_text(order, "text"), read_text(order, "source")
        if len(text) > PLAN_CHARS_MAX:
            raise OrderRefused(f"the plan is longer than {PLAN_CHARS_MAX} characters")
        if self._plans is None:
            return await _unable()
        take = self._plans.check if read_flag(order, "dry_run") else self._plans.start
        taken = await take(text, source)
        if isinstance(taken, tuple):
            return await show(faults_document(taken), 400)
        return await show(plan_document(taken))


class PlanWordPage:
    """A plan hears what an operator wants."""

    def __init__(self, plans: Plans | None) -> None:
        self._plans = plans

    async def __call__(self, request: Request) -> Response:
        """Answer one request; 404 if there is no such plan."""
        name, word = str(request.path_params["name"]), read_text(await read_order(request), "word")
        if word not in WORDS:
            raise OrderRefused(f"'word' has to be {' or '.join(WORDS)}, and is {word!r:.100}")
        if self._plans is None:
            return await _unable()
        state = self._plans.tell(name, WORDS[word])
        return await _unknown(name) if state is None else await show(plan_document(state))


class PlansPage:
    """All plans, without what their judges say: that has the page of each."""

    def __init__(self, plans: Plans | None) -> None:
        self._plans = plans

    async def __call__(self, _request: Request) -> Response:
        """Answer one request."""
        if self._plans is None:
            return await _unable()
        return await show({"plans": [plan_summary(state) for state in self._plans.all()]})


class PlanPage:
    """One plan, 404 if there is none of that name."""

    def __init__(self, plans: Plans | None) -> None:
        self._plans = plans

    async def __call__(self, request: Request) -> Response:
        """Answer one request."""
        if self._plans is None:
            return await _unable()
        name = str(request.path_params["name"])
        state = self._plans.plan(name)
        return await _unknown(name) if state is None else await show(plan_document(state))


async def _unknown(name: str) -> Response:
    sentence = f"there is no plan {name[:NAME_CHARS_SHOWN]!r}; `epochbridge plan status` lists those there are"
    return await show(error_document("EB-PLAN-015", sentence), 404)


async def _unable() -> Response:
    sentence = "this bridge drives no plans: it runs without what makes the moves; ask a bridge that `serve` runs"
    return await show(error_document("EB-PLAN-016", sentence), 501)
