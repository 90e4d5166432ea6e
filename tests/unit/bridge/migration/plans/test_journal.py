"""Plans as text: what is written is read, and nothing else."""

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from bridge.migration.patterns import Pattern, PatternForm
from bridge.migration.plans.conditions import Conditions, Figures, Judge, Limit, Measure, Undecided
from bridge.migration.plans.journal import decode_plans, encode_plans
from bridge.migration.plans.values import Plan, PlanStage, PlanState, Reaction, ResumeOrdered
from bridge.migration.route import Road
from tests.support.planned_world import PlannedWorld
from translators.dialects.plain import MalformedPlain

PLAN = Plan(
    name="p",
    destination=Road.UPSTREAM,
    groups=(Pattern("g-*"), Pattern("x+", PatternForm.REGEX)),
    exceptions=(Pattern("g-old", PatternForm.EXACT),),
    stages=(PlanStage(groups_percent=30, members_percent=50, watch_ms=4_000), PlanStage(groups_percent=100)),
    observe_ms=3_000,
    conditions=Conditions(
        (Limit(Measure.LAG, 3), Limit(Measure.REBALANCES, 0)), 120, Judge(level_percent=3, undecided=Undecided.WAIT)
    ),
    groups_max=2,
)


def states(plan: Plan, *, is_spoilt: bool) -> Iterator[PlanState]:
    """What a plan goes through."""
    world = PlannedWorld(plan, [f"g-{number}" for number in range(4)])
    yield world.state
    world.figures = {group_id: replace(figures, lag=0) for group_id, figures in world.figures.items()}
    for look in range(40):
        for group_id in (*world.figures, *world.figures):
            world.rebalance(group_id, 10 + look, 10 + look)
        world.look()
        yield world.state
        world.end_all()
        if is_spoilt and world.orders:
            world.figures[world.orders[0].group_id] = Figures(at_ms=0, rebalances=look, lag=7)
    world.tell(ResumeOrdered())
    yield world.state


def test_every_state_is_read_as_it_was_written() -> None:
    """All phases with all that is in them."""
    seen: set[type] = set()
    trials = 0
    for plan in (PLAN, replace(PLAN, reaction=Reaction.RETURN)):
        for is_spoilt in (False, True):
            for state in states(plan, is_spoilt=is_spoilt):
                seen.add(type(state))
                trials += state.progress.trial is not None
                assert decode_plans(encode_plans({"p": state})) == {"p": state}
    assert trials > 10
    assert seen == set(PlanState.__args__)


def test_several_plans_are_kept_by_name() -> None:
    """The same plans have the same text."""
    one, two = (next(states(replace(PLAN, name=name), is_spoilt=False)) for name in ("a", "b"))
    assert encode_plans({"b": two, "a": one}) == encode_plans({"a": one, "b": two})
    assert decode_plans(encode_plans({"b": two, "a": one})) == {"a": one, "b": two}
    assert decode_plans(encode_plans({})) == {}


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "[0,[]]", "[1]", "[1,[3]]", "[4,[]]"),
        *('[1,[["Held",[]]]]', '[1,[["Driving",[1]]]]', '[1,[["Ready",[[1]]]]]', '[2,[["Ready",[[1,[]]]]]]'),
    ],
)
def test_what_nobody_wrote_is_refused(text: str) -> None:
    """A damaged journal, or that of a later version."""
    with pytest.raises(MalformedPlain):
        decode_plans(text)


def test_plans_of_a_version_without_a_judge_are_read() -> None:
    """They ask none."""
    plan = replace(PLAN, conditions=replace(PLAN.conditions, judge=None))
    state = next(states(plan, is_spoilt=False))
    version, plans = json.loads(encode_plans({"p": state}))
    (name, fields) = plans[0]
    progress = fields[0]
    assert progress.pop() is None
    assert progress[0][6].pop() is None
    assert [part.pop() for part in progress[1]] == [[]] * 4
    assert (version, decode_plans(json.dumps([1, [[name, fields]]]))) == (3, {"p": state})


def test_plans_of_a_version_that_did_not_know_who_stayed_are_read() -> None:
    """With nobody of whom that is known."""
    state = next(one for one in states(PLAN, is_spoilt=False) if any(part.others for part in one.progress.parts))
    _, plans = json.loads(encode_plans({"p": state}))
    stayed = [part.pop() for part in plans[0][1][0][1]]
    assert any(stayed)
    parts = tuple(replace(part, others=()) for part in state.progress.parts)
    older = replace(state, progress=replace(state.progress, parts=parts))
    assert decode_plans(json.dumps([2, plans])) == {"p": older}
