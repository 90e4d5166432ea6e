"""Tests of the engine's settings: Kafka's defaults, and one group that differs.

What an alteration makes of a group's settings, and which values are refused in which words.
"""

from dataclasses import replace

import pytest

from bridge.engine.settings import (
    ASSIGNORS,
    GROUP_KEYS,
    HEARTBEAT_INTERVAL,
    INITIAL_TYPE,
    POLICY,
    PREFIX,
    SESSION_TIMEOUT,
    EngineSettings,
    GroupConfigs,
    alter,
    base_text,
    check,
    configured_settings,
    is_elsewhere,
    read_configs,
    unknown_in,
)
from tests.support.engine_bench import GROUP
from translators.dialects.configs import Alteration, MigrationPolicy, Operation
from translators.dialects.errors import ErrorCode, Refusal
from translators.dialects.ids import GroupId


def test_group_without_own_settings_has_everybodys() -> None:
    """Only the groups named differ (K2.62)."""
    own = EngineSettings(group_consumer_session_timeout_ms=50_000)
    both = EngineSettings(per_group={GROUP: own})
    assert (configured_settings(both, GROUP), configured_settings(both, GroupId("other"))) == (own, both)


def test_assignment_interval_is_zero() -> None:
    """The one default that is not Kafka 4.3's: nobody waits for an assignment."""
    assert EngineSettings() == replace(EngineSettings(), group_consumer_assignment_interval_ms=0)


BASE = EngineSettings()
NAMES = ("uniform", "range")
OURS = f"{PREFIX}{ASSIGNORS}"


def test_every_setting_says_what_counts_and_reads_what_it_says() -> None:
    """The text of what counts is a value of the setting, and changes nothing."""
    values = {name: base_text(BASE, key) for name, key in GROUP_KEYS.items()}
    configs = check(values, BASE, NAMES)
    assert isinstance(configs, GroupConfigs)
    assert dict(configs.values) == values
    assert configs.over(BASE) == BASE


def test_settings_count_over_those_of_the_configuration() -> None:
    """And what is not said stays."""
    values = {
        SESSION_TIMEOUT: " 50000 ",
        f"{PREFIX}{POLICY}": "disabled",
        OURS: " range , uniform",
        f"{PREFIX}{INITIAL_TYPE}": "classic",
        f"{PREFIX}replacement.grace.ms": "7000",
    }
    configs = check(values, BASE, NAMES)
    assert isinstance(configs, GroupConfigs)
    assert configs.over(BASE) == EngineSettings(
        group_consumer_session_timeout_ms=50_000,
        group_consumer_migration_policy=MigrationPolicy.DISABLED,
        group_consumer_assignors=("range", "uniform"),
        group_begins_classic=True,
        replacement_grace_ms=7_000,
    )
    assert dict(configs.values)[SESSION_TIMEOUT] == "50000"
    assert dict(configs.values)[OURS] == "range,uniform"


INVALID = "Invalid value {} for configuration {}: {}"
NO_NUMBER, NO_ASSIGNOR = "Not a number of type INT", "assignors are to be one or more of: range, uniform"
POLICIES = "String must be one of: bidirectional, upgrade, downgrade, disabled"


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("foo", "1", "Unknown group config name: foo"),
        (SESSION_TIMEOUT, "x", INVALID.format("x", SESSION_TIMEOUT, NO_NUMBER)),
        (SESSION_TIMEOUT, "9" * 500, INVALID.format("9" * 249 + "… (500 characters)", SESSION_TIMEOUT, NO_NUMBER)),
        (HEARTBEAT_INTERVAL, "0", INVALID.format(0, HEARTBEAT_INTERVAL, "Value must be at least 1")),
        (
            SESSION_TIMEOUT,
            "1",
            f"{SESSION_TIMEOUT} must be greater than or equal to group.consumer.min.session.timeout.ms",
        ),
        (
            HEARTBEAT_INTERVAL,
            "15001",
            f"{HEARTBEAT_INTERVAL} must be less than or equal to group.consumer.max.heartbeat.interval.ms",
        ),
        (f"{PREFIX}{POLICY}", "never", INVALID.format("never", f"{PREFIX}{POLICY}", POLICIES)),
        (OURS, "mine", INVALID.format("mine", OURS, NO_ASSIGNOR)),
        (OURS, "", INVALID.format("", OURS, NO_ASSIGNOR)),
        (OURS, "range, range", INVALID.format("range, range", OURS, "values must not be duplicated")),
    ],
)
def test_wrong_value_is_refused_with_what_is_wrong(name: str, text: str, reason: str) -> None:
    """In Kafka's words where it has the setting."""
    assert check({name: text}, BASE, NAMES) == Refusal(ErrorCode.INVALID_CONFIG, reason)


