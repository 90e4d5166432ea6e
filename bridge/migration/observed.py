"""A group and its members as somebody saw them, wherever that was: values for those who judge whether it can move.

What nobody told is None, `()` or UNKNOWN, and never a guess.
"""

from dataclasses import dataclass
from enum import StrEnum, auto

from bridge.migration.route import Road
from translators.dialects.consumer_protocol import CONSUMER, COOPERATIVE, TRANSLATABLE
from translators.dialects.ids import GroupId, InstanceId, MemberId


class GroupKind(StrEnum):
    """What its coordinator holds the group for, as ListGroups names it; another protocol type is a classic group."""

    CLASSIC = auto()
    CONSUMER = auto()
    SHARE = auto()
    STREAMS = auto()
    UNKNOWN = auto()


class MemberProtocol(StrEnum):
    """By which requests a member speaks to its group."""

    CLASSIC = auto()
    CONSUMER = auto()


class UserData(StrEnum):
    """What an assignor put beside a subscription or an assignment."""

    NONE = auto()
    STICKY = auto()
    """What a sticky assignor remembers, in one of the forms that can be read and written again."""
    OPAQUE = auto()
    """Bytes that only their assignor can read."""
    UNKNOWN = auto()


class Rebalancing(StrEnum):
    """What a member gives up when it is called to join."""

    EAGER = auto()
    """Everything."""
    COOPERATIVE = auto()
    """Nothing; what it loses it gives up with a second join."""
    INCREMENTAL = auto()
    """It is not called: a member of the consumer protocol gives up what it loses, and works on."""
    UNKNOWN = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedMember:
    """One member; timeouts in milliseconds.

    `assignors` are those it offers, in its order, () where nobody told; so are `topics`, and `pattern` is None then.
    `is_readable` is false if its subscription or assignment is none of the consumer protocol. `is_behind_bridge` says
    whether it was heard here, None while nobody can tell. `hidden_topics` are topics of its subscription that its
    principal may not describe, None where that was asked and nobody told. `has_old_commits` says that its client was
    heard to commit in a version that Kafka 4 does not take.
    """

    member_id: MemberId
    client_id: str = ""
    client_host: str = ""
    library: str = ""
    library_version: str = ""
    instance_id: InstanceId | None = None
    protocol: MemberProtocol = MemberProtocol.CLASSIC
    assignors: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    pattern: str | None = None
    session_timeout_ms: int | None = None
    rebalance_timeout_ms: int | None = None
    subscription_data: UserData = UserData.UNKNOWN
    assignment_data: UserData = UserData.UNKNOWN
    is_readable: bool = True
    is_behind_bridge: bool | None = None
    hidden_topics: tuple[str, ...] | None = ()
    partition_count: int | None = None
    has_old_commits: bool = False

    @property
    def rebalancing(self) -> Rebalancing:
        """What it gives up when it is called: eager, unless each assignor that it offers is cooperative."""
        if self.protocol is MemberProtocol.CONSUMER:
            return Rebalancing.INCREMENTAL
        if not self.assignors:
            return Rebalancing.UNKNOWN
        return Rebalancing.COOPERATIVE if set(self.assignors) == {COOPERATIVE} else Rebalancing.EAGER

    @property
    def is_translatable(self) -> bool:
        """Whether a server can assign for it; a member of which no assignor is known counts as one."""
        is_native = self.protocol is MemberProtocol.CONSUMER
        return is_native or not self.assignors or not TRANSLATABLE.isdisjoint(self.assignors)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedGroup:
    """One group at one moment; `state` as its coordinator names it, "" where nobody told.

    `is_complete` says that the members are all there are, because the coordinator named them. `has_foreign_commits`
    says that committed offsets moved which nobody here forwarded, None that they could not be compared.
    """

    group_id: GroupId
    road: Road = Road.PASS
    kind: GroupKind = GroupKind.UNKNOWN
    protocol_type: str = CONSUMER
    state: str = ""
    assignor: str = ""
    members: tuple[ObservedMember, ...] = ()
    is_complete: bool = False
    has_foreign_commits: bool | None = False

    @property
    def is_of_consumers(self) -> bool:
        """Whether its members share out partitions as consumers do, in either protocol."""
        return self.kind not in (GroupKind.SHARE, GroupKind.STREAMS) and self.protocol_type in (CONSUMER, "")
