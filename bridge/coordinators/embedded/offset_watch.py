"""Watches the committed offsets of live groups: at the broker such a group looks empty, and anybody may change them."""

import logging
from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from dataclasses import dataclass, field

import trio

from bridge.coordinators.embedded.partition_queue import GroupPartitions
from bridge.coordinators.offset_requests import Commit
from bridge.log_lines import Line, RateLimitedLog, cause_of, of_embedded
from bridge.ports import Broker, BrokerUnreachable
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, TopicPartition
from translators.dialects.offsets import OffsetCommit, OffsetCommitReply

GROUPS_PER_LOOK = 50
"""Each group costs the broker a question; where more live than this, they take turns."""
SHOWN_MAX = 5
"""So many changed offsets a line of the log lists."""
NOTHING = -1
"""The offset of a partition for which nothing is committed."""

LOG = logging.getLogger("epochbridge.coordinators")


@dataclass(frozen=True, slots=True, eq=False)
class KnownOffset:
    """The offset that a partition had when it was last heard of; None: whatever it is at the next look.

    Compared by identity: another one means that something has happened, even to the same offset. `is_foreign`: who put
    it there did not come through the bridge. `is_transactional`: it is not compared, since a transaction commits it.
    """

    offset: int | None
    is_foreign: bool = False
    is_transactional: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """A partition whose offset is another than it was."""

    partition: TopicPartition
    before: int
    after: int

    def __str__(self) -> str:
        """As it stands in the log."""
        return f"{self.partition.topic}[{self.partition.partition}] {_text(self.before)} -> {_text(self.after)}"


@dataclass(slots=True)
class _Watched:
    """What is known of one group; `has_looked` once all of its offsets have been seen."""

    known: dict[TopicPartition, KnownOffset] = field(default_factory=dict)
    overwritten: list[Change] = field(default_factory=list)
    has_looked: bool = False


