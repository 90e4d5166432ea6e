"""Plans driven in a bridge: begun, kept, taken up again, and what is wrong with them."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

import pytest
import trio
from trio.testing import MockClock

from bridge.app import plans
from bridge.app.plan_door import FACT, Grounds
from bridge.app.plans import DrivenPlans
from bridge.coordinators.unread_facts import UNREAD, put_aside
from bridge.migration.orders import MoveOrder
from bridge.migration.plans.journal import encode_plans
from bridge.migration.plans.step import is_over
from bridge.migration.plans.values import Held, Moving, PlanState, PromoteOrdered, Returned, ReturnOrdered, Settled
from bridge.migration.route import Road
from bridge.telemetry.following.tracks import GroupTrack, MemberTrack
from bridge.telemetry.group_figures import GroupCounts, GroupWaits
from bridge.telemetry.schema.terms import Protocol
from bridge.telemetry.schema.terms import Road as TrackRoad
from tests.support.obedient_moves import ObedientMoves
from translators.dialects.ids import GroupId, MemberId

TEXT = "plan: p\nto: upstream\ngroups: [pay-*]\nstages: [{groups: 50%}, {groups: 100%}]\ngroups.max: 2\n"


def track(name: str) -> GroupTrack:
    """A group with two members that passes."""
    members = {
        MemberId(f"{name}-{n}"): MemberTrack(member_id=MemberId(f"{name}-{n}"), protocol=Protocol.CLASSIC)
        for n in range(2)
    }
    return GroupTrack(group_id=GroupId(name), road=TrackRoad.PASSING, members=members)


@dataclass
class Bridge:
    """What plans are driven by, in a test."""

    kept: dict[str, str] = field(default_factory=dict)
    room: int = 5
    now_ms: int = 1_700_000_000_000
    followed: bool = True
    names: tuple[str, ...] = ("pay-1", "pay-2", "pay-3", "pay-4", "orders")
    moves: ObedientMoves = field(default_factory=ObedientMoves)
    counts: dict[str, GroupCounts] = field(default_factory=dict)
    waits: list[GroupWaits] = field(default_factory=list)
    lag: dict[GroupId, int] = field(default_factory=dict)
    lag_looks: int = 0
    uncounted: set[str] = field(default_factory=set)
    written: list[str] = field(default_factory=list)
    plans: DrivenPlans = field(init=False)

    def __post_init__(self) -> None:
        self.moves.now_ms = lambda: self.now_ms
        self.restart()

    def restart(self) -> None:
        """The process is another one; the journal is the same."""
        self.plans = DrivenPlans(
            Grounds(
                moves=self.moves,
                counts=lambda name: None if name in self.uncounted else self.counts.get(name) or GroupCounts(),
                waits=self.take_waits,
                tracks=self.tracks,
                lags=self.lags,
                kept=self.kept,
                keep=self.keep_fact,
                put_aside=partial(put_aside, self),
                groups_max=lambda: self.room,
                wall_ms=lambda: self.now_ms,
            )
        )

    def tracks(self) -> Mapping[GroupId, GroupTrack] | None:
        """The groups that are heard."""
        return {GroupId(name): track(name) for name in self.names} if self.followed else None

    def take_waits(self, most: int) -> list[GroupWaits]:
        """What was not asked for yet."""
        taken, self.waits = self.waits[:most], self.waits[most:]
        return taken

    def rebalance(self, name: str, waited_us: int) -> None:
        """A rebalance in which one of the two members of a group waited so long."""
        self.waits.append(GroupWaits(name, self.now_ms * 1_000, {f"{name}-0": waited_us} if waited_us else {}))

    async def lags(self) -> Mapping[GroupId, int]:
        """How far groups are behind."""
        self.lag_looks += 1
        return self.lag

    def fact(self, name: str) -> str | None:
        """What is written down."""
        return self.kept.get(name)

    def keep_fact(self, name: str, text: str) -> None:
        """Write it down."""
        self.written.append(name)
        self.kept = {known: kept for known, kept in {**self.kept, name: text}.items() if kept}

    async def look(self, times: int = 1) -> None:
        """Time passes."""
        for _ in range(times):
            self.now_ms += 2_000
            await self.plans.look()

    async def begin(self, text: str = TEXT) -> PlanState:
        """Start a plan that is right."""
        state = await self.plans.start(text, "plan.yaml")
        assert not isinstance(state, tuple), state
        return state

    async def codes(self, text: str) -> list[str]:
        """What is wrong with a plan."""
        faults = await self.plans.check(text, "plan.yaml")
        assert isinstance(faults, tuple)
        return [fault.code for fault in faults]

    def phase(self) -> type[PlanState]:
        """What the only plan is doing."""
        (state,) = self.plans.all()
        return type(state)


async def test_plan_moves_its_groups_and_settles() -> None:
    """Half of them, then all; no other group; every verdict is in the log."""
    bridge = Bridge()
    await bridge.begin()
    await bridge.look(20)
    assert bridge.phase() is Settled
    assert sorted(order.group_id for order in bridge.moves.orders) == ["pay-1", "pay-2", "pay-3", "pay-4"]
    assert {order.destination for order in bridge.moves.orders} == {Road.UPSTREAM}


async def test_plan_outlives_a_restart() -> None:
    """At every step; nothing is moved twice, and nothing is forgotten."""
    bridge = Bridge()
    await bridge.begin()
    for _ in range(20):
        await bridge.look()
        bridge.restart()
    assert bridge.phase() is Settled
    assert len(bridge.moves.orders) == 4
    assert bridge.moves.is_prepared


async def test_group_that_broke_a_condition_holds_the_plan(caplog: pytest.LogCaptureFixture) -> None:
    """By its own figures, not by those of others."""
    caplog.set_level(logging.INFO)
    bridge = Bridge()
    await bridge.begin(TEXT.replace("50%", "50%, watch.ms: 60000"))
    await bridge.look(6)
    first = bridge.moves.orders[0].group_id
    bridge.counts[first] = GroupCounts(failed_commits=1)
    await bridge.look(2)
    assert bridge.phase() is Held
    assert f"{first} broke a condition: failed.commits.per.hour 1 (at most 0" in caplog.text
    bridge.plans.tell("p", ReturnOrdered())
    await bridge.look(10)
    assert bridge.phase() is Returned
    assert bridge.plans.tell("nobody", ReturnOrdered()) is None


async def test_lag_is_asked_for_only_by_plans_that_limit_it() -> None:
    """Not at every look, and a group that falls behind holds the plan."""
    bridge = Bridge()
    bridge.lag = {GroupId(name): 10 for name in bridge.names}
    await bridge.begin()
    await bridge.look(3)
    assert bridge.lag_looks == 0
    other = Bridge(lag=bridge.lag)
    await other.begin(TEXT.replace("50%", "50%, watch.ms: 600000") + "conditions: {lag.growth: 100}\n")
    await other.look(10)
    assert other.lag_looks == 1
    other.lag = {**other.lag, other.moves.orders[0].group_id: 500}
    await other.look(10)
    assert (other.lag_looks, other.phase()) == (2, Held)


async def test_only_so_many_groups_are_moved_at_once() -> None:
    """What operators ordered counts, too."""
    bridge = Bridge(room=1, moves=ObedientMoves(turns=(lambda move: move,)))
    await bridge.begin()
    await bridge.look(5)
    assert len(bridge.moves.orders) == 1
    bridge.room = 2
    await bridge.look(2)
    assert len(bridge.moves.orders) == 2


async def test_what_is_wrong_is_told_and_nothing_begins() -> None:
    """In the text, or with the groups."""
    bridge = Bridge()
    assert await bridge.codes("plan: [") == ["EB-PLAN-001"]
    assert await bridge.codes("plan: p\nto: pass\ngroups: x-*\n") == ["EB-PLAN-008"]
    assert await bridge.codes("members: x") == ["EB-PLAN-002", *["EB-PLAN-003"] * 3]
    assert isinstance(await bridge.plans.start("plan: 3", "x"), tuple)
    bridge.followed = False
    assert await bridge.codes(TEXT) == ["EB-PLAN-012"]
    assert (bridge.plans.all(), bridge.kept) == ((), {})


async def test_groups_belong_to_one_plan_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """And a plan to one name; when it is over both are free."""
    bridge = Bridge()
    await bridge.begin()
    assert await bridge.codes(TEXT) == ["EB-PLAN-010"]
    assert await bridge.codes(TEXT.replace("plan: p", "plan: q")) == ["EB-PLAN-011"]
    await bridge.look(20)
    assert isinstance(await bridge.begin(TEXT), type(bridge.plans.plan("p")))
    monkeypatch.setattr(plans, "GROUPS_MAX", 3)
    assert "EB-PLAN-009" in await bridge.codes(TEXT.replace("plan: p", "plan: q"))


async def test_only_so_many_plans_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that are over make room."""
    monkeypatch.setattr(plans, "PLANS_MAX", 2)
    bridge = Bridge()
    for name in ("a", "b", "c"):
        await bridge.begin(TEXT.replace("plan: p", f"plan: {name}"))
        await bridge.look(20)
    assert [state.progress.plan.name for state in bridge.plans.all()] == ["c", "b"]


