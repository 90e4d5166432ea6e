"""The rules of the configuration in the words of the router, and what an operator should know of them."""

from collections.abc import Iterator

from bridge.config.configuration import Config, GroupRule
from bridge.config.faults import CONFIGURATION, ConfigError, Fault, FaultCode
from bridge.coordinators.embedded.regular_expressions import read_regex
from bridge.migration.patterns import Matches, Pattern, PatternForm, PatternUnreadable, make_matcher
from bridge.migration.route import Rule
from bridge.migration.rule_findings import find_findings

_KINDS = {PatternForm.GLOB: "groups", PatternForm.EXACT: "group", PatternForm.REGEX: "groups by regex"}


def route_rules(config: Config) -> tuple[Rule, ...]:
    """The rules by which groups begin; raises ConfigError for regular expressions that can't be read."""
    faults: list[Fault] = []
    for rule in config.rules:
        try:
            rule_matcher(rule)
        except PatternUnreadable as problem:
            faults.append(_regex_fault(rule, problem))
    if faults:
        raise ConfigError(faults)
    return tuple(Rule(rule.match, rule.road, rule.form, rule.client_id, rule.principal) for rule in config.rules)


def _regex_fault(rule: GroupRule, problem: PatternUnreadable) -> Fault:
    return Fault(
        code=FaultCode.WRONG_RULE,
        source=CONFIGURATION,
        key="regex",
        seen=f"{rule.match!r}: {problem}",
        allowed="an RE2 expression for group ids",
        line=rule.line,
        hint="mend it: a bracket may be open, a sign lack its \\, or it be of a kind that RE2 has not (looking around, "
        "references back); `group` takes a name as it is",
    )


def rule_matcher(rule: GroupRule) -> Matches:
    """What says whether a group is meant; raises PatternUnreadable."""
    return make_matcher(Pattern(rule.match, rule.form), read_regex)


def tell_rules(config: Config) -> Iterator[str]:
    """A line for each rule; raises ConfigError."""
    for rule in route_rules(config):
        named = {"client.id": rule.client_id, "principal": rule.principal}
        whom = "".join(f", {key} {value}" for key, value in named.items() if value)
        yield f"{_KINDS[rule.form]} {rule.pattern}{whom}: road {rule.road.value}"


def tell_findings(config: Config) -> Iterator[tuple[int, str]]:
    """What an operator should know of the rules: the line of one in its file and a sentence; raises ConfigError."""
    for finding in find_findings(route_rules(config), read_regex):
        yield config.rules[finding.rule].line, str(finding)
