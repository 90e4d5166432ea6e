"""An aiokafka consumer as a member process; it has eager assignors only."""

import asyncio
import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import version

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.errors import KafkaError

from bridge.demo.events import EventWriter, Partition, Protocol, now_ns
from bridge.demo.members.process import MemberOptions, StopSignal, parse_member_options
from bridge.demo.members.recorder import Recorder

POLL_MS = 100
ASSIGNORS: Mapping[str, type] = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
}


def consumer_settings(options: MemberOptions) -> dict[str, object]:
    """aiokafka's configuration; raises SystemExit for what the library cannot do."""
    if options.protocol is Protocol.CONSUMER or options.assignor not in ASSIGNORS:
        raise SystemExit(f"aiokafka speaks the classic protocol with {', '.join(ASSIGNORS)} only, not {options}.")
    settings: dict[str, object] = {
        "bootstrap_servers": options.bootstrap.split(","),
        "group_id": options.group,
        "client_id": options.client_id,
        "auto_offset_reset": options.auto_offset_reset,
        "enable_auto_commit": False,
        "metadata_max_age_ms": options.metadata_max_age_ms,
        "partition_assignment_strategy": [ASSIGNORS[options.assignor]],
    }
    chosen = {
        "group_instance_id": options.instance_id,
        "session_timeout_ms": options.session_timeout_ms,
        "heartbeat_interval_ms": options.heartbeat_interval_ms,
    }
    settings.update({name: value for name, value in chosen.items() if value is not None})
    return settings


class Member:
    """The consumer and its recorder; it is its own rebalance listener, called by aiokafka's coordination task."""

    def __init__(self, options: MemberOptions, recorder: Recorder) -> None:
        self._topics = options.topics
        self._recorder = recorder
        self._consumer = AIOKafkaConsumer(**consumer_settings(options))
        self._committing = asyncio.Lock()

    async def start(self) -> None:
        """Connect and join."""
        await self._consumer.start()
        self._consumer.subscribe(topics=self._topics, listener=self)

    async def take(self) -> None:
        """Process what one poll returns."""
        try:
            polled = await self._consumer.getmany(timeout_ms=POLL_MS)
        except KafkaError as error:
            self._recorder.fail(f"getmany raised {error!r}")
            return
        for partition, records in polled.items():
            for record in records:
                self._recorder.process(Partition(*partition), record.offset)

    async def commit_due(self, *, now: bool = False) -> None:
        """Commit what is due; the lock keeps commits of the two tasks in order."""
        async with self._committing:
            await self._commit(self._recorder.due_commit(now=now))

    async def close(self) -> None:
        """Leave the group; aiokafka calls no revoked callback here, so giving up ownership is written down first."""
        owned = frozenset(self._consumer.assignment())
        await self.on_partitions_revoked(owned)
        await self._consumer.stop()

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        """aiokafka's callback: the whole assignment."""
        self._recorder.assign(Partition(*partition) for partition in assigned)

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        """aiokafka's callback; it has none for lost partitions."""
        partitions = [Partition(*partition) for partition in revoked]
        offsets = self._recorder.revoke(partitions)
        async with self._committing:
            await self._commit(offsets)
        self._recorder.release(partitions)

    async def _commit(self, offsets: Mapping[Partition, int]) -> None:
        if not offsets:
            return
        try:
            await self._consumer.commit({TopicPartition(*partition): offset for partition, offset in offsets.items()})
        except KafkaError as error:
            self._recorder.fail(f"commit refused: {error!r}")
            return
        self._recorder.commit(offsets)


ConsumerRebalanceListener.register(Member)
"""A virtual subclass, because the library is untyped and a real one would make the class untyped too."""


async def run(options: MemberOptions) -> None:
    """Run one member until SIGTERM."""
    stop = StopSignal()
    recorder = Recorder(options, EventWriter(sys.stdout), now_ns)
    recorder.start("aiokafka", version("aiokafka"))
    member = Member(options, recorder)
    await member.start()
    while not stop.is_set():
        await member.take()
        await member.commit_due()
    await member.close()
    recorder.end()


if __name__ == "__main__":
    asyncio.run(run(parse_member_options(sys.argv[1:])))
