"""`python -m tests.conformance.page` writes docs/reference/conformance.md from the scenarios and the deviations.

It knows both tables' forms, and must not know how a transcript comes about.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tests.conformance.wire.inventory import ELSEWHERE, INVENTORY
from tests.conformance.wire.scenarios.catalogue import THEMES
from tests.support.conformance.deviations import deviations
from tests.support.conformance.steps import BOTH, Scenario

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "conformance.md"
VERSION = re.compile(r", v\d+$")
STEPS_SHOWN = 3
HEAD = """\
# Conformance with Apache Kafka

Every scenario of `tests/conformance/wire/` is a list of requests of members and admins. Kafka's answers were recorded
over TCP by `python -m tests.conformance.record` from Apache Kafka {versions} and are kept in
`tests/conformance/data/wire/`; nobody edits them. The bridge, in front of a real broker, with the same settings and
`embedded.initial.group.type: classic`, has to give the same answers, step by step (`pytest tests/conformance/wire`).
Compared are all fields but throttle times; member ids, topic ids and texts of errors are compared by their place, not
their letters. In groups that speak both protocols epochs are compared by their order and shares by their sizes.

{counts}

This page is written by `python -m tests.conformance.page`.
"""


def title_of(scenario: Scenario) -> str:
    """Its name without the version."""
    return VERSION.sub("", scenario.name)


def titles(scenarios: Sequence[Scenario]) -> str:
    """Names, each once, versions counted."""
    counted: dict[str, int] = {}
    for one in scenarios:
        counted[title_of(one)] = counted.get(title_of(one), 0) + 1
    return "; ".join(f"{title} ({count} versions)" if count > 1 else title for title, count in counted.items())


def rule_order(rule: str) -> tuple[int, ...]:
    """K1.9 before K1.10."""
    return tuple(int(number) for number in re.findall(r"\d+", rule))


def by(key: str) -> Mapping[str, list[Scenario]]:
    """Scenarios by each rule or test that they cite."""
    found: dict[str, list[Scenario]] = {}
    for one in (one for scenarios in THEMES.values() for one in scenarios):
        for cited in one.rules if key == "rules" else one.tests:
            found.setdefault(cited, []).append(one)
    return found


def rule_lines() -> Iterator[str]:
    """The table of rules."""
    yield from ("## Rules and their scenarios", "", "| rule | scenarios |", "|---|---|")
    rules = by("rules")
    for rule in sorted(rules, key=rule_order):
        yield f"| {rule} | {titles(rules[rule])} |"


def inventory_lines() -> Iterator[str]:
    """The table of Kafka's own tests."""
    yield from ("## Kafka's own tests and their counterparts", "", "| Kafka's test | here |", "|---|---|")
    cited = by("tests")
    for test in INVENTORY:
        yield f"| {test} | {titles(cited[test]) if test in cited else ELSEWHERE[test]} |"


def deviation_lines() -> Iterator[str]:
    """The table of what differs on purpose."""
    yield from ("## What differs on purpose", "")
    for one in deviations():
        yield from (f"### {one.title}", "", f"Who gains: {one.gains}.", "")
        yield from ("| scenario | step | field | Kafka | here |", "|---|---|---|---|---|")
        for name, rows in one.differs.items():
            for (step, path), (kafka, ours) in list(rows.items())[:STEPS_SHOWN]:
                yield f"| {name} | {step} | `{path}` | `{kafka!r}` | `{ours!r}` |"
            if len(rows) > STEPS_SHOWN:
                yield f"| {name} | | {len(rows) - STEPS_SHOWN} more fields | | |"
        yield ""


def counts() -> str:
    """How many there are."""
    scenarios = [one for group in THEMES.values() for one in group]
    differing = len({name for one in deviations() for name in one.differs})
    older = sum(len(one.kafkas) > 1 for one in scenarios)
    return (
        f"{len(scenarios)} scenarios are recorded, {older} of them also on the older Kafka; "
        f"the bridge is held to all, and differs on purpose in {differing}."
    )


def page() -> str:
    """The whole page."""
    head = HEAD.format(versions=" and ".join(BOTH), counts=counts())
    lines = [*deviation_lines(), *rule_lines(), "", *inventory_lines()]
    return head + "\n" + "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
