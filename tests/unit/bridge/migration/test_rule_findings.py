"""What is said of rules before they count."""

import pytest

from bridge.migration.patterns import PatternForm
from bridge.migration.route import Road, Rule
from bridge.migration.rule_findings import (
    CODE_DISAGREE,
    CODE_EVERYTHING,
    CODE_NOTHING,
    CODE_PRINCIPAL,
    find_findings,
)

EMBEDDED, UPSTREAM, PASS = Road.EMBEDDED, Road.UPSTREAM, Road.PASS


@pytest.mark.parametrize(
    ("rules", "found"),
    [
        ([Rule("orders-old*", PASS), Rule("orders-*", EMBEDDED), Rule("*", PASS)], []),
        ([Rule("*", EMBEDDED)], [(0, CODE_EVERYTHING)]),
        ([Rule("orders-*", EMBEDDED), Rule("orders-old*", PASS)], [(1, CODE_NOTHING)]),
        ([Rule("orders-*", EMBEDDED), Rule("orders-1", EMBEDDED, PatternForm.EXACT)], [(1, CODE_NOTHING)]),
        ([Rule("a[b-a]", EMBEDDED)], [(0, CODE_NOTHING)]),
        ([Rule("orders-*", EMBEDDED), Rule("*-old", UPSTREAM)], [(1, CODE_DISAGREE)]),
        ([Rule("orders-*", EMBEDDED), Rule("*-old", EMBEDDED)], []),
        ([Rule("a", EMBEDDED, client_id="x"), Rule("a", PASS)], []),
        ([Rule("*", EMBEDDED, client_id="x"), Rule("a", PASS, client_id="x")], [(1, CODE_NOTHING)]),
        ([Rule("a", EMBEDDED, principal="app")], [(0, CODE_PRINCIPAL)]),
    ],
)
def test_findings(rules: list[Rule], found: list[tuple[int, str]]) -> None:
    """An exception before its rule is no disagreement; a rule that nothing is left for is found."""
    assert [(finding.rule, finding.code) for finding in find_findings(rules)] == found


def test_finding_names_both_rules_and_the_remedy() -> None:
    """One line for a person."""
    (finding,) = find_findings([Rule("orders-*", EMBEDDED), Rule("orders-old*", PASS)])
    assert str(finding) == (
        "EB-RULE-002: the rule glob 'orders-*' -> embedded, number 1, takes every group that the rule glob "
        "'orders-old*' -> pass, number 2, means; move the narrower rule up, or take it away"
    )
