"""Plans as stories: what is ordered when, and what ends a plan."""

from dataclasses import replace

import pytest

from bridge.migration.orders import MoveOrder, MoveStage
from bridge.migration.patterns import Pattern
from bridge.migration.plans import canaries
from bridge.migration.plans.conditions import Conditions, Figures, Judge, Limit, Measure, Undecided
from bridge.migration.plans.following import RETRY_MS, still_parts
from bridge.migration.plans.step import is_over, parts_of, stage_of
from bridge.migration.plans.values import (
    REFUSALS_MAX,
    GroupsSeen,
    Held,
    Moving,
    Observing,
    PartStep,
    PauseOrdered,
    Plan,
    PlanStage,
    PromoteOrdered,
    Reaction,
    Ready,
    ResumeOrdered,
    Returned,
    Returning,
    ReturnOrdered,
    Ruling,
    Settled,
    Watching,
)
from bridge.migration.route import Road
from tests.support.planned_world import TICK_MS, PlannedWorld
from translators.dialects.ids import GroupId, MemberId

STAGES = (PlanStage(groups_percent=20, watch_ms=10_000), PlanStage(groups_percent=100, watch_ms=10_000))
PLAN = Plan(name="p", destination=Road.UPSTREAM, groups=(Pattern("g-*"),), stages=STAGES, groups_max=2)
NAMES = tuple(f"g-{number}" for number in range(10))


def world(plan: Plan = PLAN) -> PlannedWorld:
    """Ten groups, of which nobody has moved."""
    return PlannedWorld(plan, NAMES)


def watched(plan: Plan = PLAN) -> PlannedWorld:
    """The first two groups have moved and are watched."""
    one = world(plan)
    for _ in range(4):
        one.look()
        one.end_all()
    assert one.phase() is Watching
    return one


def moved_of(one: PlannedWorld) -> list[GroupId]:
    """The groups that have moved."""
    return [part.group_id for part in one.state.progress.parts if part.step is PartStep.MOVED]


def test_plan_moves_stage_by_stage_and_settles() -> None:
    """A fifth of the groups, then all; each once, and never more at a time than may be."""
    one = world()
    phases = [type(one.state)]
    for _ in range(40):
        one.look()
        assert one.going_on() <= PLAN.groups_max
        one.end_all()
        if type(one.state) is not phases[-1]:
            phases.append(type(one.state))
    assert phases == [Observing, Ready, Moving, Watching, Moving, Watching, Settled]
    assert {order.group_id for order in one.orders} == set(map(GroupId, NAMES))
    assert len(one.orders) == len(NAMES)
    assert is_over(one.state)
    assert set(one.roads.values()) == {Road.UPSTREAM}


def test_groups_are_looked_at_before_anybody_moves() -> None:
    """For as long as the plan says."""
    one = world(replace(PLAN, observe_ms=3 * TICK_MS))
    for _ in range(2):
        one.look()
        assert (one.phase() is Observing, one.orders) == (True, [])
    one.look()
    assert one.phase() is Ready


def test_nothing_begins_without_room() -> None:
    """Other plans and operators move groups, too."""
    one = world()
    one.room = 0
    one.run(10)
    assert (one.phase() is Ready, one.orders) == (True, [])


def test_share_of_members_grows_with_the_stages() -> None:
    """On road upstream a group is tried with some of its members; they stay among those that are moved later."""
    stages = (
        PlanStage(groups_percent=10, members_percent=25),
        PlanStage(groups_percent=10, members_percent=50),
        PlanStage(groups_percent=100),
    )
    one = world(replace(PLAN, stages=stages))
    one.run()
    first = [order.members for order in one.orders if order.group_id == one.orders[0].group_id]
    assert list(map(len, first)) == [3, 5, 0]
    assert set(first[0]) < set(first[1])
    assert one.phase() is Settled


def test_broken_condition_holds_the_plan() -> None:
    """Nobody is moved further; the verdict has the figures."""
    one = watched()
    spoilt = moved_of(one)[0]
    one.figures[spoilt] = Figures(at_ms=0, rebalances=3)
    one.run(5)
    assert one.phase() is Held
    assert len(one.orders) == 2
    verdict = one.state.progress.verdicts[-1]
    assert (verdict.ruling, verdict.group_id, verdict.stage) == (Ruling.BROKEN, spoilt, 0)
    assert verdict.sentence == f"{spoilt} broke a condition: rebalances.per.hour 3 (at most 2, before 0, others 0)"
    assert [reading.measure for reading in verdict.readings if reading.is_broken] == ["rebalances.per.hour"]


