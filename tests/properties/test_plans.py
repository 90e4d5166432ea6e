"""Laws of plans, whatever becomes of moves, figures and an operator's mind."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.migration.orders import MoveOrder, MoveStage
from bridge.migration.patterns import Pattern
from bridge.migration.plans.conditions import Conditions, Figures, Judge, Undecided
from bridge.migration.plans.values import (
    VERDICTS_MAX,
    Held,
    Moving,
    PartStep,
    PauseOrdered,
    Plan,
    PlanStage,
    PlanState,
    PromoteOrdered,
    Reaction,
    ResumeOrdered,
    Returned,
    Returning,
    ReturnOrdered,
    Settled,
    Watching,
)
from bridge.migration.route import Road
from tests.support.planned_world import PlannedWorld
from translators.dialects.ids import GroupId

STAGE = st.builds(
    PlanStage,
    groups_percent=st.integers(1, 100),
    members_percent=st.sampled_from([10, 50, 100]),
    watch_ms=st.sampled_from([0, 5_000]),
)
JUDGES = st.sampled_from([None, Judge(), Judge(level_percent=20, effect_percent=40)])


def plans(judges: st.SearchStrategy[Judge | None] = JUDGES) -> st.SearchStrategy[Plan]:
    """Plans of the same groups, some of which ask a judge of waits."""
    return st.builds(
        Plan,
        name=st.just("p"),
        destination=st.just(Road.UPSTREAM),
        groups=st.just((Pattern("*"),)),
        stages=st.lists(STAGE, min_size=1, max_size=3).map(tuple),
        observe_ms=st.sampled_from([0, 3_000]),
        conditions=st.builds(Conditions, judge=judges),
        reaction=st.sampled_from(list(Reaction)),
        groups_max=st.integers(1, 3),
    )


PATIENT = plans(JUDGES | st.just(Judge(undecided=Undecided.WAIT)))
PLAN = plans()
ENDS = st.sampled_from([MoveStage.DONE, MoveStage.DONE, MoveStage.DONE, MoveStage.REFUSED, MoveStage.STOPPED])
WORDS = st.sampled_from([PauseOrdered(), ResumeOrdered(), PromoteOrdered(), ReturnOrdered()])
HAPPENINGS = st.lists(
    st.one_of(
        st.tuples(st.just("end"), st.integers(0, 5), ENDS),
        st.tuples(st.just("word"), WORDS),
        st.tuples(st.just("spoil"), st.integers(0, 5)),
        st.tuples(st.just("operator"), st.integers(0, 5)),
        st.tuples(st.just("room"), st.integers(0, 3)),
        st.tuples(st.just("waits"), st.sampled_from([0, 500]), st.sampled_from([0, 500, 900])),
        st.tuples(st.just("look")),
    ),
    max_size=60,
)


def happen(world: PlannedWorld, what: tuple[object, ...]) -> None:
    """One thing happens, and time passes."""
    groups = list(world.figures)
    match what:
        case ("end", int(number), MoveStage() as stage):
            running = [group_id for group_id, move in world.moves.items() if not move.stage.has_ended]
            if running:
                world.end(running[number % len(running)], stage)
        case ("word", PauseOrdered() | ResumeOrdered() | PromoteOrdered() | ReturnOrdered() as word):
            world.tell(word)
        case ("spoil", int(number)):
            spoilt = groups[number % len(groups)]
            world.figures[spoilt] = replace(world.figures[spoilt], rebalances=world.figures[spoilt].rebalances + 3)
        case ("operator", int(number)):
            group_id = groups[number % len(groups)]
            if group_id not in world.moves or world.moves[group_id].stage.has_ended:
                world.now_ms += 1
                world.order(MoveOrder(group_id, Road.EMBEDDED))
        case ("waits", int(wait_ms), int(moved_wait_ms)):
            for group_id in groups * 10:
                world.rebalance(group_id, wait_ms, moved_wait_ms)
        case ("room", int(room)):
            world.room = room
        case _:
            pass
    world.look()


def check(before: PlanState, world: PlannedWorld, new_orders: list[MoveOrder]) -> None:
    """What holds after whatever has happened."""
    after, plan = world.state, world.plan
    under_way = [part.group_id for part in after.progress.parts if part.is_under_way]
    assert len(under_way) <= plan.groups_max
    assert len(new_orders) <= world.room * 2  # a word and a look
    assert {order.group_id for order in new_orders} <= set(under_way)
    left = {part.group_id for part in before.progress.parts if part.step is PartStep.LEFT}
    assert not left & {order.group_id for order in new_orders}, "an operator's word wins"
    destinations = {order.destination for order in new_orders}
    if isinstance(after, Moving):
        assert destinations <= {plan.destination}
    elif isinstance(after, Returning):
        assert plan.destination not in destinations or Road.UPSTREAM in set(world.roads.values())
    else:
        assert not new_orders, "nobody is moved who is only looked at"
    assert len(after.progress.verdicts) <= VERDICTS_MAX
    check_judge(before, after)
    assert [part.group_id for part in after.progress.parts] == [part.group_id for part in before.progress.parts]


def check_judge(before: PlanState, after: PlanState) -> None:
    """A judge that is certain of harm lets nobody be moved further, and nobody else has one."""
    trial = after.progress.trial
    if trial is None:
        return
    assert after.progress.plan.conditions.judge is not None
    if trial.has_failed:
        assert not isinstance(after, Moving | Watching)
    if trial.has_failed and isinstance(before, Moving | Watching):
        assert isinstance(after, Held | Returning)


@settings(max_examples=200)
@given(PATIENT, st.integers(1, 6), HAPPENINGS)
def test_plan_keeps_its_laws_and_comes_to_an_end(plan: Plan, count: int, happenings: list[tuple[object, ...]]) -> None:
    """Never too many at once, never a group that an operator has, nobody moved but in a stage or on the way back.

    Left alone with moves that end well, it settles, is held or has brought everybody back; one that waits for its judge
    does so by an operator's word.
    """
    world = PlannedWorld(plan, [f"g{number}" for number in range(count)])
    for what in happenings:
        before, ordered = world.state, len(world.orders)
        happen(world, what)
        check(before, world, world.orders[ordered:])
    world.room = 10
    world.run(150)
    while isinstance(world.state, Watching) and plan.conditions.judge == Judge(undecided=Undecided.WAIT):
        world.tell(PromoteOrdered())
        world.run(150)
    assert isinstance(world.state, Settled | Held | Returned)
    if isinstance(world.state, Held):
        assert world.state.reason
        return
    assert not any(part.is_under_way for part in world.state.progress.parts)
    if isinstance(world.state, Returned):
        steps = {part.step for part in world.state.progress.parts if part.has_moved}
        assert steps <= {PartStep.STOPPED}, "who is not back could not be brought back"


@given(PLAN, st.integers(1, 6))
def test_undisturbed_plan_moves_every_group_of_its_stages(plan: Plan, count: int) -> None:
    """And no other; all of them with the share of members of the last stage that they were in."""
    world = PlannedWorld(plan, [f"g{number}" for number in range(count)])
    world.run(200)
    assert isinstance(world.state, Settled)
    share = max(stage.groups_percent for stage in plan.stages)
    moved = [part for part in world.state.progress.parts if part.step is PartStep.MOVED]
    assert len(moved) == -(-count * share // 100)
    assert all(world.roads[part.group_id] is Road.UPSTREAM for part in moved)


@given(PLAN, st.integers(2, 6))
def test_spoilt_group_never_lets_the_next_stage_begin(plan: Plan, count: int) -> None:
    """Whoever is moved and breaks a condition holds the plan, or brings everybody back."""
    world = PlannedWorld(plan, [f"g{number}" for number in range(count)])
    while not isinstance(world.state, Settled) and not any(order for order in world.orders):
        world.look()
        world.end_all()
    first = world.orders[0].group_id
    world.figures[GroupId(first)] = Figures(at_ms=0, failed_commits=5)
    ordered = len(world.orders)
    world.look()
    assert isinstance(world.state, Held | Returning)
    world.run(30)
    assert {order.destination for order in world.orders[ordered:]} <= {Road.PASS}
