"""What admins ask about the settings of resources, groups among them: described, altered and listed (KIP-226, KIP-339,
KIP-1142); and what one of them, the policy by which groups change their type, may say.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId

BROKER, GROUP = 4, 32
"""Types of resources as the wire has them (`ConfigResource.Type`); those of others pass as their numbers."""
CLIENT_METRICS = 16
"""The only type that ListConfigResources listed in its version 0."""


class ConfigSource(IntEnum):
    """Where a value comes from (`DescribeConfigsResponse.ConfigSource`); other numbers pass as they are."""

    STATIC_BROKER = 4
    DEFAULT = 5
    GROUP = 8


class ConfigType(IntEnum):
    """Of what kind a value is (`DescribeConfigsResponse.ConfigType`)."""

    STRING = 2
    INT = 3
    LIST = 7


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


class Operation(IntEnum):
    """What is to be done to one setting (`AlterConfigOp.OpType`)."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


@dataclass(frozen=True, slots=True)
class Resource:
    """Whose settings are meant."""

    resource_type: int
    name: str

    @property
    def group_id(self) -> GroupId | None:
        """The group whose settings these are, None for those of anything else."""
        return GroupId(self.name) if self.resource_type == GROUP else None


@dataclass(frozen=True, slots=True)
class AskedResource:
    """A resource to be described; `keys` None asks for all its settings."""

    resource: Resource
    keys: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeConfigs:
    """An admin asks for settings."""

    resources: tuple[AskedResource, ...]
    include_synonyms: bool = False
    include_documentation: bool = False


@dataclass(frozen=True, slots=True)
class Synonym:
    """One of the places where a value may come from, the one that counts first."""

    name: str
    value: str | None
    source: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedConfig:
    """One setting."""

    name: str
    value: str | None
    source: int
    is_read_only: bool = False
    is_sensitive: bool = False
    synonyms: tuple[Synonym, ...] = ()
    config_type: int = 0
    documentation: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedResource:
    """The settings of one resource, or why they are not told."""

    resource: Resource
    error: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    configs: tuple[DescribedConfig, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeConfigsReply:
    """The answer to DescribeConfigs."""

    results: tuple[DescribedResource, ...]
    throttle_time_ms: int = 0


@dataclass(frozen=True, slots=True)
class Alteration:
    """What is to become of one setting; `operation` is a number that `Operation` may not know."""

    name: str
    value: str | None
    operation: int = Operation.SET


@dataclass(frozen=True, slots=True)
class ResourceAlterations:
    """What is to become of the settings of one resource."""

    resource: Resource
    alterations: tuple[Alteration, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class IncrementalAlterConfigs:
    """An admin alters settings; those not named stay."""

    resources: tuple[ResourceAlterations, ...]
    validate_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterConfigs:
    """An admin says all settings of resources anew; those not named go back to their defaults."""

    resources: tuple[ResourceAlterations, ...]
    validate_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AlteredResource:
    """What became of the settings of one resource."""

    resource: Resource
    error: ErrorCode = ErrorCode.NONE
    error_message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterConfigsReply:
    """The answer to AlterConfigs and to IncrementalAlterConfigs."""

    results: tuple[AlteredResource, ...]
    throttle_time_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ListConfigResources:
    """An admin lists the resources that have settings; no types ask for all."""

    types: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ListConfigResourcesReply:
    """The answer to ListConfigResources."""

    error: ErrorCode
    resources: tuple[Resource, ...] = ()
    throttle_time_ms: int = 0


ConfigRequest = DescribeConfigs | IncrementalAlterConfigs | AlterConfigs | ListConfigResources
ConfigReply = DescribeConfigsReply | AlterConfigsReply | ListConfigResourcesReply


def groups_among(resources: Iterable[Resource]) -> tuple[GroupId, ...]:
    """The groups of which settings are asked or altered, in their order."""
    return tuple(group_id for one in resources if (group_id := one.group_id) is not None)
