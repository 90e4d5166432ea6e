"""What brokers tell of themselves, and what that makes of their abilities where nothing was probed.

The table is Kafka's: which release a broker is shows in the highest `metadata.version` that it supports.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from bridge.migration.abilities import BrokerAbilities, Known, Login, TakeOverWay
from translators.dialects.configs import MigrationPolicy
from translators.dialects.counts import read_count

LONG_MAX = 2**63 - 1
GROUP_VERSION = "group.version"
"""The feature that turns the consumer protocol on."""
METADATA_VERSION = "metadata.version"
LAST_METADATA_VERSION_OF_3_9, LAST_METADATA_VERSION_OF_4_0, LAST_METADATA_VERSION_OF_4_1 = 21, 25, 27
POLICY = "group.consumer.migration.policy"
STRICTEST_FIRST = (
    MigrationPolicy.DISABLED,
    MigrationPolicy.DOWNGRADE,
    MigrationPolicy.UPGRADE,
    MigrationPolicy.BIDIRECTIONAL,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerFacts:
    """What one broker told: levels of the cluster's features that are on, highest levels that it supports, settings,
    and the lowest OffsetCommit that it takes.

    `hides_settings` names the error with which it refused to show settings, "" if it showed them.
    """

    node_id: int
    offers_consumer_heartbeat: bool = False
    first_commit_version: int | None = None
    features: Mapping[str, int] = field(default_factory=dict)
    supported: Mapping[str, int] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    hides_settings: str = ""

    @property
    def release(self) -> str:
        """Which release of Apache Kafka it is, as far as its levels tell; "" where they don't."""
        highest = self.supported.get(METADATA_VERSION)
        if highest is None:
            return ""
        bounds = ((LAST_METADATA_VERSION_OF_3_9, "3.9 or older"), (LAST_METADATA_VERSION_OF_4_0, "4.0"))
        later = ((LAST_METADATA_VERSION_OF_4_1, "4.1"),)
        return next((name for last, name in (*bounds, *later) if highest <= last), "4.2 or newer")


def read_abilities(brokers: Sequence[BrokerFacts], login: Login) -> BrokerAbilities:
    """What a cluster can do by what its brokers tell: as much as the least able of them; unknown without any."""
    if not brokers:
        return BrokerAbilities(login=login)
    policies = {policy for broker in brokers if (policy := _policy(broker)) is not None}
    first_commits = [broker.first_commit_version for broker in brokers]
    return BrokerAbilities(
        takeover=max((_takeover(broker) for broker in brokers), key=list(TakeOverWay).index),
        known=Known.READ,
        policy=next((policy for policy in STRICTEST_FIRST if policy in policies), None),
        session_min_ms=_number(brokers, "group.min.session.timeout.ms", max),
        session_max_ms=_number(brokers, "group.max.session.timeout.ms", min),
        classic_size_max=_number(brokers, "group.max.size", min),
        consumer_size_max=_number(brokers, "group.consumer.max.size", min),
        consumer_session_ms=_number(brokers, "group.consumer.session.timeout.ms", max),
        first_commit_version=max((one for one in first_commits if one is not None), default=None),
        login=login,
    )


def _takeover(broker: BrokerFacts) -> TakeOverWay:
    """From the best to the unknown, in the order of `TakeOverWay`."""
    is_on = broker.features.get(GROUP_VERSION, 0) >= 1
    if not broker.offers_consumer_heartbeat or (METADATA_VERSION in broker.supported and not is_on):
        return TakeOverWay.IMPOSSIBLE
    highest = broker.supported.get(METADATA_VERSION)
    if highest is None:
        # It speaks the protocol and is no Apache Kafka that tells its levels.
        return TakeOverWay.UNKNOWN
    if highest <= LAST_METADATA_VERSION_OF_4_0:
        return TakeOverWay.WHOLE_GROUP
    return TakeOverWay.BY_SCOUT if highest <= LAST_METADATA_VERSION_OF_4_1 else TakeOverWay.IN_PLACE


def _policy(broker: BrokerFacts) -> MigrationPolicy | None:
    told = broker.settings.get(POLICY, "").lower()
    return MigrationPolicy(told) if told in set(MigrationPolicy) else None


def _number(brokers: Iterable[BrokerFacts], name: str, choose: Callable[[Iterable[int]], int]) -> int | None:
    """The number that binds over all brokers; None where none of them told it."""
    settings = (read_count(broker.settings.get(name, ""), LONG_MAX) for broker in brokers)
    told = [value for value in settings if value is not None]
    return choose(told) if told else None
