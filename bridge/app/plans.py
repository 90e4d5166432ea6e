"""Plans driven: looked at every few seconds, kept in the journal, their moves ordered from whoever makes moves."""

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import islice
from typing import assert_never

import trio

from bridge.app.plan_door import FACT, FACT_OF_ALL, Grounds
from bridge.config.faults import ConfigError
from bridge.coordinators.embedded.regular_expressions import read_regex
from bridge.migration.orders import MoveStage
from bridge.migration.plans.canaries import Waited
from bridge.migration.plans.conditions import Figures, Measure
from bridge.migration.plans.journal import decode_plans, encode_plans
from bridge.migration.plans.judging import uncounted_fault
from bridge.migration.plans.reading import NOT_A_PLAN, PlanFault, names_group, read_plan
from bridge.migration.plans.step import begin, begun_ms, is_over, step
from bridge.migration.plans.values import (
    GroupsSeen,
    OrderMove,
    Plan,
    PlanEffect,
    PlanEvent,
    PlanState,
    SeenGroup,
    StopMove,
)
from bridge.telemetry.following.tracks import GroupTrack
from bridge.telemetry.group_figures import GroupCounts, GroupWaits
from translators.dialects.counts import counted
from translators.dialects.errors import quote
from translators.dialects.ids import GroupId, MemberId
from translators.dialects.kept_names import kept_name
from translators.dialects.plain import MalformedPlain

LOG = logging.getLogger("epochbridge.app")
LOOK_S = 2.0
"""How often every plan that goes on sees its groups."""
HEARD_S = 20.0
"""So long groups are heard before plans of the journal go on: who was not heard yet is not gone."""
WAITS_A_LOOK = 200
"""So many rebalances are judged at a time, and the others with later looks: the members of all groups wait for it."""
LAG_LOOK_MS = 30_000
"""How often the cluster is asked how far groups are behind, if a plan has a limit for it."""
PLANS_MAX = 50
"""How many plans are remembered; beyond it those that are over go, the oldest first."""
GROUPS_MAX = 1_000
"""Of one plan: each has a row in the journal and a look every two seconds."""
OTHERS_MAX = 20
"""So many groups that no plan moves are a plan's comparison."""
NO_GROUP = "EB-PLAN-008"
"""No group that was heard here is meant by the plan."""
TOO_MUCH = "EB-PLAN-009"
"""A plan has more groups than can be looked after, or there are too many plans."""
GOES_ON = "EB-PLAN-010"
"""A plan of this name goes on: return it, or let it come to its end, before it is begun anew."""
TAKEN = "EB-PLAN-011"
"""A group of the plan belongs to another plan that goes on."""
NOT_FOLLOWED = "EB-PLAN-012"
"""Groups are not followed, so that nobody could tell what a move did to them."""


