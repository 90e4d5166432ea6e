"""One turn of the engine while it runs: records applied and collected, replies, notices, who still waits."""

from dataclasses import dataclass, field

from bridge.engine.apply import apply
from bridge.engine.model import Ask
from bridge.engine.outcome import GroupEmptied, Message, Notice, Outcome, PartitionsFreed
from bridge.engine.records import (
    CommitEnded,
    CurrentAssigned,
    GroupEpochBumped,
    MemberForgotten,
    Record,
    SeatsGivenUp,
    TargetEpochReached,
)
from bridge.engine.state import Group, Shard
from translators.dialects.ids import GroupId, MemberId, ReplyTo, TopicIdPartition


@dataclass(slots=True)
class Turn:
    """What one call of `advance` has brought forth so far.

    `touched` are the groups that may need a new target, in order; `moved` those whose epoch moved in this run of
    commands, by how much; `asks` wait for their answers; `settling` are groups that may turn classic.
    """

    state: Shard
    now_ms: int
    records: list[Record] = field(default_factory=list)
    replies: list[tuple[ReplyTo, Message]] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    touched: dict[GroupId, None] = field(default_factory=dict)
    moved: dict[GroupId, int] = field(default_factory=dict)
    asks: list[Ask] = field(default_factory=list)
    released: dict[GroupId, set[TopicIdPartition]] = field(default_factory=dict)
    settling: dict[GroupId, None] = field(default_factory=dict)

    def write(self, *records: Record) -> None:
        """Apply records and keep them for the outcome."""
        for record in records:
            self._note_release(record)
            apply(self.state, record)
            self.records.append(record)
            self._note_settling(record)

    def reply(self, ref: ReplyTo, message: Message) -> None:
        """Answer a command."""
        self.replies.append((ref, message))

    def touch(self, group_id: GroupId) -> None:
        """Say that a group may need a new target."""
        self.touched[group_id] = None

    def move_epoch(self, group: Group, *, keeps_seats: bool = False, steps: int = 1) -> None:
        """Bump a group's epoch, once per run of commands however many joins and leaves it holds, by the most steps that
        one of them takes.

        Whatever is no replacement ends the wait for those that are awaited.
        """
        self.touch(group.group_id)
        if group.kept and not keeps_seats:
            self.write(SeatsGivenUp(group.group_id))
        further = steps - self.moved.get(group.group_id, 0)
        if further > 0:
            self.moved[group.group_id] = steps
            self.write(GroupEpochBumped(group.group_id, group.epoch + further))

    def forget(self, group_id: GroupId) -> None:
        """A group is gone: one that begins under its name in the same turn begins anew."""
        self.touched.pop(group_id, None)
        self.moved.pop(group_id, None)
        self.released.pop(group_id, None)
        self.settling.pop(group_id, None)

    def finish(self) -> Outcome:
        """The outcome, with notices for what was freed and is wanted by somebody, and for who lost its last member."""
        for group_id, partitions in self.released.items():
            notice = self._find_freed(group_id, partitions)
            if notice is not None:
                self.notices.append(notice)
        for group_id in dict.fromkeys(one.group_id for one in self.records if isinstance(one, MemberForgotten)):
            group = self.state.groups.get(group_id)
            if group is not None and not group.members:
                self.notices.append(GroupEmptied(group_id))
        return Outcome(records=tuple(self.records), replies=tuple(self.replies), notices=tuple(self.notices))

    def _note_settling(self, record: Record) -> None:
        """Remember groups without KIP-848 members in which somebody has moved."""
        if not isinstance(record, (CurrentAssigned, MemberForgotten, TargetEpochReached)):
            return
        if self.state.groups[record.group_id].lost_natives:
            self.settling[record.group_id] = None

    def _note_release(self, record: Record) -> None:
        """Remember what a record takes from its owner or from a commit on its way."""
        if isinstance(record, CurrentAssigned):
            held = _held(self.state.groups[record.group_id], record.member_id)
            if held:
                kept = record.current.assigned.keys() | record.current.pending_revocation.keys()
                self._release(record.group_id, held - kept)
        elif isinstance(record, MemberForgotten):
            self._release(record.group_id, _held(self.state.groups[record.group_id], record.member_id))
        elif isinstance(record, CommitEnded):
            flight = self.state.flights[record.commit_id]
            self._release(flight.group_id, set(flight.partitions))

    def _release(self, group_id: GroupId, partitions: set[TopicIdPartition]) -> None:
        if partitions:
            self.released.setdefault(group_id, set()).update(partitions)

    def _find_freed(self, group_id: GroupId, partitions: set[TopicIdPartition]) -> PartitionsFreed | None:
        group = self.state.groups.get(group_id)
        if group is None:
            return None
        wanted = {
            partition: member_id
            for partition in partitions
            if (member_id := group.target_owners.get(partition)) is not None
            and partition in group.grantable.get(member_id, ())
        }
        return PartitionsFreed(group_id, frozenset(wanted), frozenset(wanted.values())) if wanted else None


def _held(group: Group, member_id: MemberId) -> set[TopicIdPartition]:
    current = group.members[member_id].current
    return current.assigned.keys() | current.pending_revocation.keys()