def test_what_all_groups_show_breaks_nothing() -> None:
    """A topic that grew is no fault of a move."""
    one = watched()
    for name in one.figures:
        one.figures[name] = Figures(at_ms=0, rebalances=3)
    one.run()
    assert one.phase() is Settled


def test_broken_condition_returns_the_groups() -> None:
    """Each to where it was, and the plan is over."""
    one = watched(replace(PLAN, reaction=Reaction.RETURN))
    one.figures[moved_of(one)[0]] = Figures(at_ms=0, failed_commits=1)
    one.look()
    assert one.phase() is Returning
    one.run(10)
    assert one.phase() is Returned
    assert is_over(one.state)
    assert set(one.roads.values()) == {Road.PASS}
    assert {part.step for part in one.state.progress.parts} == {PartStep.WAITING, PartStep.RETURNED}


def test_move_that_ends_on_the_way_holds_the_plan() -> None:
    """Whoever resumes it tries again."""
    one = world()
    for _ in range(3):
        one.look()
    one.end_all(MoveStage.STOPPED)
    one.look()
    assert one.phase() is Held
    one.run(5)
    assert len(one.orders) == 2
    one.tell(ResumeOrdered())
    one.run()
    assert one.phase() is Settled


def test_refused_move_is_tried_again_and_then_left_out() -> None:
    """The others of the stage move; a stage of which nobody moves holds the plan."""
    one = world()
    refused = None
    for _ in range(60):
        one.look()
        refused = refused or (one.orders[0].group_id if one.orders else None)
        for group_id in [order.group_id for order in one.orders]:
            if not one.moves[group_id].stage.has_ended:
                one.end(group_id, MoveStage.REFUSED if group_id == refused else MoveStage.DONE)
    assert one.phase() is Settled
    assert sum(order.group_id == refused for order in one.orders) == REFUSALS_MAX
    assert [v.group_id for v in one.state.progress.verdicts if v.ruling is Ruling.REFUSED] == [refused]
    other = world()
    for _ in range(40):
        other.look()
        other.end_all(MoveStage.REFUSED)
    assert isinstance(other.state, Held)
    assert other.state.reason == "no group of stage 1 could be moved"


