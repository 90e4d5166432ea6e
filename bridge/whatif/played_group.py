"""One group as it is played: the time, the coordinator, its topics, and how long each of its clients takes."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain, count

from bridge.engine.commands import ChangeTopics, ResolveRegularExpression
from bridge.whatif.coordinator import Coordinator
from bridge.whatif.inputs import Client, History, ReactionTimes
from bridge.whatif.timeline import Timeline
from translators.dialects.ids import GroupId, MemberId, Topic, TopicId, TopicIdPartition, TopicName, TopicPartition


def id_of(name: TopicName) -> TopicId:
    """An id for a topic: the record names topics, the new protocol wants ids."""
    return TopicId(hashlib.blake2b(name.encode(), digest_size=16).digest())


@dataclass(slots=True, kw_only=True)
class PlayedGroup:
    """One group's play; `counts` are the topics as they are, `shares` what the leader of a classic group gave last."""

    history: History
    timeline: Timeline
    coordinator: Coordinator
    patterns: set[str] = field(default_factory=set)
    counts: dict[TopicName, int] = field(default_factory=dict)
    shares: dict[MemberId, frozenset[TopicPartition]] = field(default_factory=dict)
    _fresh: set[str] = field(default_factory=set)
    _names: dict[TopicId, TopicName] = field(default_factory=dict)
    _connections: dict[MemberId, int] = field(default_factory=dict)

    @property
    def group_id(self) -> GroupId:
        """The group."""
        return self.history.group_id

    @property
    def now_us(self) -> int:
        """The time."""
        return self.timeline.now_us

    def reaction(self, member_id: MemberId) -> ReactionTimes:
        """How long a member takes."""
        return self.history.reactions.get(member_id, self.history.reaction)

    def connection(self, member_id: MemberId) -> int:
        """The number of a member's connection."""
        return self._connections.setdefault(member_id, len(self._connections))

    def fresh_id(self, client: Client) -> MemberId:
        """What a coordinator adds to the name of a classic client to make a member id: what the record's did, if it
        can.
        """
        name = f"{client.instance_id or client.identity.client_id}-"
        wanted = client.member_id.removeprefix(name)
        names = chain((wanted,), (f"{wanted}-{number}" for number in count(1)))
        fresh = next(one for one in names if one not in self._fresh)
        self._fresh.add(fresh)
        return MemberId(fresh)

    def named(self, partitions: Iterable[TopicIdPartition]) -> frozenset[TopicPartition]:
        """Partitions by the names of their topics."""
        return frozenset(TopicPartition(self._names[one.topic_id], one.partition) for one in partitions)

    def change_topics(self, counts: Mapping[TopicName, int]) -> None:
        """Topics have these partition counts now."""
        self.counts |= counts
        self.counts = {name: number for name, number in self.counts.items() if number}
        there = tuple(Topic(id_of(name), name, number) for name, number in counts.items() if number)
        gone = tuple(id_of(name) for name, number in counts.items() if not number)
        self._names |= {topic.topic_id: topic.name for topic in there}
        patterns = [self._resolved(pattern) for pattern in sorted(self.patterns)]
        self.coordinator.turn([ChangeTopics(there, gone), *patterns], self.now_us)

    def want(self, pattern: str | None) -> None:
        """A client subscribes with a pattern: what it matches is to be known before it asks."""
        if pattern is not None and pattern not in self.patterns:
            self.patterns.add(pattern)
            self.coordinator.turn([self._resolved(pattern)], self.now_us)

    def _resolved(self, pattern: str) -> ResolveRegularExpression:
        try:
            expression = re.compile(pattern)
        except re.error as problem:
            return ResolveRegularExpression(pattern, frozenset(), str(problem))
        names = frozenset(name for name in self._names.values() if expression.fullmatch(name))
        return ResolveRegularExpression(pattern, names)