def test_plans_that_can_not_be_read_again_are_told(caplog: pytest.LogCaptureFixture) -> None:
    """The bridge starts all the same."""
    bridge = Bridge(kept={"plans": "[7]"})
    assert bridge.plans.all() == ()
    assert "EB-PLAN-014" in caplog.text


@pytest.mark.parametrize("name", ["plans", "plan:p", "plan:q"])
async def test_what_can_not_be_read_outlives_what_is_written(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """A newer release wrote it, or an older one: whoever goes back to that finds it, but for a plan whose name is begun
    anew, and the sentence says where that stands then.
    """
    bridge = Bridge(kept={name: "[7]"})
    await bridge.begin()
    await bridge.look(20)
    aside = f"{UNREAD}{name}" if name == "plan:p" else name
    assert bridge.kept[aside] == "[7]"
    assert f"`{UNREAD}{FACT}`" in caplog.text
    bridge.restart()
    assert [state.progress.plan.name for state in bridge.plans.all()] == ["p"]
    assert (bridge.kept[aside], is_over(bridge.plans.all()[0])) == ("[7]", True)


async def test_plans_that_can_not_be_read_stand_aside_beside_one_another() -> None:
    """Releases that take turns may leave one each time: the second one was the end of the first."""
    bridge = Bridge()
    for text in ("[7]", "[8]", "[8]"):
        bridge.kept["plan:p"] = text
        bridge.restart()
        await bridge.begin()
        await bridge.look(20)
    aside = {name: text for name, text in bridge.kept.items() if name != "plan:p"}
    assert aside == {f"{UNREAD}plan:p": "[7]", f"{UNREAD}2-plan:p": "[8]"}


async def test_plan_is_not_driven_by_what_an_older_release_kept_of_it() -> None:
    """What is kept of it by itself is later, readable or not."""
    bridge = Bridge()
    await bridge.begin()
    bridge.kept = {"plans": bridge.kept["plan:p"], "plan:p": "[7]"}
    bridge.restart()
    assert bridge.plans.all() == ()


async def test_word_of_an_operator_counts_at_once() -> None:
    """The next look goes on from there."""
    bridge = Bridge()
    await bridge.begin(TEXT + "observe.ms: 600000\n")
    await bridge.look(5)
    assert not bridge.moves.orders
    assert bridge.plans.tell("p", PromoteOrdered()) is not None
    await bridge.look(2)
    assert bridge.phase() is Moving


async def test_judge_of_waits_goes_on_after_a_restart() -> None:
    """What it saw is in the journal; members that did not wait count, and groups of no plan do not."""
    bridge = Bridge()
    await bridge.begin(TEXT.replace("50%", "50%, watch.ms: 600000") + "judge: waits\n")
    await bridge.look(6)
    moved = {order.group_id for order in bridge.moves.orders}
    for _ in range(10):
        for name in bridge.names:
            bridge.rebalance(name, 3_000_000 if GroupId(name) in moved else 0)
        await bridge.look()
        bridge.restart()
    (state,) = bridge.plans.all()
    trial = state.progress.trial
    assert trial is not None
    assert (len(trial.scored.scores), trial.control_count, trial.treatment_count) == (20, 20, 20)
    assert (trial.scored.recent[0].control, sorted(trial.scored.recent[0].treatment)) == ((0.0, 0.0), [0.0, 3.0])
    for _ in range(20):
        for name in bridge.names:
            bridge.rebalance(name, 3_000_000 if GroupId(name) in moved else 0)
        await bridge.look()
    assert bridge.phase() is Held


async def test_plan_of_the_journal_goes_on_when_its_groups_were_heard(autojump_clock: MockClock) -> None:
    """A bridge that has just been started hears nobody: its groups are not gone, and none is passed over."""
    bridge = Bridge()
    await bridge.begin()
    while not (isinstance(state := bridge.plans.all()[0], Moving) and state.stage == 1):
        await bridge.look()
    assert len(bridge.moves.orders) == 2
    heard, bridge.names = bridge.names, ()
    bridge.restart()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(bridge.plans.run)
        await trio.sleep(plans.HEARD_S - 1)
        bridge.names = heard
        await trio.sleep(plans.LOOK_S * 20)
        nursery.cancel_scope.cancel()
    assert bridge.phase() is Settled
    assert len(bridge.moves.orders) == 4


async def test_many_rebalances_are_judged_over_several_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Members of all groups wait for the judge; none of a plan that asks none."""
    monkeypatch.setattr(plans, "WAITS_A_LOOK", 2)
    bridge = Bridge()
    await bridge.begin(TEXT.replace("50%", "50%, watch.ms: 600000") + "judge: waits\n")
    await bridge.look(6)
    for _ in range(5):
        bridge.rebalance("pay-1", 1_000)
    await bridge.look()
    assert len(bridge.waits) == 3
    await bridge.look(2)
    (state,) = bridge.plans.all()
    trial = state.progress.trial
    assert trial is not None
    assert trial.control_count + trial.treatment_count == 5


async def test_what_changes_nothing_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan that waits costs no text at every look."""
    bridge = Bridge()
    await bridge.begin(TEXT + "observe.ms: 600000\n")
    await bridge.look()
    monkeypatch.setattr(plans, "encode_plans", lambda _states: pytest.fail("nothing has changed"))
    await bridge.look()


async def test_only_the_plan_that_changed_is_written() -> None:
    """Others stay as they were written; one that makes room is forgotten."""
    bridge = Bridge()
    await bridge.begin(TEXT + "observe.ms: 600000\n")
    await bridge.begin("plan: q\nto: upstream\ngroups: [orders]\n")
    bridge.written.clear()
    await bridge.look(10)
    assert set(bridge.written) == {"plan:q"}
    assert set(bridge.kept) == {"plan:p", "plan:q"}


async def test_plans_of_an_older_journal_go_on_and_are_written_by_themselves(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever dies in between has them under both names; the later one counts. One that is damaged loses no other."""
    bridge = Bridge()
    await bridge.begin()
    await bridge.begin("plan: q\nto: upstream\ngroups: [orders]\n")
    old = encode_plans({state.progress.plan.name: state for state in bridge.plans.all()})
    await bridge.look(2)
    newer = bridge.kept["plan:q"]
    bridge.kept = {"plans": old, "plan:q": newer, "plan:r": "[7]"}
    bridge.restart()
    assert "under 'plan:r' can't be read" in caplog.text
    assert encode_plans({"q": state}) == newer if (state := bridge.plans.plan("q")) else False
    await bridge.look(20)
    assert set(bridge.kept) == {"plan:p", "plan:q", "plan:r"}
    assert {type(state) for state in bridge.plans.all()} == {Settled}
    monkeypatch.setattr(plans, "PLANS_MAX", 2)
    bridge.names = (*bridge.names, "more")
    await bridge.begin("plan: s\nto: upstream\ngroups: [more]\n")
    assert set(bridge.kept) & {"plan:p", "plan:q"} != {"plan:p", "plan:q"}


async def test_groups_that_nobody_counts_are_moved_by_no_plan() -> None:
    """It does not begin; one that went on before a restart without figures is held."""
    bridge = Bridge(uncounted={"pay-2"})
    assert await bridge.codes(TEXT) == ["EB-PLAN-018"]
    assert await bridge.codes(TEXT + "conditions: {}\njudge: waits\n") == ["EB-PLAN-018"]
    bridge.uncounted.clear()
    await bridge.begin()
    bridge.uncounted = set(bridge.names)
    bridge.restart()
    await bridge.look(3)
    assert bridge.phase() is Held
    assert not bridge.moves.orders


async def test_group_that_an_operator_moves_is_nothing_to_compare_with() -> None:
    """What it shows may come from its move; one that was moved before the plan began is."""
    bridge = Bridge(names=("pay-1", "pay-2", "orders", "bills", "dark"), uncounted={"dark"})
    bridge.moves.start(MoveOrder(GroupId("bills"), Road.UPSTREAM))
    bridge.now_ms += 60_000
    await bridge.begin(TEXT.replace("50%", "50%, watch.ms: 600000"))
    bridge.now_ms += 1_000
    bridge.moves.start(MoveOrder(GroupId("orders"), Road.UPSTREAM))
    await bridge.look(6)
    (state,) = bridge.plans.all()
    assert "bills" in {control.group_id for control in state.progress.controls}
    assert not {"orders", "dark"} & {control.group_id for control in state.progress.controls}
