"""The engine's settings under Kafka's own names, with Kafka 4.3's defaults."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from translators.dialects.ids import GroupId


class MigrationPolicy(StrEnum):
    """Which way groups may change their type by somebody's coming or going (`group.consumer.migration.policy`)."""

    BIDIRECTIONAL = "bidirectional"
    UPGRADE = "upgrade"
    DOWNGRADE = "downgrade"
    DISABLED = "disabled"

    @property
    def upgrades(self) -> bool:
        """Whether the first KIP-848 member turns a classic group into a consumer group."""
        return self in {MigrationPolicy.BIDIRECTIONAL, MigrationPolicy.UPGRADE}

    @property
    def downgrades(self) -> bool:
        """Whether a group turns classic when its last KIP-848 member is gone."""
        return self in {MigrationPolicy.BIDIRECTIONAL, MigrationPolicy.DOWNGRADE}


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """What a group coordinator can be told (K8; bounds are the configuration's business).

    `group_consumer_assignment_interval_ms` is 0 instead of Kafka's 1,000: nobody waits a second for an assignment that
    costs microseconds. `assignor_retry_ms` is ours: how long a group whose assignor failed waits before the next
    attempt. `group_begins_classic` is what a new group is (decision 21); a group that would begin as a consumer group
    stays one when its last KIP-848 member leaves, whatever the policy: nobody gains by its turning classic.
    `departure_wait_ms` and `replacement_grace_ms`, also ours, are how long the share of a member that left is kept for
    whoever comes, and for its replacement.
    `per_group` holds complete settings of groups that differ. `group_consumer_min_…` and `group_consumer_max_…` bound
    what an admin may say of a group, `group_configs_max` of how many groups.
    """

    group_initial_rebalance_delay_ms: int = 3_000
    group_consumer_session_timeout_ms: int = 45_000
    group_consumer_heartbeat_interval_ms: int = 5_000
    group_consumer_max_size: int = 2_147_483_647
    group_consumer_assignment_interval_ms: int = 0
    group_consumer_assignors: tuple[str, ...] = ("uniform", "range")
    group_min_session_timeout_ms: int = 6_000
    group_max_session_timeout_ms: int = 1_800_000
    group_max_size: int = 2_147_483_647
    offset_metadata_max_bytes: int = 4_096
    group_consumer_migration_policy: MigrationPolicy = MigrationPolicy.BIDIRECTIONAL
    group_begins_classic: bool = False
    assignor_retry_ms: int = 1_000
    departure_wait_ms: int = 1_000
    replacement_grace_ms: int = 0
    group_consumer_min_session_timeout_ms: int = 45_000
    group_consumer_max_session_timeout_ms: int = 60_000
    group_consumer_min_heartbeat_interval_ms: int = 5_000
    group_consumer_max_heartbeat_interval_ms: int = 15_000
    group_consumer_min_assignment_interval_ms: int = 0
    group_consumer_max_assignment_interval_ms: int = 15_000
    group_configs_max: int = 10_000
    per_group: "Mapping[GroupId, EngineSettings]" = field(default_factory=dict)


def configured_settings(settings: EngineSettings, group_id: GroupId) -> EngineSettings:
    """The settings that the configuration has for one group: its rule's where that has some, else everybody's."""
    return settings.per_group.get(group_id, settings)