class OffsetWatch:
    """Compares what the broker has with what was committed here; `changes` counts partitions changed elsewhere."""

    def __init__(
        self,
        broker: Broker,
        busy: Callable[[GroupId], GroupPartitions],
        interval_ms: int,
        now_ms: Callable[[], int],
    ) -> None:
        """`busy` gives the places of a group that are in the middle of a commit or a deletion."""
        self.changes = 0
        self.told: dict[GroupId, str] = {}
        """What is to be said of a group to whoever looks at it."""
        self._broker = broker
        self._busy = busy
        self._interval_ms = interval_ms
        self._groups: dict[GroupId, _Watched] = {}
        self._now_ms = now_ms
        self._log = RateLimitedLog(LOG)

    # ------------------------------------------------------------------ what comes through the bridge

    def committed(self, commit: Commit, reply: OffsetCommitReply | None) -> None:
        """The broker answered a commit, whose topics bear names; without an answer nobody knows what it has now."""
        group = self._groups.setdefault(commit.group_id, _Watched())
        if reply is None:
            for topic in commit.topics:
                for item in topic.partitions:
                    group.known[TopicPartition(topic.name, item.partition)] = KnownOffset(None)
            return
        taken = {
            (topic.name, item.partition)
            for topic in reply.topics
            for item in topic.partitions
            if item.error is ErrorCode.NONE
        }
        for topic in commit.topics:
            for item in topic.partitions:
                if (topic.name, item.partition) in taken:
                    offset = item.offset if isinstance(commit, OffsetCommit) else None
                    _note_commit(group, TopicPartition(topic.name, item.partition), offset)

    def forget(self, group_id: GroupId) -> None:
        """What the broker has of a group from now on is nobody's fault: it is empty, or changed through the bridge."""
        self._groups.pop(group_id, None)
        self.told.pop(group_id, None)

    # ------------------------------------------------------------------ what the broker has

    async def run(self, live_groups: Callable[[], Iterable[GroupId]]) -> None:
        """Look at every interval until cancelled."""
        turns: deque[GroupId] = deque()
        while True:
            await trio.sleep(self._interval_ms / 1000)
            self._log.catch_up(self._now_ms())
            live = set(live_groups())
            for group_id in self._groups.keys() - live:
                self.forget(group_id)
            turns = deque([one for one in turns if one in live])
            turns.extend(sorted(live.difference(turns)))
            for _ in range(min(len(turns), GROUPS_PER_LOOK)):
                turns.rotate(-1)
                await self._try_to_look(turns[-1])

    async def _try_to_look(self, group_id: GroupId) -> None:
        try:
            await self.look(group_id)
        except BrokerUnreachable as problem:
            line = Line(
                logging.INFO,
                "EB-OFFSETS-009: the offsets of group %r were not compared: %s",
                (group_id, str(problem)),
                of_embedded(group_id),
            )
            self.say(cause_of("EB-OFFSETS-009", problem, group_id), line)

    def say(self, cause: Hashable, line: Line) -> None:
        """Write a line of a round over groups, or count it; the next look after a minute tells how many there were."""
        self._log.write(self._now_ms(), cause, line)

    async def look(self, group_id: GroupId) -> None:
        """Compare one group; what is in the middle of a commit or deletion is looked at next time."""
        group = self._groups.setdefault(group_id, _Watched())
        before, busy = dict(group.known), self._busy(group_id)
        fetched = await self._broker.fetch_offsets(group_id)
        offsets = {
            TopicPartition(topic.name, item.partition): item for topic in fetched.topics for item in topic.partitions
        }
        found = {partition: item.offset for partition, item in offsets.items()}
        gone = await self._gone_with_topics(before.keys() - found.keys())
        if self._groups.get(group_id) is not group:
            return
        for partition in gone:
            before.pop(partition)
            group.known.pop(partition, None)
        unsettled = {place.partition for place in busy | self._busy(group_id)}
        unsettled.update(partition for partition, item in offsets.items() if item.error is not ErrorCode.NONE)
        changes = list(self._compare(group, before, found, unsettled))
        group.has_looked = True
        self._tell_overwritten(group_id, group)
        if changes:
            self._tell_changed(group_id, changes)

    async def _gone_with_topics(self, missing: Collection[TopicPartition]) -> set[TopicPartition]:
        """Those of whose topic nothing is left: a broker drops the offsets with it."""
        if not missing:
            return set()
        names = {topic.name for topic in (await self._broker.fetch_topics()).topics}
        return {partition for partition in missing if partition.topic not in names}

    @staticmethod
    def _compare(
        group: _Watched,
        before: dict[TopicPartition, KnownOffset],
        found: dict[TopicPartition, int],
        unsettled: set[TopicPartition],
    ) -> Iterator[Change]:
        for partition in (before.keys() | found.keys()) - unsettled:
            known, offset = before.get(partition), found.get(partition, NOTHING)
            if group.known.get(partition) is not known:
                continue
            if known is None:
                # Of a group that was seen whole before, this is news; at the first look everything is.
                group.known[partition] = KnownOffset(offset, is_foreign=group.has_looked)
                if group.has_looked and offset != NOTHING:
                    yield Change(partition, NOTHING, offset)
            elif known.offset is None:
                if not known.is_transactional:
                    group.known[partition] = KnownOffset(offset)
            elif known.offset != offset:
                group.known[partition] = KnownOffset(offset, is_foreign=True)
                yield Change(partition, known.offset, offset)

    def _tell_changed(self, group_id: GroupId, changes: list[Change]) -> None:
        self.changes += len(changes)
        news = (
            f"committed offsets were changed at the broker, not through the bridge: {_list(changes)}; its members "
            "go on where they are and will commit over that: stop them first"
        )
        self.told[group_id] = news
        LOG.warning(
            "EB-OFFSETS-007: group %r is in use, and its %s",
            group_id,
            news,
            extra=of_embedded(group_id),
        )

    def _tell_overwritten(self, group_id: GroupId, group: _Watched) -> None:
        if not group.overwritten:
            return
        overwritten, group.overwritten = group.overwritten, []
        news = f"offsets that were changed at the broker have been committed over by its members: {_list(overwritten)}"
        self.told[group_id] = news
        LOG.warning("EB-OFFSETS-008: group %r: %s", group_id, news, extra=of_embedded(group_id))


def _note_commit(group: _Watched, partition: TopicPartition, offset: int | None) -> None:
    known = group.known.get(partition)
    if known is not None and known.is_foreign and known.offset is not None and offset is not None:
        group.overwritten.append(Change(partition, known.offset, offset))
    group.known[partition] = KnownOffset(offset, is_transactional=offset is None)


def _list(changes: list[Change]) -> str:
    shown = ", ".join(str(change) for change in sorted(changes, key=lambda one: one.partition)[:SHOWN_MAX])
    return f"{shown} and {len(changes) - SHOWN_MAX} more" if len(changes) > SHOWN_MAX else shown


def _text(offset: int) -> str:
    return "nothing" if offset < 0 else str(offset)
