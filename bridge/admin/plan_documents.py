"""The JSON of plans: how far each is, its groups, and every verdict with its figures."""

from dataclasses import asdict

from bridge.admin.documents import Document
from bridge.migration.plans.reading import PlanFault
from bridge.migration.plans.step import parts_of, stage_of
from bridge.migration.plans.values import Held, Observing, Part, PlanState, Verdict, Watching


def plan_document(state: PlanState) -> Document:
    """`name`, `to`, `phase`, `stage` (from 1 on, 0 before the first) of `stages`, `until_ms` if it waits for a time,
    `reason` if it is held, `groups` in the order in which they move, and `verdicts`.
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


def _part(part: Part) -> Document:
    return {
        "group_id": part.group_id,
        "step": part.step.value,
        "percent": part.percent,
        "from": None if part.origin is None else part.origin.value,
        "reason": part.reason,
    }


def _verdict(verdict: Verdict) -> Document:
    return {
        "at_ms": verdict.at_ms,
        "stage": verdict.stage + 1,
        "ruling": verdict.ruling.value,
        "group_id": verdict.group_id,
        "sentence": verdict.sentence,
        "readings": [{**asdict(reading), "is_broken": reading.is_broken} for reading in verdict.readings],
    }
