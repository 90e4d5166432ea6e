"""What an operator writes and what comes of it."""

from dataclasses import replace
from pathlib import Path

import pytest

from bridge.config.configuration import Config, GroupRule, allowed, load
from bridge.config.faults import ConfigError, FaultCode
from bridge.config.keys import KEYS, Settings
from bridge.migration.patterns import PatternForm
from bridge.migration.route import Road


def _write(directory: Path, text: str) -> Path:
    path = directory / "bridge.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def _faults(path: Path, *assignments: str) -> list[tuple[FaultCode, int, str]]:
    with pytest.raises(ConfigError) as caught:
        load(path, {}, assignments)
    return [(fault.code, fault.line, fault.key) for fault in caught.value.faults]


def test_no_file_gives_defaults() -> None:
    """Everything has a default."""
    assert load(None, {}) == Config(Settings(), ())


def test_file_environment_and_assignments_override_in_this_order(tmp_path: Path) -> None:
    """The nearer to the operator, the stronger."""
    path = _write(tmp_path, "listen: 127.0.0.1:1\ngain.wait.max.ms: 1\ncommit.drain.ms: 1\n")
    environment = {"EPOCHBRIDGE_GAIN_WAIT_MAX_MS": "2", "EPOCHBRIDGE_COMMIT_DRAIN_MS": "2", "HOME": "x"}
    settings = load(path, environment, ["commit.drain.ms=3"]).settings
    assert (settings.listen, settings.gain_wait_max_ms, settings.commit_drain_ms) == ("127.0.0.1:1", 2, 3)


def test_rules_keep_their_order_and_own_settings(tmp_path: Path) -> None:
    """First match wins, so order matters; a rule may carry settings of its groups."""
    text = (
        "groups:\n"
        "  - {match: 'orders-*', road: embedded, group.consumer.session.timeout.ms: 50000}\n"
        "  - {match: '*', road: pass}\n"
    )
    config = load(_write(tmp_path, text), {})
    assert config.rules == (
        GroupRule("orders-*", Road.EMBEDDED, (("group_consumer_session_timeout_ms", 50000),)),
        GroupRule("*", Road.PASS, ()),
    )
    assert config.rules[0].settings(config.settings).group_consumer_session_timeout_ms == 50000


def test_rule_names_its_groups_in_one_of_three_ways(tmp_path: Path) -> None:
    """A glob, one id, or an expression; the line is where the rule begins."""
    text = (
        "groups:\n  - {match: 'a-*', road: pass}\n  - {group: 'a-*', road: embedded}\n"
        "  - regex: a-[0-9]+\n    road: upstream\n"
    )
    rules = load(_write(tmp_path, text), {}).rules
    assert [(rule.match, rule.form, rule.line) for rule in rules] == [
        ("a-*", PatternForm.GLOB, 2),
        ("a-*", PatternForm.EXACT, 3),
        ("a-[0-9]+", PatternForm.REGEX, 4),
    ]


@pytest.mark.parametrize(
    "names", ["match: a\n    group: a", "match: a\n    regex: a", "group:", "regex: 3", "group: [a]", "client.id: []"]
)
def test_rule_that_does_not_say_which_groups_is_a_fault(tmp_path: Path, names: str) -> None:
    """Not at all, in two ways, or as something that is no text."""
    found = _faults(_write(tmp_path, f"groups:\n  - {names}\n    road: pass\n"))
    assert FaultCode.WRONG_RULE in {code for code, _, _ in found}


def test_rule_may_ask_who_joins_first(tmp_path: Path) -> None:
    """For all groups where it names none; what belongs to groups has no place in it."""
    text = "groups:\n  - {client.id: 'app-*', principal: alice, road: embedded}\n"
    (rule,) = load(_write(tmp_path, text), {}).rules
    assert rule == GroupRule("*", Road.EMBEDDED, client_id="app-*", principal="alice")
    text += "  - {match: a, client.id: b, road: embedded, replacement.grace.ms: 5}\n"
    assert _faults(_write(tmp_path, text)) == [(FaultCode.WRONG_RULE, 3, "replacement.grace.ms")]


