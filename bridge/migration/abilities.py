"""What brokers can do for a move, as it was probed or read, and where the bridge may ask them: values for preflights.

It must not conclude from a version's number what a probe can find out.
"""

from dataclasses import dataclass
from enum import StrEnum, auto

from translators.dialects.configs import MigrationPolicy


class TakeOverWay(StrEnum):
    """How a classic member becomes a member of the consumer protocol in its place, without a rebalance."""

    IN_PLACE = auto()
    """By its own first ConsumerGroupHeartbeat (4.2 and 4.3)."""
    BY_SCOUT = auto()
    """After a member without topics has converted the group: the first heartbeat is answered 110 (4.1)."""
    WHOLE_GROUP = auto()
    """By a scout, which moves the group epoch: members that are not taken over at once are called (4.0)."""
    IMPOSSIBLE = auto()
    """The cluster has no consumer protocol, or has it turned off."""
    UNKNOWN = auto()


class Known(StrEnum):
    """How it is known what brokers can do."""

    PROBED = auto()
    """Tried in a group of the bridge's own."""
    READ = auto()
    """From the APIs, versions and features that a broker names."""
    UNKNOWN = auto()


class Login(StrEnum):
    """As whom the bridge may ask the cluster."""

    OPEN = auto()
    """The cluster authenticates nobody."""
    OWN = auto()
    """The bridge has a login."""
    NONE = auto()
    """The cluster authenticates its clients, and the bridge is none of them."""
    UNKNOWN = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerAbilities:
    """What moves need of the cluster; numbers are None where no broker told them, timeouts in milliseconds.

    `session_min_ms` and `session_max_ms` bound classic members (`group.min.session.timeout.ms`); the sizes are
    `group.max.size` and `group.consumer.max.size`; `consumer_session_ms` is the session of members of the consumer
    protocol. `first_commit_version` is the lowest OffsetCommit that all of them take.
    """

    takeover: TakeOverWay = TakeOverWay.UNKNOWN
    known: Known = Known.UNKNOWN
    policy: MigrationPolicy | None = None
    session_min_ms: int | None = None
    session_max_ms: int | None = None
    classic_size_max: int | None = None
    consumer_size_max: int | None = None
    consumer_session_ms: int | None = None
    first_commit_version: int | None = None
    login: Login = Login.UNKNOWN

    @property
    def may_ask(self) -> bool:
        """Whether the bridge can ask the cluster in its own name."""
        return self.login in (Login.OPEN, Login.OWN)
