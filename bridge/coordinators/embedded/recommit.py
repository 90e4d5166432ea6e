"""Commits the offsets of live embedded groups again, unchanged, long before the broker lets them expire."""

import logging
from collections.abc import Callable, Iterable

import trio

from bridge.coordinators.embedded.partition_queue import GroupPartition, GroupPartitions, PartitionQueue, Work
from bridge.log_lines import Line, Say, cause_by_names, cause_of, of_embedded
from bridge.migration.missing_rights import Resource, Right, refused_on
from bridge.ports import Broker, BrokerUnreachable
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import NO_MEMBER_ID, GroupId, TopicPartition
from translators.dialects.offsets import (
    FetchedGroup,
    FetchedPartition,
    FetchedTopic,
    OffsetCommit,
    OffsetCommitReply,
    PartitionCommit,
    TopicCommit,
)

LOG = logging.getLogger("epochbridge.coordinators")
NO_CONNECTION = -1
FIRST_ROUND_MS = 600_000
"""When the first round begins at the latest, however long the interval is."""


class Recommit:
    """One round over all live groups at every interval, and one soon after the start (decision 1).

    The first one counts: a bridge that is restarted more often than the interval would else never come to it.
    """

    def __init__(self, broker: Broker, queue: PartitionQueue, interval_ms: int, say: Say) -> None:
        self._broker = broker
        self._queue = queue
        self._interval_ms = interval_ms
        self._say = say

    async def run(self, live_groups: Callable[[], Iterable[GroupId]]) -> None:
        """Go on until cancelled; a group whose turn fails has its next one in the next round."""
        pause_ms = min(self._interval_ms, FIRST_ROUND_MS)
        while True:
            await trio.sleep(pause_ms / 1000)
            pause_ms = self._interval_ms
            for group_id in live_groups():
                await self._try_to_renew(group_id)

    async def _try_to_renew(self, group_id: GroupId) -> None:
        try:
            await self.renew(group_id)
        except BrokerUnreachable as problem:
            message = "EB-OFFSETS-001: offsets of group %r were not renewed: %s"
            line = Line(logging.WARNING, message, (group_id, str(problem)), of_embedded(group_id))
            self._say(cause_of("EB-OFFSETS-001", problem, group_id), line)
        except Exception:
            LOG.exception(
                "EB-OFFSETS-004: renewing offsets of group %r failed; please report this",
                group_id,
                extra=of_embedded(group_id),
            )

    async def renew(self, group_id: GroupId) -> int:
        """Commit every offset of one group again; gives how many.

        Offsets are fetched again once no client's commit can come in between, so that none is ever set back. What an
        open transaction commits is left alone: a later plain commit would win over it (K5.18).
        """
        places = _places(await self._broker.fetch_offsets(group_id))
        if not places:
            return 0
        await self._reserve(places)
        try:
            topics = _commits(await self._broker.fetch_offsets(group_id), places)
            if not topics:
                return 0
            commit = OffsetCommit(
                group_id=group_id, generation=-1, member_id=NO_MEMBER_ID, instance_id=None, topics=topics
            )
            reply = await self._broker.commit_offsets(commit)
        finally:
            self._queue.leave(places)
        codes = [item.error for topic in reply.topics for item in topic.partitions]
        if any(code is not ErrorCode.NONE for code in codes):
            refused = sorted({code.name for code in codes if code is not ErrorCode.NONE})
            message = "EB-OFFSETS-002: the broker refused to renew offsets of group %r: %s; %s"
            words = (group_id, str(refused), _next_step(group_id, reply))
            # Each group wants a right of its own: of so many is told which.
            cause = cause_by_names(("EB-OFFSETS-002", *refused), "", group_id)
            self._say(cause, Line(logging.WARNING, message, words, of_embedded(group_id)))
        return codes.count(ErrorCode.NONE)

    async def _reserve(self, places: GroupPartitions) -> None:
        free = trio.Event()
        work = Work(NO_CONNECTION, places, free.set)
        if not self._queue.enter(work):
            raise BrokerUnreachable("EB-OFFSETS-003: too many commits wait already; tried again in the next round")
        try:
            await free.wait()
        except trio.Cancelled:
            self._queue.withdraw(work)
            raise


def _places(group: FetchedGroup) -> GroupPartitions:
    return frozenset(
        GroupPartition(group.group_id, TopicPartition(topic.name, item.partition))
        for topic in group.topics
        for item in topic.partitions
        if _is_settled(item)
    )


def _is_settled(item: FetchedPartition) -> bool:
    return item.offset >= 0 and item.error is ErrorCode.NONE


def _commits(group: FetchedGroup, places: GroupPartitions) -> tuple[TopicCommit, ...]:
    commits = (
        TopicCommit(name=topic.name, topic_id=topic.topic_id, partitions=_partitions(group.group_id, topic, places))
        for topic in group.topics
    )
    return tuple(commit for commit in commits if commit.partitions)


def _partitions(group_id: GroupId, topic: FetchedTopic, places: GroupPartitions) -> tuple[PartitionCommit, ...]:
    return tuple(
        PartitionCommit(
            partition=item.partition, offset=item.offset, leader_epoch=item.leader_epoch, metadata=item.metadata
        )
        for item in topic.partitions
        if _is_settled(item) and GroupPartition(group_id, TopicPartition(topic.name, item.partition)) in places
    )


def _next_step(group_id: GroupId, reply: OffsetCommitReply) -> str:
    """The right that is missing, where one is; it is given once, whatever else was refused."""
    for topic in reply.topics:
        for item in topic.partitions:
            match refused_on(item.error):
                case Resource.GROUP:
                    return Right("Read", Resource.GROUP, group_id).missing()
                case Resource.TOPIC:
                    return Right("Read", Resource.TOPIC, topic.name).missing()
                case _:
                    pass
    return "tried again in the next round; see the broker's log"
