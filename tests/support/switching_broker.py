"""A broker's group whose classic members switch to KIP-848 one by one, as measured on Apache Kafka 4.0 to 4.3."""

from dataclasses import dataclass, replace
from enum import IntEnum

from translators.dialects.coordinator import Granted, Refused
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import JOIN_EPOCH, LEAVE_EPOCH, MemberId, TopicPartition

GENERATION = 5


class Release(IntEnum):
    """A version of Apache Kafka, as far as switching goes."""

    V4_0 = 40
    V4_1 = 41
    V4_3 = 43


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchingMember:
    """A member at the broker; `previous` is the epoch before its own."""

    assigned: frozenset[TopicPartition]
    is_classic: bool = True
    epoch: int = GENERATION
    previous: int = GENERATION


@dataclass(slots=True, kw_only=True)
class SwitchingBroker:
    """One group. `refusal` is said to whoever would convert it; members in `short` get nothing at epoch 0."""

    release: Release
    members: dict[MemberId, SwitchingMember]
    refusal: ErrorCode | None = None
    short: frozenset[MemberId] = frozenset()
    is_consumer_group: bool = False
    epoch: int = GENERATION

    def bump(self) -> None:
        """Somebody else joined or left the consumer group: every member follows at its next heartbeat."""
        if self.is_consumer_group:
            self.epoch += 1

    def leave(self, member_id: MemberId) -> None:
        """A member is gone; behind the last one of the consumer protocol the group is a classic one."""
        if self.members.pop(member_id, None) is not None:
            self.bump()
        self.is_consumer_group = any(not member.is_classic for member in self.members.values())

    def heartbeat(self, member_id: MemberId, epoch: int) -> Granted | Refused:
        """The answer to a full ConsumerGroupHeartbeat: at epoch 0 without owned partitions, else with its own."""
        if epoch == LEAVE_EPOCH:
            self.leave(member_id)
            return Granted(member_epoch=epoch)
        if not self.is_consumer_group:
            return self._to_classic_group(member_id, epoch)
        member = self.members.get(member_id)
        if member is None:
            return self._admit(member_id) if epoch == JOIN_EPOCH else Refused(ErrorCode.UNKNOWN_MEMBER_ID)
        if epoch == JOIN_EPOCH and (self.release is Release.V4_3 or self._is_scout(member)):
            return self._switch(member_id, is_joining=True)
        known = {member.epoch} if member.is_classic else {member.epoch, member.previous}
        return self._switch(member_id) if epoch in known else Refused(ErrorCode.FENCED_MEMBER_EPOCH)

    def _to_classic_group(self, member_id: MemberId, epoch: int) -> Granted | Refused:
        if epoch != JOIN_EPOCH:
            return Refused(ErrorCode.GROUP_ID_NOT_FOUND)
        if self.refusal is not None:
            return Refused(self.refusal)
        if member_id not in self.members:
            return self._admit(member_id)
        if self.release is not Release.V4_3:
            return Refused(ErrorCode.FENCED_MEMBER_EPOCH)
        self.is_consumer_group = True
        return self._switch(member_id, is_joining=True)

    def _admit(self, member_id: MemberId) -> Granted:
        self.is_consumer_group = True
        if self.release is Release.V4_0:
            self.epoch += 1
        nothing = frozenset[TopicPartition]()
        self.members[member_id] = SwitchingMember(
            assigned=nothing, is_classic=False, epoch=self.epoch, previous=self.epoch
        )
        return Granted(member_epoch=self.epoch, assigned=nothing)

    def _switch(self, member_id: MemberId, is_joining: bool = False) -> Granted:
        member = self.members[member_id]
        is_short = is_joining and member_id in self.short
        assigned = frozenset[TopicPartition]() if is_short else member.assigned
        previous = member.previous if member.epoch == self.epoch else member.epoch
        self.members[member_id] = replace(
            member, assigned=assigned, is_classic=False, epoch=self.epoch, previous=previous
        )
        return Granted(member_epoch=self.epoch, assigned=assigned)

    @staticmethod
    def _is_scout(member: SwitchingMember) -> bool:
        return not member.is_classic and not member.assigned
