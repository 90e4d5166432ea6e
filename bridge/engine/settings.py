"""The engine's settings under Kafka's own names, with Kafka 4.3's defaults, and those that a group has of its own."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypedDict, cast

from translators.dialects.configs import Alteration, ConfigType, MigrationPolicy, Operation
from translators.dialects.errors import ErrorCode, Refusal, quote
from translators.dialects.ids import GroupId

# ----------------------------------------------------------------------------------------- settings
# The engine's settings under Kafka's own names, with Kafka 4.3's defaults.


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


# ------------------------------------------------------------------------------------ group configs
# The settings that a group has of its own: names, what values may be, and what an alteration makes of them.
#
# Names, bounds and refusals are those of Kafka 4.3 (`GroupConfig`) for what Kafka has for consumer groups; what only
# the bridge has goes by its key in the configuration behind `epochbridge.`.

PREFIX = "epochbridge."
"""What settings begin with that Kafka does not have."""
ELSEWHERE = ("share.", "streams.")
"""How settings of groups begin that the bridge never coordinates: they are the broker's."""
INT_MAX = 2**31 - 1
_NO_LIST = "Can't {} to key {} because its type is not LIST."
_NUMBER = re.compile(r"[+-]?[0-9]{1,10}")


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupKey:
    """One setting; `base` is the configuration's key that counts for groups without one of their own, in `field_name`.

    A number is at least `least`, and within `group.consumer.min` and `max` of its name where it is `bounded`.
    """

    name: str
    base: str
    field_name: str
    text: str
    kind: ConfigType = ConfigType.INT
    least: int = 1
    choices: tuple[str, ...] = ()
    bounded: str = ""


SESSION_TIMEOUT, HEARTBEAT_INTERVAL = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"
ASSIGNORS, POLICY = "group.consumer.assignors", "group.consumer.migration.policy"
INITIAL_TYPE = "embedded.initial.group.type"


def _ours(
    name: str, text: str, kind: ConfigType = ConfigType.INT, choices: tuple[str, ...] = (), *, least: int = 1
) -> GroupKey:
    """A setting that Kafka does not have, by its key in the configuration."""
    field_name = name.replace(".", "_")
    return GroupKey(
        name=PREFIX + name, base=name, field_name=field_name, text=text, kind=kind, choices=choices, least=least
    )


_BOUNDED = (
    GroupKey(
        name=HEARTBEAT_INTERVAL,
        base="group.consumer.heartbeat.interval.ms",
        field_name="group_consumer_heartbeat_interval_ms",
        bounded="heartbeat.interval.ms",
        text="How often members that speak the consumer protocol are to send a heartbeat.",
    ),
    GroupKey(
        name=SESSION_TIMEOUT,
        base="group.consumer.session.timeout.ms",
        field_name="group_consumer_session_timeout_ms",
        bounded="session.timeout.ms",
        text="After how long a silence a member that speaks the consumer protocol is removed.",
    ),
    GroupKey(
        name="consumer.assignment.interval.ms",
        base="group.consumer.assignment.interval.ms",
        field_name="group_consumer_assignment_interval_ms",
        bounded="assignment.interval.ms",
        least=0,
        text="Least time between two target assignments of the group.",
    ),
)
GROUP_KEYS: Mapping[str, GroupKey] = {
    key.name: key
    for key in (
        *_BOUNDED,
        _ours("group.initial.rebalance.delay.ms", "How long the group waits for more classic members.", least=0),
        _ours("group.consumer.max.size", "Most members of the group as a consumer group."),
        _ours("group.max.size", "Most members of the group as a classic group."),
        _ours(
            POLICY,
            "Which way the group may change its kind by somebody's coming or going.",
            ConfigType.STRING,
            tuple(MigrationPolicy),
        ),
        _ours(ASSIGNORS, "Assignors that the group may use; the first is its default.", ConfigType.LIST),
        _ours(
            INITIAL_TYPE,
            "What the group is when a classic client joins it first.",
            ConfigType.STRING,
            ("consumer", "classic"),
        ),
        _ours(
            "departure.wait.ms",
            "How long the partitions of a member that said that it leaves wait for whoever comes next.",
            least=0,
        ),
        _ours(
            "replacement.grace.ms",
            "How long the partitions of a member that left wait for whoever takes its place.",
            least=0,
        ),
    )
}
"""By name, those with bounds in the order in which Kafka looks at them."""


class Changes(TypedDict, total=False):
    """What settings of a group can change, by field of `EngineSettings`."""

    group_consumer_heartbeat_interval_ms: int
    group_consumer_session_timeout_ms: int
    group_consumer_assignment_interval_ms: int
    group_initial_rebalance_delay_ms: int
    group_consumer_max_size: int
    group_max_size: int
    group_consumer_migration_policy: MigrationPolicy
    group_consumer_assignors: tuple[str, ...]
    group_begins_classic: bool
    departure_wait_ms: int
    replacement_grace_ms: int


@dataclass(frozen=True, slots=True)
class GroupConfigs:
    """What a group has of its own, by name and sorted; `changes` is what it means."""

    values: tuple[tuple[str, str], ...]
    changes: Changes = field(default_factory=Changes, compare=False, repr=False)

    def over(self, base: EngineSettings) -> EngineSettings:
        """The settings that count, where `base` counts without these."""
        return replace(base, **self.changes)


def read_configs(values: Iterable[tuple[str, str]]) -> GroupConfigs:
    """Values that were found right, by whichever release: one that this one does not know stays, and means nothing."""
    kept = tuple(sorted(values))
    read = dict(_change(GROUP_KEYS[name], text) for name, text in kept if _is_known(name, text))
    return GroupConfigs(kept, cast("Changes", read))


