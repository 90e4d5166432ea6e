"""What of a group a member's own heartbeat does not tell: when the others are asked for, because one of them told or
heard what concerns them all, and what its broker means each to have in the end.

A broker calls nobody: each member would hear of a newcomer at its own interval, and the newcomer of what was let go for
it at the next one. The bridge has heard of it by any of them, and asks for the others at once.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import NamedTuple

from bridge.coordinators.deadlines import Deadlines
from bridge.session.contracts import BrokerAccess
from translators.dialects.consumer import ConsumerGroupDescribe, ConsumerGroupDescribeReply
from translators.dialects.coordinator import MembersCalled
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId, MemberRef, TopicPartition
from translators.dialects.messages import GroupReply

PAUSE_MS = 1_000
"""Between two such calls of a group: Kafka 4.3 computes a new target once a second at most
(`group.consumer.assignment.interval.ms`), so that what comes in between is heard by one question of each.
"""
PAUSE_MS_PER_MEMBER = 10
"""And so much longer in large groups: a call costs a question of each member, which is a hundred a second at most."""
CALLED_MAX = 500
"""Members of larger groups hear of it at their own intervals: calls would be no more often than these, and each hold up
everybody else.
"""


@dataclass(slots=True)
class _Group:
    """The members of one group, what was heard of it, and when they are called, if they are to be."""

    members: set[MemberId] = field(default_factory=set)
    epoch: int = 0
    call_at_ms: int | None = None
    again_at_ms: int | None = None
    """When they are to be called once more, if that comes too early for something."""
    quiet_until_ms: int = 0
    knows: MemberId | None = None
    """Who need not be asked for: nothing has happened since but what it told or heard itself."""


class GroupNews:
    """The groups of one coordinator, as far as they have members here."""

    def __init__(self) -> None:
        self._groups: dict[GroupId, _Group] = {}
        self._due = Deadlines[GroupId]()

    def enter(self, member: MemberRef) -> None:
        """The broker has this member."""
        self._groups.setdefault(member.group_id, _Group()).members.add(member.member_id)

    def drop(self, member: MemberRef) -> bool:
        """The member is gone, or is asked for by nobody any more; whether it was the last of its group."""
        group = self._groups.get(member.group_id)
        if group is None:
            return True
        group.members.discard(member.member_id)
        if group.members:
            return False
        del self._groups[member.group_id]
        return True

    def has_others(self, member: MemberRef) -> bool:
        """Whether there is anybody here but this member who is called for the group's news."""
        group = self._groups.get(member.group_id)
        return group is not None and not group.members <= {member.member_id} and self.calls(member.group_id)

    def calls(self, group_id: GroupId) -> bool:
        """Whether members of the group are called at all: it has some, and not too many."""
        group = self._groups.get(group_id)
        return group is not None and len(group.members) <= CALLED_MAX

    def clear(self) -> None:
        """Forget all."""
        self._groups.clear()

    def hear_epoch(self, member: MemberRef, epoch: int, now_ms: int) -> None:
        """A member was told another epoch than its own; it is news to the others unless one of them was told so."""
        if self._is_newer(member, epoch):
            self.stir(member, now_ms)

    def welcome(self, member: MemberRef, epoch: int, now_ms: int) -> None:
        """A newcomer was told its first epoch: if that is known, nobody has computed yet what it is to have."""
        if self._is_newer(member, epoch):
            self.stir(member, now_ms)
        else:
            self.await_deal(member, now_ms)

    def await_deal(self, member: MemberRef, now_ms: int) -> None:
        """The broker has yet to deal out what its members are to have: by then it has."""
        self._call(member, now_ms + PAUSE_MS, now_ms)

    def stir(self, member: MemberRef, now_ms: int) -> None:
        """A member is gone or has let go of something: what the others are to have, or may have, is another by now."""
        self._call(member, now_ms, now_ms)

    def _is_newer(self, member: MemberRef, epoch: int) -> bool:
        group = self._groups.get(member.group_id)
        if group is None or epoch <= group.epoch:
            return False
        group.epoch = epoch
        return True

    def _call(self, member: MemberRef, at_ms: int, now_ms: int) -> None:
        if not self.calls(member.group_id):
            return
        group = self._groups[member.group_id]
        if group.call_at_ms is not None:
            if group.knows != member.member_id:
                # Each of those who came together has to hear of the others.
                group.knows = None
            if at_ms > group.call_at_ms:
                group.again_at_ms = at_ms
            return
        call_at_ms = group.call_at_ms = max(at_ms, group.quiet_until_ms)
        group.knows = member.member_id if call_at_ms == now_ms else None
        self._due.note(member.group_id, call_at_ms)

    def is_due(self, now_ms: int) -> bool:
        """Whether anybody is to be called now."""
        due_ms = self._due.next_ms()
        return due_ms is not None and due_ms <= now_ms

    def take_due(self, now_ms: int) -> list[MembersCalled]:
        """Who is called now."""
        called: list[MembersCalled] = []
        for group_id in self._due.take_due(now_ms, self._call_at_ms):
            group = self._groups[group_id]
            again_at_ms, group.call_at_ms, group.again_at_ms = group.again_at_ms, None, None
            member_ids = frozenset(one for one in group.members if one != group.knows)
            if member_ids:
                pause_ms = max(PAUSE_MS, PAUSE_MS_PER_MEMBER * len(group.members))
                group.quiet_until_ms = now_ms + pause_ms
                called.append(MembersCalled(group_id, member_ids))
            if again_at_ms is not None:
                group.call_at_ms, group.knows = max(again_at_ms, group.quiet_until_ms), None
                self._due.note(group_id, group.call_at_ms)
        return called

    def next_due_ms(self) -> int | None:
        """When somebody is called next, perhaps too early."""
        return self._due.next_ms()

    def _call_at_ms(self, group_id: GroupId) -> int | None:
        group = self._groups.get(group_id)
        return None if group is None else group.call_at_ms