def test_sessions_outlast_heartbeats() -> None:
    """Also where only one of the two is the group's own."""
    lenient = EngineSettings(group_consumer_max_heartbeat_interval_ms=60_000)
    reason = f"{SESSION_TIMEOUT} must be greater than {HEARTBEAT_INTERVAL}"
    assert check({HEARTBEAT_INTERVAL: "45000"}, lenient, NAMES) == Refusal(ErrorCode.INVALID_CONFIG, reason)
    assert isinstance(check({HEARTBEAT_INTERVAL: "44999"}, lenient, NAMES), GroupConfigs)


@pytest.mark.parametrize(
    ("operation", "text", "made"),
    [
        (Operation.SET, "range", "range"),
        (Operation.APPEND, "range,mine", "uniform,range,mine"),
        (Operation.APPEND, "mine,mine", "uniform,range,mine"),
        (Operation.SUBTRACT, "uniform", "range"),
    ],
)
def test_lists_can_grow_and_shrink(operation: Operation, text: str, made: str) -> None:
    """From what counts where the group has no list of its own."""
    assert alter({}, (Alteration(OURS, text, operation),), BASE) == {OURS: made}


def test_operations_are_carried_out_one_by_one() -> None:
    """What is deleted need not be there, or be known."""
    values = {SESSION_TIMEOUT: "50000", HEARTBEAT_INTERVAL: "6000"}
    deleted = (Alteration(SESSION_TIMEOUT, None, Operation.DELETE), Alteration("foo", None, Operation.DELETE))
    assert alter(values, deleted, BASE) == {HEARTBEAT_INTERVAL: "6000"}
    assert alter(values, (Alteration("foo", "1", Operation.APPEND),), BASE) == Refusal(
        ErrorCode.INVALID_CONFIG, "Can't APPEND to key foo because its type is not LIST."
    )
    assert alter(values, (Alteration(SESSION_TIMEOUT, "1", 9),), BASE) == Refusal(ErrorCode.UNKNOWN_SERVER_ERROR)


@pytest.mark.parametrize("text", ["50000", " +50000 ", "0050000"])
def test_number_is_shown_as_it_was_read(text: str) -> None:
    """As Kafka 4.3.1 shows it, however it was written."""
    configs = check({SESSION_TIMEOUT: text}, BASE, NAMES)
    assert isinstance(configs, GroupConfigs)
    assert configs.values == ((SESSION_TIMEOUT, "50000"),)


def test_setting_of_another_release_stays_and_means_nothing() -> None:
    """A journal outlives releases."""
    configs = read_configs([("consumer.of.tomorrow", "1"), (SESSION_TIMEOUT, "50000")])
    assert configs.over(BASE) == EngineSettings(group_consumer_session_timeout_ms=50_000)
    assert dict(configs.values) == {"consumer.of.tomorrow": "1", SESSION_TIMEOUT: "50000"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (f"{PREFIX}{POLICY}", "sometimes"),
        (f"{PREFIX}{INITIAL_TYPE}", "streams"),
        (SESSION_TIMEOUT, "PT50S"),
        (OURS, ""),
        ("consumer.of.tomorrow", "1"),
    ],
)
def test_value_of_another_release_stays_and_means_nothing(name: str, text: str) -> None:
    """It raised, and a bridge that had gone back to the release before did not start."""
    configs = read_configs([(name, text), (HEARTBEAT_INTERVAL, "6000")])
    assert configs.over(BASE) == EngineSettings(group_consumer_heartbeat_interval_ms=6_000)
    assert dict(configs.values) == {name: text, HEARTBEAT_INTERVAL: "6000"}
    assert unknown_in(configs) == (name,)


def test_assignor_that_is_not_installed_just_now_is_no_unknown_value() -> None:
    """It counts again when its plugin is back."""
    configs = read_configs([(OURS, "mine,range")])
    assert configs.over(BASE) == EngineSettings(group_consumer_assignors=("mine", "range"))
    assert unknown_in(configs) == ()


def test_settings_of_other_kinds_of_groups_are_told_apart() -> None:
    """They are the broker's."""
    assert [is_elsewhere(name) for name in ("share.x", "streams.x", SESSION_TIMEOUT, "foo")] == [
        True,
        True,
        False,
        False,
    ]
