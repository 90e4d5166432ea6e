"""The door to plans: what they are driven by, and when their code is loaded."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import import_module
from typing import Protocol

import trio

from bridge.admin.contracts import AdminSources, Moves, Plans
from bridge.app.events import Watch, wall_ms
from bridge.app.reloading import Configured
from bridge.coordinators.embedded.groups import EmbeddedGroups
from bridge.coordinators.unread_facts import put_aside
from bridge.supervision import PLANS, start_job
from bridge.telemetry.following.tracks import GroupTrack
from bridge.telemetry.group_figures import GroupCounts, GroupWaits
from translators.dialects.ids import GroupId

DRIVEN = "bridge.app.plans"
"""Behind it stand conditions, judges and their journal; the web server, which opens plans, loads most of it anyway."""
FACT = "plan:"
"""So the names begin under which the journal keeps the plans, each under its own."""
FACT_OF_ALL = "plans"
"""Under this name older releases kept all plans."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounds:
    """What plans are driven by: who makes moves, what is known of groups, where plans are kept, what time it is.

    `counts` has nothing of a group that nobody counts. `lags` asks the cluster how many records groups are behind;
    `waits` are rebalances that were not given out yet, the oldest first and at most so many. `kept` is what the journal
    has under each of the names of plans, `keep` writes under one of them, "" for no longer, and `put_aside` takes what
    stood there away from it.
    """

    moves: Moves
    counts: Callable[[str], GroupCounts | None]
    waits: Callable[[int], Sequence[GroupWaits]]
    tracks: Callable[[], Mapping[GroupId, GroupTrack] | None]
    lags: Callable[[], Awaitable[Mapping[GroupId, int]]]
    kept: Mapping[str, str]
    keep: Callable[[str, str], None]
    put_aside: Callable[[str, str], None]
    groups_max: Callable[[], int]
    wall_ms: Callable[[], int]


class _Driven(Plans, Protocol):
    async def run(self) -> None: ...


def begin_plans(
    nursery: trio.Nursery, sources: AdminSources, groups: EmbeddedGroups, watch: Watch, configured: Configured
) -> AdminSources:
    """Have plans driven if there is somebody who moves groups: those of the journal from now on, others once the admin
    API opens them; the sources with them.
    """
    if sources.moves is None:
        return sources
    moves = sources.moves

    async def lags() -> Mapping[GroupId, int]:
        if sources.surveys is None:
            return {}
        census = await sources.surveys.census()
        return {one.group.group_id: one.lag for one in census.groups if one.lag is not None}

    grounds = Grounds(
        moves=moves,
        counts=watch.figures.groups.of if configured.config.settings.metrics_rebalances else lambda _: None,
        waits=watch.figures.groups.take_waits,
        tracks=watch.tracks,
        lags=lags,
        kept={**groups.facts(FACT), **({FACT_OF_ALL: old} if (old := groups.fact(FACT_OF_ALL)) else {})},
        keep=groups.keep_fact,
        put_aside=partial(put_aside, groups),
        groups_max=lambda: configured.config.settings.migration_groups_max,
        wall_ms=wall_ms,
    )

    @cache
    def open_plans() -> Plans:
        drive: Callable[[Grounds], _Driven] = import_module(DRIVEN).DrivenPlans
        plans = drive(grounds)
        start_job(nursery, groups.supervised, PLANS, plans.run)
        return plans

    if grounds.kept:
        open_plans()
    return replace(sources, open_plans=open_plans)
