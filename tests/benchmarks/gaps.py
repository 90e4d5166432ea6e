"""Partitions that nobody owns, as a fleet's own members see it: how long in all, and the longest time of one of them.

It must not know what is done to the fleet.
"""

import time
from collections.abc import Set as AbstractSet

from tests.benchmarks.fleet import Fleet
from translators.dialects.ids import TopicName, TopicPartition


class Gaps:
    """Of one topic's partitions, from the moment that it is made; looked at by whoever drives the fleet."""

    def __init__(self, fleet: Fleet, topic: str, partitions: int) -> None:
        self.unowned_s = 0.0
        """Partition-seconds in all."""
        self.longest_s = 0.0
        """The longest time without an owner of any one."""
        self._fleet = fleet
        self._everything = {TopicPartition(TopicName(topic), number) for number in range(partitions)}
        self._since: dict[TopicPartition, float] = {}
        self._looked = time.monotonic()

    def look(self, now: float) -> AbstractSet[TopicPartition]:
        """What has no owner now, nor since the last look. Raises FleetError if a partition has two."""
        self._fleet.owned()
        unowned = self._everything.difference(*(client.owned for client in self._fleet.clients))
        self.unowned_s += len(unowned) * (now - self._looked)
        self._since = {one: self._since.get(one, self._looked) for one in unowned}
        self.longest_s = max([self.longest_s, *(now - since for since in self._since.values())])
        self._looked = now
        return unowned