Target = frozenset[TopicPartition]


class Untold(Enum):
    """Why it is not known what a member is to have."""

    UNKNOWN = "its broker does not tell"
    TO_COME = "its broker has yet to deal it out"


Take = Callable[[Target | Untold], None]


class _Described(NamedTuple):
    """What a group's members are to have from one epoch on, by members and by partitions."""

    epoch: int
    targets: Mapping[MemberId, Target]
    owners: Mapping[TopicPartition, MemberId]


class Targets:
    """What brokers mean members to have in the end, by groups that are described: of each one description is asked
    for at a time, which serves all who ask meanwhile, and those who were told the same epoch behind it, as Kafka deals
    out once an epoch. A heartbeat does not tell whether more is to come, and whoever gains is called once.

    What was described is kept for groups that `keeps` says so of, until `drop`.
    """

    def __init__(self, keeps: Callable[[GroupId], bool] = lambda _: False) -> None:
        self._keeps = keeps
        self._asking: dict[GroupId, dict[MemberId, list[Take]]] = {}
        self._described: dict[GroupId, _Described] = {}

    def find(self, seat: MemberRef, epoch: int, way: BrokerAccess, take: Take) -> None:
        """`take` is called once, perhaps before this returns. Brokers don't tell it where the client may not describe a
        topic of any member (29), and Kafka 4.3 deals out once a second at most.

        `epoch` is the one that the member was told. Who asks again while it waits is not kept waiting by another's
        connection, whose client may read no answers.
        """
        described = self._described.get(seat.group_id)
        if described is not None and described.epoch == epoch:
            take(described.targets.get(seat.member_id, Untold.UNKNOWN))
            return
        is_asked = seat.group_id in self._asking
        takes = self._asking.setdefault(seat.group_id, {}).setdefault(seat.member_id, [])
        takes.append(take)
        if not is_asked or len(takes) > 1:
            way.ask(None, ConsumerGroupDescribe((seat.group_id,)), partial(self._hear, seat.group_id))

    def owners(self, group_id: GroupId, partitions: Iterable[TopicPartition]) -> set[MemberId]:
        """Who is to have one of these, by the last description; those that nobody is to have, or is known to, are left
        out.
        """
        described = self._described.get(group_id)
        if described is None:
            return set()
        return {described.owners[one] for one in partitions if one in described.owners}

    def drop(self, group_id: GroupId) -> None:
        """Nobody of this group is here any more."""
        self._described.pop(group_id, None)

    def clear(self) -> None:
        """Forget what was described."""
        self._described.clear()

    def _hear(self, group_id: GroupId, reply: GroupReply | None) -> None:
        waiting = self._asking.pop(group_id, {})
        described = _read(reply)
        if isinstance(described, _Described) and self._keeps(group_id):
            self._described[group_id] = described
        for member_id, takes in waiting.items():
            told = described.targets.get(member_id, Untold.UNKNOWN) if isinstance(described, _Described) else described
            for take in takes:
                take(told)


def _read(reply: GroupReply | None) -> _Described | Untold:
    group = reply.groups[0] if isinstance(reply, ConsumerGroupDescribeReply) and reply.groups else None
    if group is None or group.error is not ErrorCode.NONE:
        return Untold.UNKNOWN
    if group.assignment_epoch != group.group_epoch:
        return Untold.TO_COME
    targets = {
        member.member_id: frozenset(
            TopicPartition(topic.topic_name, one) for topic in member.target_assignment for one in topic.partitions
        )
        for member in group.members
    }
    return _Described(
        group.assignment_epoch, targets, {one: owner for owner, target in targets.items() for one in target}
    )