def test_every_fault_is_told_with_its_line(tmp_path: Path) -> None:
    """An operator mends a file once, not fault by fault."""
    text = (
        "lissten: x\n"
        "gain.wait.max.ms: soon\n"
        "group.consumer.max.size: 0\n"
        "groups:\n"
        "  - match: a\n"
        "    road: motorway\n"
        "    listen: y\n"
    )
    assert _faults(_write(tmp_path, text), "broken") == [
        (FaultCode.WRONG_KIND, 0, "broken"),
        (FaultCode.UNKNOWN_KEY, 1, "lissten"),
        (FaultCode.WRONG_KIND, 2, "gain.wait.max.ms"),
        (FaultCode.OUT_OF_BOUNDS, 3, "group.consumer.max.size"),
        (FaultCode.WRONG_RULE, 6, "road"),
        (FaultCode.WRONG_RULE, 7, "listen"),
    ]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("group.consumer.session.timeout.ms: 44999", "group.consumer.session.timeout.ms"),
        ("group.consumer.session.timeout.ms: 60001", "group.consumer.session.timeout.ms"),
        ("group.consumer.heartbeat.interval.ms: 4999", "group.consumer.heartbeat.interval.ms"),
        ("group.min.session.timeout.ms: 1800001", "group.min.session.timeout.ms"),
    ],
)
def test_kafkas_own_bounds_hold(tmp_path: Path, text: str, key: str) -> None:
    """Minimum and maximum included, one beyond refused."""
    assert _faults(_write(tmp_path, text)) == [(FaultCode.CONTRADICTION, 1, key)]


def test_bounds_are_inclusive(tmp_path: Path) -> None:
    """45,000 and 60,000 are both allowed."""
    for timeout_ms in (45_000, 60_000):
        path = _write(tmp_path, f"group.consumer.session.timeout.ms: {timeout_ms}\n")
        assert load(path, {}).settings.group_consumer_session_timeout_ms == timeout_ms


def test_fault_names_file_line_key_value_and_what_is_allowed(tmp_path: Path) -> None:
    """The sentence is enough to mend the file."""
    path = _write(tmp_path, "\nlimits.connections.max: none\n")
    with pytest.raises(ConfigError) as caught:
        load(path, {})
    assert str(caught.value) == (
        f"{path}:2: limits.connections.max: 'none' is of another kind; "
        "allowed: a whole number from 1 to 2147483647; "
        "it is no number: write digits alone, or take the key out to use its default [EB-CONFIG-004]"
    )


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS.keys())
def test_every_key_says_what_it_allows(key: object) -> None:
    """No key without a text, bounds or choices in words."""
    found = next(known for known in KEYS.values() if known is key)
    assert allowed(found)
    assert found.text.endswith((".", ")."))


@pytest.mark.parametrize("written", ["downgrade", "DOWNGRADE", "Downgrade"])
def test_kafkas_choices_know_no_case(written: str, tmp_path: Path) -> None:
    """The file of a broker is understood as it is, also for the groups of one rule (K3.1)."""
    key = "group.consumer.migration.policy"
    rule = f'groups:\n  - match: "a-*"\n    road: embedded\n    {key}: {written}\n'
    config = load(_write(tmp_path, rule), {})
    assert config.settings.group_consumer_migration_policy == "bidirectional"
    assert config.rules[0].settings(config.settings).group_consumer_migration_policy == "downgrade"


def test_own_choices_are_taken_literally(tmp_path: Path) -> None:
    """There is no other program whose habits would have to be followed."""
    path = _write(tmp_path, "journal.sync: FULL\ngroup.consumer.migration.policy: both\n")
    assert _faults(path) == [
        (FaultCode.OUT_OF_BOUNDS, 1, "journal.sync"),
        (FaultCode.OUT_OF_BOUNDS, 2, "group.consumer.migration.policy"),
    ]


def test_numbers_are_what_limits_are_drawn_against() -> None:
    """Every one by its key, and no switch among them."""
    found = Config(settings=replace(Settings(), limits_connections_max=7)).numbers()
    assert found["limits.connections.max"] == 7
    assert not [name for name, value in found.items() if isinstance(value, bool)]
