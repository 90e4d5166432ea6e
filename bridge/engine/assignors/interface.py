"""What an assignor is given and what it answers: the contract of built-in and plugged-in assignors alike (K9.1)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from translators.dialects.ids import InstanceId, MemberId, TopicId, TopicIdPartition

Assignment = Mapping[MemberId, frozenset[TopicIdPartition]]
"""Member to its partitions; every member of the spec is a key, also those with nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberSubscription:
    """What one member wants, regular expressions resolved to topics; the rack is carried but not used (K9.1)."""

    member_id: MemberId
    instance_id: InstanceId | None
    rack_id: str | None
    topics: frozenset[TopicId]


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentSpec:
    """One question to an assignor.

    `previous` is the last target, not what members hold at the moment (K9.1); it may be stale: members that left,
    topics that went away or were unsubscribed. For a newcomer it is what the member says it had, as far as nobody else
    has it (KIP-341). `partition_counts` says how many partitions a topic has; a topic that
    is missing there has none.
    """

    members: Mapping[MemberId, MemberSubscription]
    previous: Assignment
    partition_counts: Mapping[TopicId, int]


class Assignor(Protocol):
    """Spreads partitions over members; pure, and equal specs get equal answers whatever their order."""

    name: str

    def assign(self, spec: AssignmentSpec) -> Assignment:
        """Give each partition of each subscribed topic to exactly one subscriber.

        A member whose share stays should get the identical frozenset of `spec.previous` back, which makes "nothing
        changed" cheap to see.
        """
        ...
