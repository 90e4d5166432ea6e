"""Watches the cluster's topics and tells when they change."""

import logging
from collections.abc import Callable

import trio

from bridge.coordinators.catalog import Catalog, TopicsChange
from bridge.ports import Broker, BrokerUnreachable, Clock

LOOK_PAUSE_MS = 250
"""Looks begin no sooner after one another; a topic that a client just created is seen after at most so long."""

LOG = logging.getLogger("epochbridge.coordinators")


class TopicWatcher:
    """Keeps the catalog up to date; `changed` is called after every difference."""

    def __init__(
        self, broker: Broker, catalog: Catalog, changed: Callable[[TopicsChange], None], clock: Clock, interval_ms: int
    ) -> None:
        self._broker = broker
        self._catalog = catalog
        self._changed = changed
        self._clock = clock
        self._interval_ms = interval_ms
        self._looked_ms: int | None = None
        self._looking = trio.Lock()

    @property
    def has_looked(self) -> bool:
        """Whether the cluster was ever looked at."""
        return self._looked_ms is not None

    async def look(self, is_enough: Callable[[], bool] = lambda: False) -> None:
        """Know what the cluster has now, by a look that begins no earlier; raises BrokerUnreachable.

        None is begun if what is known `is_enough` when those that others began are over.
        """
        wanted_ms = self._clock.now_ms()
        async with self._looking:
            if is_enough():
                return
            if self._looked_ms is not None:
                if self._looked_ms >= wanted_ms:
                    return
                await trio.sleep(max(0, self._looked_ms + LOOK_PAUSE_MS - self._clock.now_ms()) / 1000)
            began_ms = self._clock.now_ms()
            found = await self._broker.fetch_topics()
            self._looked_ms = began_ms
            change = self._catalog.update(found.topics, found.cluster_id)
            if change:
                self._changed(change)

    async def watch(self, is_needed: Callable[[], bool]) -> None:
        """Look at every interval in which anybody needs it; a cluster that is away is asked again at the next."""
        while True:
            await trio.sleep(self._interval_ms / 1000)
            if not is_needed():
                continue
            try:
                await self.look()
            except BrokerUnreachable as problem:
                LOG.warning("EB-TOPICS-001: the cluster's topics could not be looked at: %s; tried again soon", problem)
            except Exception:
                LOG.exception("EB-TOPICS-002: looking at topics failed; tried again soon, please report this")
