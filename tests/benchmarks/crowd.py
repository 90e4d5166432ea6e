"""A group of any size in a shard of its own, to which members come, from which they go, and whose topics grow.

It knows records and the engine's target step, and must not know what anything may cost.
"""

import gc
import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from bridge.engine.apply import apply
from bridge.engine.assignors.interface import IncrementalAssignor
from bridge.engine.assignors.registry import registry
from bridge.engine.commands import Speaks
from bridge.engine.consumer.retargeting import retarget_groups
from bridge.engine.consumer.target import compute_target, make_spec
from bridge.engine.indexes import index_loads
from bridge.engine.model import Current, Subscription
from bridge.engine.records import (
    CurrentAssigned,
    GroupCreated,
    GroupEpochBumped,
    MemberForgotten,
    MemberSubscribed,
    Record,
    TargetAssigned,
    TopicSeen,
)
from bridge.engine.settings import EngineSettings
from bridge.engine.state import NO_PARTITIONS, Group, Shard
from bridge.engine.turn import Turn
from translators.dialects.ids import ClientIdentity, GroupId, MemberId, Topic, TopicId, TopicName

GROUP = GroupId("crowd")
IDENTITY = ClientIdentity(client_id="client", client_host="/127.0.0.1")
BUCKETS = 5


class Subscriptions(StrEnum):
    """Who wants what: all the same, one of five disjoint fifths, or two neighbouring fifths each."""

    SAME = "same"
    BUCKETS = "5 buckets"
    OVERLAPPING = "5 overlapping"


@dataclass(frozen=True, slots=True)
class Shape:
    """How big a group is; partitions are spread evenly over topics."""

    assignor: str
    subscriptions: Subscriptions
    members: int
    partitions: int
    topics: int

    def __str__(self) -> str:
        """One line of a table."""
        size = f"{self.members:,} members, {self.partitions:,} partitions, {self.topics:,} topics"
        return f"{self.assignor}, {self.subscriptions}, {size}"


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU time of one change: finding new shares with their records, the same with the records applied, and how many
    partitions were taken from members that stay.
    """

    find_us: float
    step_us: float
    moved: int


class Crowd:
    """A group that has its target and what its assignor remembers."""

    def __init__(self, shape: Shape) -> None:
        """Seat all members, compute their target, let them have it; then ask for another, which builds the index."""
        self._shape = shape
        chosen = EngineSettings(group_consumer_assignors=(shape.assignor,))
        self._state = Shard(settings=chosen, assignors=registry)
        self._counts = [shape.partitions // shape.topics] * shape.topics
        self._names = [TopicName(f"topic-{number:04}") for number in range(shape.topics)]
        self._wishes = self._form_wishes()
        for number in range(shape.topics):
            apply(self._state, self._seen(number))
        apply(self._state, GroupCreated(GROUP, 1))
        for number in range(shape.members):
            apply(self._state, self._seated(MemberId(f"member-{number:05}"), number))
        self._newcomers: list[MemberId] = []
        self._change()
        self._change()
        gc.collect()

    @property
    def group(self) -> Group:
        """The group as it is."""
        return self._state.groups[GROUP]

    def compute_in_full(self) -> float:
        """CPU time in microseconds of the assignor's full computation for the group without any target."""
        assignor = registry[self._shape.assignor]
        spec = make_spec(self._state, self.group)
        fresh = type(spec)(members=spec.members, previous={}, partition_counts=spec.partition_counts)
        begin = time.process_time_ns()
        assignor.assign(fresh)
        return (time.process_time_ns() - begin) / 1e3

    def join(self) -> Cost:
        """One more member with the first wish; ids sort evenly among the others'."""
        number = len(self._newcomers)
        place = (number * 7919) % self._shape.members
        member_id = MemberId(f"member-{place:05}-{number}")
        self._newcomers.append(member_id)
        return self._change(self._seated(member_id, 0))

    def join_wanting_all(self) -> Cost:
        """One more member that wants every topic, whatever the others want."""
        member_id = MemberId(f"member-{len(self._newcomers)}-wide")
        self._newcomers.append(member_id)
        return self._change(self._wanting(member_id, frozenset(self._names)))

    def leave(self) -> Cost:
        """The member that came last goes."""
        return self._change(MemberForgotten(GROUP, self._newcomers.pop()))

    def grow(self, number: int) -> Cost:
        """One more partition for one of the topics."""
        number %= self._shape.topics
        self._counts[number] += 1
        return self._change(self._seen(number))

    def _change(self, *records: Record) -> Cost:
        """What the engine does when something changed: the same question twice, first alone, then with its records."""
        turn = Turn(self._state, 0)
        turn.write(*records)
        turn.write(GroupEpochBumped(GROUP, self.group.epoch + 1))
        assignor = self._state.assignors[self._shape.assignor]
        if isinstance(assignor, IncrementalAssignor) and self.group.assignor == assignor.name:
            index_loads(self._state, self.group, assignor)
        begin = time.process_time_ns()
        compute_target(self._state, self.group, 0)
        found = time.process_time_ns()
        before = dict(self.group.target) if records else {}
        turn.touch(GROUP)
        start = time.process_time_ns()
        retarget_groups(turn)
        end = time.process_time_ns()
        moved = _count_moved(turn, before)
        self._take({record.member_id for record in turn.records if isinstance(record, TargetAssigned)})
        return Cost((found - begin) / 1e3, (end - start) / 1e3, moved)

    def _take(self, changed: set[MemberId]) -> None:
        """Let members take what they were given, as they do with their next heartbeats, those who lose something first.

        What nobody has taken would be dealt out anew with every change.
        """
        group = self.group
        grown = {
            one: len(group.target[one]) - len(group.members[one].current.assigned)
            for one in changed & group.members.keys()
        }
        for member_id in sorted(grown, key=grown.__getitem__):
            current = Current(epoch=group.epoch, assigned=dict.fromkeys(group.target[member_id], group.epoch))
            apply(self._state, CurrentAssigned(GROUP, member_id, current))

    def _form_wishes(self) -> list[frozenset[TopicName]]:
        names, kind = self._names, self._shape.subscriptions
        if kind is Subscriptions.SAME:
            return [frozenset(names)]
        size = len(names) // BUCKETS
        fifths = [frozenset(names[number * size : (number + 1) * size]) for number in range(BUCKETS)]
        if kind is Subscriptions.BUCKETS:
            return fifths
        return [fifth | fifths[(number + 1) % BUCKETS] for number, fifth in enumerate(fifths)]

    def _seated(self, member_id: MemberId, number: int) -> MemberSubscribed:
        return self._wanting(member_id, self._wishes[number % len(self._wishes)])

    def _wanting(self, member_id: MemberId, names: frozenset[TopicName]) -> MemberSubscribed:
        wanted = Subscription(member_id=member_id, identity=IDENTITY, speaks=Speaks.CONSUMER, names=names)
        return MemberSubscribed(GROUP, wanted)

    def _seen(self, number: int) -> TopicSeen:
        topic_id = TopicId((number + 1).to_bytes(16, "big"))
        return TopicSeen(Topic(topic_id, self._names[number], self._counts[number]))


def _count_moved(turn: Turn, before: Mapping[MemberId, frozenset[object]]) -> int:
    members = turn.state.groups[GROUP].members
    return sum(
        len(before.get(record.member_id, NO_PARTITIONS) - record.partitions)
        for record in turn.records
        if isinstance(record, TargetAssigned) and record.member_id in members
    )