def unknown_in(configs: GroupConfigs) -> tuple[str, ...]:
    """The settings that mean nothing here: their names are not known, or their values are not."""
    return tuple(name for name, text in configs.values if not _is_known(name, text))


def _is_known(name: str, text: str) -> bool:
    key = GROUP_KEYS.get(name)
    if key is None or key.kind is ConfigType.LIST:
        # Which assignors there are is looked at where one is chosen.
        return key is not None and bool(items_of(text))
    return not _fault(key, text, ())


def _change(key: GroupKey, text: str) -> tuple[str, object]:
    if key.base == INITIAL_TYPE:
        return "group_begins_classic", text == "classic"
    if key.base == POLICY:
        return key.field_name, MigrationPolicy(text)
    return key.field_name, int(text) if key.kind is ConfigType.INT else items_of(text)


def items_of(text: str) -> tuple[str, ...]:
    """A list as the wire has it."""
    return tuple(one.strip() for one in text.split(",") if one.strip())


def is_elsewhere(name: str) -> bool:
    """Whether a setting is one of groups that the bridge never coordinates."""
    return name.startswith(ELSEWHERE)


def base_text(settings: EngineSettings, key: GroupKey) -> str:
    """What counts for a group without a setting of its own, as a text."""
    if key.base == INITIAL_TYPE:
        return "classic" if settings.group_begins_classic else "consumer"
    value: object = getattr(settings, key.field_name)
    return ",".join(value) if isinstance(value, tuple) else str(value)


def alter(
    values: Mapping[str, str], alterations: Iterable[Alteration], base: EngineSettings
) -> Mapping[str, str] | Refusal:
    """What the settings of a group become; operations one by one, as Kafka's controller carries them out.

    `base` is what counts where the group has nothing of its own. Values are not looked at here.
    """
    altered = dict(values)
    for one in alterations:
        key = GROUP_KEYS.get(one.name)
        match one.operation:
            case Operation.SET:
                altered[one.name] = one.value or ""
            case Operation.DELETE:
                altered.pop(one.name, None)
            case Operation.APPEND | Operation.SUBTRACT:
                if key is None or key.kind is not ConfigType.LIST:
                    return _invalid(_NO_LIST.format(quote(Operation(one.operation).name), quote(one.name)))
                altered[one.name] = _edit(altered.get(one.name, base_text(base, key)), one)
            case _:
                return Refusal(ErrorCode.UNKNOWN_SERVER_ERROR)
    return altered


def _edit(text: str, change: Alteration) -> str:
    """A list with what it lacks, or without what it has, of what is named."""
    known, named = items_of(text), items_of(change.value or "")
    if change.operation == Operation.SUBTRACT:
        return ",".join(each for each in known if each not in named)
    return ",".join((*known, *dict.fromkeys(each for each in named if each not in known)))


def check(values: Mapping[str, str], base: EngineSettings, assignors: Collection[str]) -> GroupConfigs | Refusal:
    """The settings of a group, if each is known, of its kind and within its bounds."""
    unknown = next((name for name in values if name not in GROUP_KEYS), None)
    if unknown is not None:
        return _invalid(f"Unknown group config name: {quote(unknown)}")
    read: dict[str, str] = {}
    for name, key in GROUP_KEYS.items():
        if name not in values:
            continue
        text = values[name].strip()
        fault = _fault(key, text, assignors)
        if fault:
            return _invalid(f"Invalid value {quote(values[name])} for configuration {name}: {fault}")
        read[name] = _said_plainly(key, text)
    configs = read_configs(read.items())
    problem = _out_of_bounds(read, configs.over(base))
    return configs if problem is None else _invalid(problem)


def _said_plainly(key: GroupKey, text: str) -> str:
    """A value as Kafka shows it, which keeps what it has read: 7000 of `+7000` and of `07000`."""
    if key.kind is ConfigType.LIST:
        return ",".join(items_of(text))
    return str(int(text)) if key.kind is ConfigType.INT else text


def _fault(key: GroupKey, text: str, assignors: Collection[str]) -> str:
    if key.kind is ConfigType.INT:
        if _NUMBER.fullmatch(text) is None or not -INT_MAX - 1 <= int(text) <= INT_MAX:
            return "Not a number of type INT"
        return "" if int(text) >= key.least else f"Value must be at least {key.least}"
    if key.kind is ConfigType.LIST:
        named = items_of(text)
        if not named or not set(named) <= set(assignors):
            return f"assignors are to be one or more of: {', '.join(sorted(assignors))}"
        return "values must not be duplicated" if len(set(named)) < len(named) else ""
    return "" if text in key.choices else f"String must be one of: {', '.join(key.choices)}"


def _out_of_bounds(values: Mapping[str, str], settings: EngineSettings) -> str | None:
    """What Kafka finds first: a number beyond its bound, or heartbeats that come no sooner than sessions end."""
    for key in _BOUNDED:
        if key.name not in values:
            continue
        for bound, word, sign in (("min", "greater", 1), ("max", "less", -1)):
            limit: int = getattr(settings, f"group_consumer_{bound}_{key.bounded.replace('.', '_')}")
            if (int(values[key.name]) - limit) * sign < 0:
                return f"{key.name} must be {word} than or equal to group.consumer.{bound}.{key.bounded}"
    if not values.keys() & {SESSION_TIMEOUT, HEARTBEAT_INTERVAL}:
        return None
    if settings.group_consumer_session_timeout_ms <= settings.group_consumer_heartbeat_interval_ms:
        return f"{SESSION_TIMEOUT} must be greater than {HEARTBEAT_INTERVAL}"
    return None


def _invalid(reason: str) -> Refusal:
    return Refusal(ErrorCode.INVALID_CONFIG, reason)
