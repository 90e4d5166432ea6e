"""Forgets groups that nobody is in once nothing is committed for them any more, as every coordinator does."""

import logging
from collections.abc import Callable, Iterable

import trio

from bridge.engine.model import Phase
from bridge.engine.queries import has_members
from bridge.engine.state import Shard
from bridge.log_lines import Line, Say, cause_of, of_embedded
from bridge.ports import Broker, BrokerUnreachable
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId


def has_groups(shard: Shard) -> bool:
    """Whether there is any group, so that topics are worth watching."""
    return bool(shard.groups or shard.classic_groups)


def idle_groups(shard: Shard) -> tuple[GroupId, ...]:
    """The groups that nobody is in, waits in or commits to at this moment."""
    return tuple(group_id for group_id in (*shard.groups, *shard.classic_groups) if is_idle(shard, group_id))


def is_idle(shard: Shard, group_id: GroupId) -> bool:
    """Whether there is such a group, and nobody is in it, waits in it or commits to it, whatever ids are promised: as
    in Kafka, who comes with one that went with its group is told to join anew (K5.31); O(1).
    """
    if shard.group_flights.get(group_id):
        return False
    group, classic = shard.groups.get(group_id), shard.classic_groups.get(group_id)
    if group is not None:
        return not group.members and not group.parked
    return classic is not None and classic.phase is Phase.EMPTY


def live_groups(shard: Shard) -> tuple[GroupId, ...]:
    """The groups that have members, whose offsets must not expire (decision 1)."""
    return tuple(group_id for group_id in (*shard.groups, *shard.classic_groups) if has_members(shard, group_id))


LOG = logging.getLogger("epochbridge.coordinators")


class Retention:
    """One round over all idle groups at every interval (K5.31): a name without members and offsets is worth nothing.

    Offsets are asked for, so that a group goes when the broker has let the last one expire, and not before.
    """

    def __init__(self, broker: Broker, forget: Callable[[GroupId], ErrorCode], interval_ms: int, say: Say) -> None:
        self._broker = broker
        self._forget = forget
        self._interval_ms = interval_ms
        self._say = say

    async def run(self, idle_groups: Callable[[], Iterable[GroupId]], is_idle: Callable[[GroupId], bool]) -> None:
        """Go on until cancelled; a group whose turn fails has its next one in the next round."""
        while True:
            await trio.sleep(self._interval_ms / 1000)
            for group_id in tuple(idle_groups()):
                await self._try_to_forget(group_id, is_idle)

    async def _try_to_forget(self, group_id: GroupId, is_idle: Callable[[GroupId], bool]) -> None:
        try:
            offsets = await self._broker.fetch_offsets(group_id)
        except BrokerUnreachable as problem:
            message = "EB-OFFSETS-005: whether group %r has offsets is not known: %s"
            line = Line(logging.WARNING, message, (group_id, str(problem)), of_embedded(group_id))
            self._say(cause_of("EB-OFFSETS-005", problem, group_id), line)
            return
        except Exception:
            LOG.exception(
                "EB-OFFSETS-006: looking after group %r failed; please report this",
                group_id,
                extra=of_embedded(group_id),
            )
            return
        has_offsets = any(one.offset >= 0 or one.error for topic in offsets.topics for one in topic.partitions)
        # Somebody may have come while the broker was asked.
        if not has_offsets and is_idle(group_id) and self._forget(group_id) is ErrorCode.NONE:
            LOG.info(
                "group %r is forgotten: it has neither members nor offsets",
                group_id,
                extra=of_embedded(group_id),
            )
