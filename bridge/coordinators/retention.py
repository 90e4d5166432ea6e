"""Forgets groups that nobody is in once nothing is committed for them any more, as every coordinator does.

It must not know members, nor when offsets expire: that is the broker's business.
"""

import logging
from collections.abc import Callable, Iterable

import trio

from bridge.log_lines import of_embedded
from bridge.ports import Broker, BrokerUnreachable
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId

LOG = logging.getLogger("epochbridge.coordinators")


class Retention:
    """One round over all idle groups at every interval (K5.31): a name without members and offsets is worth nothing.

    Offsets are asked for, so that a group goes when the broker has let the last one expire, and not before.
    """

    def __init__(self, broker: Broker, forget: Callable[[GroupId], ErrorCode], interval_ms: int) -> None:
        self._broker = broker
        self._forget = forget
        self._interval_ms = interval_ms

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
            LOG.warning(
                "EB-OFFSETS-005: whether group %r has offsets is not known: %s",
                group_id,
                problem,
                extra=of_embedded(group_id),
            )
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