class DrivenPlans:
    """The plans of a running bridge (`admin.contracts.Plans`)."""

    def __init__(self, grounds: Grounds) -> None:
        self._grounds = grounds
        self._unread: set[str] = set()
        self._states = self._recalled()
        self._kept = dict(grounds.kept)
        self._lags: Mapping[GroupId, int] = {}
        self._lags_ms = -LAG_LOOK_MS

    async def check(self, text: str, source: str) -> PlanState | tuple[PlanFault, ...]:
        """The plan as it would begin, or all that is wrong with it."""
        try:
            # A second for 20,000 characters; members of all groups would wait for it.
            written = await trio.to_thread.run_sync(_read_yaml, text, source)
        except ConfigError as problem:
            return tuple(PlanFault(NOT_A_PLAN, "plan", one.seen, one.allowed) for one in problem.faults)
        read = read_plan(written, read_regex)
        if read.faults:
            return read.faults
        plan, tracks = read.plan, self._grounds.tracks()
        if tracks is None:
            wanted = "metrics.rebalances: true in the configuration of the bridge"
            return (PlanFault(NOT_FOLLOWED, "groups", "groups are not followed", wanted),)
        is_meant = names_group(plan, read_regex)
        groups = {name: self._seen(name, track) for name, track in tracks.items() if is_meant(name) and track.members}
        blind = uncounted_fault(groups) if plan.conditions.limits or plan.conditions.judge else None
        faults = (*self._find_faults(plan, groups), *([blind] if blind else []))
        return faults or begin(plan, groups, self._grounds.wall_ms())

    async def start(self, text: str, source: str) -> PlanState | tuple[PlanFault, ...]:
        """Begin a plan; all that is wrong with it if it can't be."""
        state = await self.check(text, source)
        if isinstance(state, tuple):
            return state
        self._take(state)
        return state

    def tell(self, name: str, word: PlanEvent) -> PlanState | None:
        """An operator's word about a plan; None: there is none of that name."""
        state = self._states.get(name)
        if state is None:
            return None
        self._step(state, word)
        return self._states[name]

    def plan(self, name: str) -> PlanState | None:
        """One plan by its name."""
        return self._states.get(name)

    def all(self) -> Sequence[PlanState]:
        """Every plan, the one begun last first."""
        return tuple(reversed(self._states.values()))

    async def run(self) -> None:
        """Look at the plans until cancelled."""
        if self._going_on():
            await trio.sleep(HEARD_S)
        while True:
            await trio.sleep(LOOK_S)
            await self.look()

    async def look(self) -> None:
        """Have every plan that is not over see its groups as they are now."""
        going_on = self._going_on()
        if going_on:
            await self._grounds.moves.prepare()
        await self._look_at_lags(going_on)
        waits = self._grounds.waits(WAITS_A_LOOK)
        for state in going_on:
            tracks = self._grounds.tracks() or {}
            own = {part.group_id for part in state.progress.parts}
            groups = {name: self._seen(name, tracks[name]) for name in own if name in tracks}
            is_judged = state.progress.plan.conditions.judge is not None
            names = {kept_name(name): name for name in groups} if is_judged else {}
            waited = tuple(_waited(name, one, tracks) for one in waits if (name := names.get(one.group_id)) is not None)
            others = dict(self._others(tracks, own, begun_ms(state)))
            self._step(state, GroupsSeen(groups, others, self._room(), waited))

    def _going_on(self) -> Sequence[PlanState]:
        return [state for state in self._states.values() if not is_over(state)]

    def _others(
        self, tracks: Mapping[GroupId, GroupTrack], own: Collection[GroupId], since_ms: int
    ) -> Iterator[tuple[GroupId, Figures]]:
        """Groups that neither a plan nor an operator has moved since then, to compare with; always the same as long as
        they are there, and counted.
        """
        planned = {part.group_id for state in self._states.values() for part in state.progress.parts} | set(own)
        found = sorted(name for name, track in tracks.items() if track.members and name not in planned)
        still = (name for name in found if not self._has_been_moved(name, since_ms))
        counted = ((name, counts) for name in still if (counts := self._grounds.counts(name)) is not None)
        return ((name, self._figures(name, counts)) for name, counts in islice(counted, OTHERS_MAX))

    def _has_been_moved(self, group_id: GroupId, since_ms: int) -> bool:
        move = self._grounds.moves.progress(group_id)
        if move is None or move.stage is MoveStage.REFUSED:
            return False
        return move.ended_ms is None or move.ended_ms > since_ms

    def _step(self, state: PlanState, event: PlanEvent) -> None:
        taken = step(state, event, self._grounds.wall_ms())
        self._log_news(state, taken.state)
        self._states[state.progress.plan.name] = taken.state
        # Written down before it is done: an order that is lost with the process is given again.
        if taken.state != state:
            self._write(taken.state)
        for effect in taken.effects:
            self._carry_out(effect)

    def _carry_out(self, effect: PlanEffect) -> None:
        match effect:
            case OrderMove(order):
                self._grounds.moves.start(order)
            case StopMove(group_id):
                self._grounds.moves.stop(group_id)
            case _:
                assert_never(effect)

    def _take(self, state: PlanState) -> None:
        name = state.progress.plan.name
        self._states.pop(name, None)
        over = [known for known, one in self._states.items() if is_over(one)]
        for known in over[: max(0, len(self._states) + 1 - PLANS_MAX)]:
            del self._states[known]
            self._keep(f"{FACT}{known}", "")
        self._states[name] = state
        LOG.info("EB-PLAN-013: plan %r: %s", quote(name), quote(state.progress.verdicts[-1].sentence))
        self._write(state)

    def _find_faults(self, plan: Plan, groups: Collection[GroupId]) -> Iterator[PlanFault]:
        known = self._states.get(plan.name)
        if known is not None and not is_over(known):
            yield PlanFault(GOES_ON, "plan", f"{plan.name!r} goes on", "another name, or the end of that plan")
        if not groups:
            wanted = "groups with members that are heard here, as `epochbridge census` lists them"
            yield PlanFault(NO_GROUP, "groups", "no group is meant", wanted)
        going_on = [one for name, one in self._states.items() if name != plan.name and not is_over(one)]
        if len(groups) > GROUPS_MAX or len(going_on) >= PLANS_MAX:
            seen = f"{counted(len(groups), 'group')}, {counted(len(going_on), 'plan that goes on', 'plans that go on')}"
            yield PlanFault(TOO_MUCH, "groups", seen, f"at most {GROUPS_MAX} groups and {PLANS_MAX} plans")
        for other in going_on:
            shared = sorted({part.group_id for part in other.progress.parts} & set(groups))
            if shared:
                seen = f"{counted(len(shared), 'group')} of plan {other.progress.plan.name!r}, such as {shared[0]!r}"
                yield PlanFault(TAKEN, "groups", seen, "groups of no other plan that goes on (`except`)")

    def _seen(self, group_id: GroupId, track: GroupTrack) -> SeenGroup:
        counts = self._grounds.counts(group_id)
        figures = self._figures(group_id, counts or GroupCounts())
        move = self._grounds.moves.progress(group_id)
        return SeenGroup(figures, tuple(track.members), move, is_counted=counts is not None)

    def _figures(self, group_id: GroupId, counts: GroupCounts) -> Figures:
        return Figures(
            at_ms=self._grounds.wall_ms(),
            rebalances=counts.rebalances,
            disturbed=counts.disturbed,
            stall_ms=counts.stall_us // 1000,
            failed_commits=counts.failed_commits,
            lost=counts.lost,
            errors=counts.errors,
            lag=self._lags.get(group_id),
        )

    def _room(self) -> int:
        running = sum(not move.stage.has_ended for move in self._grounds.moves.all())
        return max(0, self._grounds.groups_max() - running)

    async def _look_at_lags(self, going_on: Sequence[PlanState]) -> None:
        is_wanted = any(
            limit.measure is Measure.LAG for state in going_on for limit in state.progress.plan.conditions.limits
        )
        now_ms = self._grounds.wall_ms()
        if is_wanted and now_ms - self._lags_ms >= LAG_LOOK_MS:
            self._lags_ms = now_ms
            self._lags = await self._grounds.lags()

    def _recalled(self) -> dict[str, PlanState]:
        """The plans of the journal by their names; what was kept for one by itself is later than what was for all."""
        found: dict[str, PlanState] = {}
        for name in sorted(self._grounds.kept, key=lambda name: (name != FACT_OF_ALL, name)):
            try:
                found |= decode_plans(self._grounds.kept[name])
            except MalformedPlain as problem:
                self._unread.add(name)
                # What was kept for all is older: that plan is not what it says.
                found.pop(name.removeprefix(FACT), None)
                LOG.warning(
                    "EB-PLAN-014: the plans in the journal under %r can't be read (%s), and nobody drives them; groups "
                    "stay where their moves put them, and the journal keeps them for the release that wrote them: run "
                    "that one, or start the plans again. What is kept under `plan:` and a name is put aside once a "
                    "plan of that name is begun here: from then on it stands under `unread-plan:` and the name, for "
                    "people (a second one under `unread-2-plan:`, and so on up to 10)",
                    quote(name),
                    problem,
                )
        return found

    def _write(self, state: PlanState) -> None:
        """One plan; and where an older release kept all of them together, each by itself."""
        are_together = FACT_OF_ALL in self._kept.keys() - self._unread
        for one in self._states.values() if are_together else (state,):
            name = one.progress.plan.name
            self._keep(f"{FACT}{name}", encode_plans({name: one}))
        if are_together:
            self._keep(FACT_OF_ALL, "")

    def _keep(self, name: str, text: str) -> None:
        if text == self._kept.get(name, ""):
            return
        if name in self._unread:
            # Another release may know what it says: this one must not be the end of it.
            self._unread.remove(name)
            self._grounds.put_aside(name, self._kept[name])
        self._grounds.keep(name, text)
        if text:
            self._kept[name] = text
        else:
            del self._kept[name]

    def _log_news(self, before: PlanState, after: PlanState) -> None:
        """Every verdict is in the log as well."""
        known = set(before.progress.verdicts)
        for verdict in after.progress.verdicts:
            if verdict not in known:
                name = quote(after.progress.plan.name)
                LOG.info("EB-PLAN-013: plan %r: %s", name, quote(verdict.sentence))


def _waited(group_id: GroupId, waits: GroupWaits, tracks: Mapping[GroupId, GroupTrack]) -> Waited:
    """A rebalance with everybody who is a member now: whom it left alone waited for no time."""
    known = {kept_name(member_id): member_id for member_id in tracks[group_id].members}
    idle = dict.fromkeys(known.values(), 0)
    waited = {known.get(name, MemberId(name)): duration_us // 1_000 for name, duration_us in waits.waited_us.items()}
    return Waited(group_id, waits.began_wall_us // 1_000, tuple({**idle, **waited}.items()))


def _read_yaml(text: str, source: str) -> object:
    # A start need not wait for the library that reads YAML: a plan comes later, if ever.
    load_plain: Callable[[str, str], object] = import_module("bridge.config.yaml_file").load_plain
    return load_plain(text, source)