def test_order_that_was_lost_is_given_again() -> None:
    """The bridge was killed between writing the plan down and ordering the move."""
    one = world()
    for _ in range(3):
        one.look()
    one.moves.clear()
    lost = len(one.orders)
    for _ in range(RETRY_MS // TICK_MS + 8):
        one.look()
    assert [order.group_id for order in one.orders[lost:]] == [order.group_id for order in one.orders[:lost]]
    one.end_all()
    one.run()
    assert one.phase() is Settled


def test_operator_who_moves_a_group_has_it() -> None:
    """The plan neither moves it again nor brings it back."""
    one = watched()
    taken = moved_of(one)[0]
    one.now_ms += 1
    one.order(MoveOrder(taken, Road.PASS))
    one.end(taken)
    one.look()
    one.tell(ReturnOrdered())
    one.run(10)
    assert one.phase() is Returned
    assert taken not in [order.group_id for order in one.orders[2:]]
    assert [part.step for part in one.state.progress.parts if part.group_id == taken] == [PartStep.LEFT]


def test_pause_and_resume() -> None:
    """Nothing is ordered meanwhile, and figures are counted afresh afterwards."""
    one = watched()
    one.tell(PauseOrdered())
    one.figures[moved_of(one)[0]] = Figures(at_ms=0, rebalances=30)
    one.run(10)
    assert (one.phase() is Held, len(one.orders)) == (True, 2)
    one.tell(ResumeOrdered())
    assert one.phase() is Watching
    one.run()
    assert one.phase() is Settled


@pytest.mark.parametrize("looks", [0, 1, 2, 3, 4])
def test_pause_at_any_time_is_resumed_there(looks: int) -> None:
    """Before the first stage as well as in it."""
    one = world()
    for _ in range(looks):
        one.look()
    at = stage_of(one.state)
    one.tell(PauseOrdered())
    assert stage_of(one.state) == at
    one.tell(ResumeOrdered())
    one.run()
    assert one.phase() is Settled


def test_promotion_skips_what_is_waited_for() -> None:
    """Observation, a watch, and a plan that is held."""
    one = world(replace(PLAN, observe_ms=10**9, stages=(replace(STAGES[0], watch_ms=10**9), STAGES[1])))
    one.tell(PromoteOrdered())
    one.run(5)
    assert one.phase() is Watching
    one.tell(PauseOrdered())
    one.tell(PromoteOrdered())
    assert (one.phase(), stage_of(one.state)) == (Moving, 1)
    one.run()
    assert one.phase() is Settled


def test_return_in_the_middle_ends_the_moves_first() -> None:
    """What was on its way is brought back as well."""
    one = world()
    for _ in range(3):
        one.look()
    assert one.going_on() == 2
    one.tell(ReturnOrdered())
    assert one.going_on() == 0
    one.run(20)
    assert one.phase() is Returned
    assert [order.destination for order in one.orders] == [Road.UPSTREAM] * 2 + [Road.PASS] * 2


def test_group_that_can_not_be_brought_back_is_told() -> None:
    """After a few tries."""
    one = watched()
    one.tell(ReturnOrdered())
    for _ in range(60):
        one.look()
        one.end_all(MoveStage.REFUSED)
    assert one.phase() is Returned
    assert one.state.progress.verdicts[-1].sentence.startswith("not brought back: g-")
    one.tell(ReturnOrdered())
    one.run(20)
    assert one.state.progress.verdicts[-1].sentence == "every group is back"


def test_stages_round_up() -> None:
    """A canary is at least one group, and a later stage never has fewer than an earlier one."""
    assert [parts_of(PLAN, stage, count) for stage, count in ((-1, 10), (0, 10), (0, 1), (1, 7))] == [0, 2, 1, 7]


JUDGED = replace(PLAN, conditions=Conditions(judge=Judge()))


def rebalance(one: PlannedWorld, times: int, moved_wait_ms: int) -> None:
    """Every group rebalances so often; members that were moved wait so long, others a second."""
    for _ in range(times):
        for group_id in one.figures:
            one.rebalance(group_id, 1_000, moved_wait_ms)
    one.look()


def test_judge_of_waits_holds_the_plan_or_returns_the_groups() -> None:
    """When it is certain that who was moved waits longer, whatever the other conditions say."""
    one = watched(JUDGED)
    rebalance(one, 10, 3_000)
    assert one.phase() is Watching, "twenty pairs are not enough yet"
    rebalance(one, 10, 3_000)
    assert isinstance(one.state, Held)
    assert "members that were moved wait longer than others: fail after 30 of 40 pairs" in one.state.reason
    other = watched(replace(JUDGED, reaction=Reaction.RETURN))
    rebalance(other, 20, 3_000)
    assert other.phase() is Returning
    other.run()
    assert (other.phase(), moved_of(other)) == (Returned, [])


def test_stage_says_what_its_judge_found() -> None:
    """A certain judge begins anew with the next stage, one that is not goes on."""
    one = watched(JUDGED)
    rebalance(one, 45, 500)
    one.run(5)
    assert one.phase() is Moving
    (kept,) = [verdict for verdict in one.state.progress.verdicts if verdict.ruling is Ruling.KEPT]
    assert "; the judge of waits: pass after 82 of 90 pairs" in kept.sentence
    assert one.state.progress.trial is None
    other = watched(JUDGED)
    rebalance(other, 5, 500)
    other.run(5)
    assert other.phase() is Moving
    assert "; the judge of waits: not enough yet (10 pairs" in other.state.progress.verdicts[-1].sentence
    assert other.state.progress.trial is not None


def test_stage_waits_for_its_judge_if_the_plan_says_so() -> None:
    """Until it is certain, or an operator knows better; where nobody is left to compare with, it does not wait."""
    plan = replace(JUDGED, conditions=Conditions(judge=Judge(undecided=Undecided.WAIT)))
    one = watched(plan)
    one.run(20)
    assert one.phase() is Watching
    rebalance(one, 45, 500)
    assert one.phase() is Moving
    one.run()
    assert one.phase() is Settled
    other = watched(plan)
    other.run(20)
    other.tell(PromoteOrdered())
    assert other.phase() is Moving


def test_stage_whose_moved_members_are_gone_is_held_or_says_so() -> None:
    """A rolling restart gave everybody another id: nobody is left to judge, however long the stage waits."""
    promoted = replace(JUDGED, stages=(replace(PLAN.stages[0], members_percent=50), *PLAN.stages[1:]))
    plan = replace(promoted, conditions=Conditions(judge=Judge(undecided=Undecided.WAIT)))
    one, other = watched(plan), watched(promoted)
    one.members = other.members = [MemberId(f"new-{number}") for number in range(10)]
    rebalance(one, 45, 500)
    one.run(20)
    assert isinstance(one.state, Held)
    assert one.state.reason.startswith(
        "the judge of waits can't become certain: no member that was moved is left; "
        "`plan promote p` goes by the other conditions, `plan return p` brings the groups back; what it found: not"
    )
    assert one.state.progress.verdicts[-1].sentence == one.state.reason
    one.tell(PromoteOrdered())
    assert one.phase() is Moving
    other.run(5)
    assert other.phase() is Moving
    kept = [verdict.sentence for verdict in other.state.progress.verdicts if verdict.ruling is Ruling.KEPT]
    assert kept[0].endswith("; no member that was moved is left")


def test_stage_waits_for_its_judge_though_nobody_is_heard() -> None:
    """The bridge has just been started anew: its groups are there, and have not said anything yet."""
    one = watched(replace(JUDGED, conditions=Conditions(judge=Judge(undecided=Undecided.WAIT))))
    one.run(20)
    heard, one.figures = one.figures, {}
    one.look()
    assert one.phase() is Watching
    one.figures = heard
    rebalance(one, 45, 500)
    assert one.phase() is Moving


def test_stage_waits_no_longer_for_a_judge_that_takes_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """It had as many pairs as it takes, and was not certain; the next stage has one of its own."""
    monkeypatch.setattr(canaries, "PAIRS_MAX", 50)
    one = watched(replace(JUDGED, conditions=Conditions(judge=Judge(undecided=Undecided.WAIT))))
    one.run(20)
    rebalance(one, 25, 1_000)
    assert one.phase() is Moving
    assert (
        "; the judge of waits: no verdict in 50 pairs, and it takes no more; "
        in one.state.progress.verdicts[-1].sentence
    )
    assert one.state.progress.trial is None


def test_judge_begins_anew_when_a_held_plan_goes_on() -> None:
    """An operator has looked at what it found."""
    for word in (ResumeOrdered(), PromoteOrdered()):
        one = watched(JUDGED)
        rebalance(one, 20, 3_000)
        assert one.phase() is Held
        one.tell(word)
        one.look()
        assert one.phase() in {Watching, Moving}
        assert one.state.progress.trial is None


def test_nobody_is_moved_while_groups_are_not_counted() -> None:
    """Neither at the begin of a stage nor in the middle of one: what nobody counts is never fine."""
    one = world()
    one.uncounted = {GroupId("g-3")}
    one.run(5)
    assert isinstance(one.state, Held)
    assert one.state.reason.startswith("EB-PLAN-018: nobody counts 1 group of the plan, such as 'g-3'")
    assert "metrics.rebalances: true" in one.state.reason
    assert not one.orders
    one.uncounted.clear()
    one.tell(ResumeOrdered())
    one.run(3)
    assert one.phase() is Watching
    one.uncounted = {GroupId("g-3")}
    one.look()
    assert isinstance(one.state, Held)
    assert one.state.is_watched


def test_plan_without_conditions_asks_for_no_figures() -> None:
    """There is nothing that they could break."""
    one = world(replace(PLAN, conditions=Conditions(limits=())))
    one.uncounted = {GroupId("g-3")}
    one.run()
    assert one.phase() is Settled


def test_condition_without_figures_holds_the_plan_when_its_stage_is_over() -> None:
    """A lag that nobody knows, and a group of which nobody is heard any more."""
    lag = watched(replace(PLAN, conditions=Conditions(limits=(Limit(Measure.LAG, 5),))))
    lag.run(20)
    assert isinstance(lag.state, Held)
    assert "EB-PLAN-018: there are no figures for lag.growth of " in lag.state.reason
    gone = watched()
    quiet = moved_of(gone)[0]
    del gone.figures[quiet]
    gone.run(20)
    assert isinstance(gone.state, Held)
    assert f"there are no figures for {quiet} (none of its members is heard)" in gone.state.reason
    gone.tell(PromoteOrdered())
    gone.figures[quiet] = Figures(at_ms=gone.now_ms)
    gone.run(20)
    assert gone.phase() is Settled


def test_group_that_an_operator_moves_before_its_stage_is_left_to_him() -> None:
    """It is nothing to compare with: what it shows may come from its move. One that was refused did nothing."""
    one = watched()
    by_hand, refused = (part.group_id for part in one.state.progress.parts[-2:])
    for group_id, stage in ((by_hand, MoveStage.DONE), (refused, MoveStage.REFUSED)):
        one.now_ms += 1
        one.order(MoveOrder(group_id, Road.EMBEDDED))
        one.end(group_id, stage)
    one.look()
    steps = {part.group_id: part.step for part in one.state.progress.parts}
    assert (steps[by_hand], steps[refused]) == (PartStep.LEFT, PartStep.WAITING)
    assert by_hand not in {part.group_id for part in still_parts(one.state.progress, GroupsSeen(one.seen(), {}, 0))}
