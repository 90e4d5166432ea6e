"""The engine's settings under Kafka's own names, with Kafka 4.3's defaults.

It must not know where they come from nor which bounds they have.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from translators.dialects.ids import GroupId


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """What a group coordinator can be told (K8; bounds are the configuration's business).

    `group_consumer_assignment_interval_ms` is 0 instead of Kafka's 1,000: nobody waits a second for an assignment that
    costs microseconds. `assignor_retry_ms` is ours: how long a group whose assignor failed waits before the next
    attempt.
    `per_group` holds complete settings of groups that differ.
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
    assignor_retry_ms: int = 1_000
    per_group: "Mapping[GroupId, EngineSettings]" = field(default_factory=dict)


def settings_of(settings: EngineSettings, group_id: GroupId) -> EngineSettings:
    """The settings that hold for one group: its own where it has some, else everybody's (K2.62)."""
    return settings.per_group.get(group_id, settings)
