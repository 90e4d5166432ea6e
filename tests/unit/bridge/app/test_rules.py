"""The configuration's rules as the router has them, and as they are told."""

import pytest

from bridge.app.rules import route_rules, rule_matcher, tell_findings, tell_rules
from bridge.config.configuration import Config, GroupRule
from bridge.config.faults import ConfigError
from bridge.config.keys import Settings
from bridge.migration.patterns import PatternForm
from bridge.migration.route import Road, Rule

RULES = (
    GroupRule("a-*", Road.PASS),
    GroupRule("a.[0-9]+", Road.EMBEDDED, form=PatternForm.REGEX, line=7),
    GroupRule("b", Road.UPSTREAM, form=PatternForm.EXACT, client_id="app-*", principal="app", line=9),
)
CONFIG = Config(Settings(), RULES)


def test_rules_are_handed_on_and_told() -> None:
    """In their order."""
    assert route_rules(CONFIG)[:2] == (Rule("a-*", Road.PASS), Rule("a.[0-9]+", Road.EMBEDDED, PatternForm.REGEX))
    assert list(tell_rules(CONFIG)) == [
        "groups a-*: road pass",
        "groups by regex a.[0-9]+: road embedded",
        "group b, client.id app-*, principal app: road upstream",
    ]
    assert [number for number, _ in tell_findings(CONFIG)] == [9]


def test_expression_has_to_match_the_whole_id() -> None:
    """As in a subscription by RE2."""
    matches = rule_matcher(RULES[1])
    assert [matches(name) for name in ("a-1", "a-12", "xa-1", "a-1x")] == [True, True, False, False]


def test_every_expression_that_can_not_be_read_is_a_fault() -> None:
    """With the rule's line."""
    wrong = tuple(GroupRule(text, Road.PASS, form=PatternForm.REGEX, line=3) for text in ("(", "[", "fine"))
    with pytest.raises(ConfigError) as caught:
        route_rules(Config(Settings(), wrong))
    assert [(fault.line, fault.key) for fault in caught.value.faults] == [(3, "regex"), (3, "regex")]
