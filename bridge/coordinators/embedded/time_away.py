"""Between two lives of a bridge: the journal keeps when it last served, and sessions of the time away have ended."""

import logging
from collections.abc import Callable

import trio

from bridge.coordinators.embedded.groups import EmbeddedGroups
from bridge.engine.commands import EndSessions
from bridge.engine.recovery import lapsed_sessions

LOG = logging.getLogger("epochbridge.coordinators")
FACT = "served-until"
"""Under which name the journal has it, in milliseconds since 1970."""
NOTE_EVERY_MS = 5_000
"""How often it is kept: nobody's session counts as over that may have been heard of in between."""
LAPSE_MS = 200
"""How long nothing is dealt out after lapsed sessions end: by then nobody is left whom they were of."""


FOUNDERS_EVERY = 12
"""Of so many times, one also has it kept who began groups that nobody is in: to know that takes a look at all."""


async def note_serving(groups: EmbeddedGroups, wall_ms: Callable[[], int]) -> None:
    """Keep, now and then, until when members were served; where nobody is, nothing is written."""
    times = 0
    while True:
        if groups.groups():
            groups.keep_fact(FACT, str(wall_ms()))
        times += 1
        if times % FOUNDERS_EVERY == 0:
            groups.note_founders()
        await trio.sleep(NOTE_EVERY_MS / 1000)


def time_away_ms(groups: EmbeddedGroups, wall_ms: int) -> int:
    """How long nobody was served before this start, at least; 0 where that is not known."""
    text = groups.fact(FACT) or ""
    return max(0, wall_ms - int(text) - NOTE_EVERY_MS) if text.isdecimal() else 0


def end_sessions(groups: EmbeddedGroups, away_ms: int) -> int:
    """Members whose sessions ended in the time away have a moment to be heard of, and those who are not are dropped
    before anything is dealt out. Gives in how many groups there are such members.

    A journal that is brought back after hours would else deal partitions to members that went long ago, and nobody
    would read those until their sessions end (six such members were seen).
    """
    owner, shard, now_ms = groups.owner, groups.owner.shard, groups.now_ms()
    until_ms = max(shard.no_assignment_before_ms, now_ms)
    lapsed = {key.group_id for key in lapsed_sessions(shard, away_ms, now_ms)}
    groups.task.order_at_once(EndSessions(away_ms, until_ms))
    lapsed |= owner.end_sessions(away_ms, until_ms, now_ms)
    if lapsed:
        shard.no_assignment_before_ms = until_ms + LAPSE_MS
        shard.resumed -= lapsed
        groups.task.wake()
        told = "EB-GROUP-023: nobody was served for %d s: members of %d groups have %.1f s to be heard of"
        LOG.info(told, away_ms // 1000, len(lapsed), (until_ms - now_ms) / 1000)
    return len(lapsed)
