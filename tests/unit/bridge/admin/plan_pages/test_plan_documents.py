"""The JSON of a plan in its phases."""

import json
from dataclasses import replace

from bridge.admin.plan_pages import faults_document, plan_document
from bridge.migration.plans.conditions import Conditions, Judge
from bridge.migration.plans.step import step
from bridge.migration.plans.values import PauseOrdered
from tests.support.obedient_plans import FAULT, PLAN, planned
from tests.support.planned_world import PlannedWorld


def test_watched_plan_has_everything() -> None:
    """Stages with so many groups, groups in their order, verdicts with figures."""
    document = plan_document(planned(6))
    assert (document["phase"], document["stage"]) == ("watching", 1)
    assert document["until_ms"] == 1_068_000
    assert document["stages"] == [
        {"groups_percent": 50, "members_percent": 100, "watch_ms": 60_000, "groups": 2},
        {"groups_percent": 100, "members_percent": 100, "watch_ms": 0, "groups": 3},
    ]
    groups = document["groups"]
    assert isinstance(groups, list)
    assert [(group["step"], group["percent"], group["from"]) for group in groups] == [
        ("moved", 100, "pass"),
        ("moved", 100, "pass"),
        ("waiting", 0, None),
    ]
    settled = plan_document(planned(80))["verdicts"]
    assert isinstance(settled, list)
    (kept, *_) = [verdict for verdict in settled if verdict["ruling"] == "kept"]
    assert kept["readings"][0] == {
        "measure": "rebalances.per.hour",
        "value": 0.0,
        "limit": 2,
        "history": 0.0,
        "others": 0.0,
        "most": 2,
        "is_broken": False,
    }


def test_held_plan_says_why() -> None:
    """And waits for no time."""
    document = plan_document(step(planned(6), PauseOrdered(), 1).state)
    assert (document["phase"], document["reason"], document["until_ms"]) == (
        "held",
        "an operator paused the plan",
        None,
    )


def test_faults_are_told_together() -> None:
    """With the code of the first."""
    document = faults_document((FAULT, FAULT))
    assert (document["code"], document["error"]) == ("EB-PLAN-004", f"{FAULT}; {FAULT}")


def test_judge_of_waits_is_shown_with_its_effect() -> None:
    """Nothing where the plan asks none; no bounds before there is something to bound."""
    assert plan_document(planned(6))["judge"] is None
    world = PlannedWorld(replace(PLAN, conditions=Conditions(judge=Judge())), ["g-1", "g-2", "g-3"])
    world.run(6)
    judge = plan_document(world.state)["judge"]
    assert isinstance(judge, dict)
    assert (judge["verdict"], judge["pairs"], judge["slower"], judge["since_ms"]) == ("insufficient", 0, None, None)
    for _ in range(40):
        for group_id in world.figures:
            world.rebalance(group_id, 1_000, 3_000)
    world.look()
    judge = plan_document(world.state)["judge"]
    assert isinstance(judge, dict)
    assert (judge["verdict"], judge["decided_after"], judge["pairs"], judge["pairs_min"]) == ("fail", 30, 40, 30)
    assert (judge["moved_rebalances"], judge["other_rebalances"]) == (80, 40)
    assert judge["difference_s"] == {"estimate": 2.0, "low": 2.0, "high": 2.0}
    assert judge["slower"]["estimate"] == 1.0
    assert json.loads(json.dumps(judge)) == judge
