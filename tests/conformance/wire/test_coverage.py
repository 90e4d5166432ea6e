"""What the scenarios cover: every rule, every version of every API of groups, and every test of Kafka's own."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from bridge.wire.apis import CONFIG_APIS, ApiKey
from bridge.wire.codec.registry import SUPPORTED
from bridge.wire.versions import KNOWN
from tests.conformance.page import title_of
from tests.conformance.wire.kafka_tests import kafka_tests, paths_in, says_something, titles_in
from tests.conformance.wire.rules import NOT_ON_THE_WIRE, RESTATED, RULES, TESTED
from tests.conformance.wire.scenarios.catalogue import THEMES
from tests.support.conformance.messages import APIS
from tests.support.conformance.schema import Value
from tests.support.conformance.steps import NEWEST, Await, Call, Close, Pause, Poll, Scenario
from tests.support.conformance.transcripts import load

ROOT = Path(__file__).resolve().parents[3]
ALL = [(theme, one) for theme, scenarios in THEMES.items() for one in scenarios]
CITED = {rule for _, one in ALL for rule in one.rules}
NAMES = {api.key: name for name, api in APIS.items()}
OFFERED: Mapping[str, tuple[int, int]] = {
    **{NAMES[key]: versions for key, versions in SUPPORTED.items() if key not in CONFIG_APIS},
    "FindCoordinator": (KNOWN[ApiKey.FIND_COORDINATOR].lowest, KNOWN[ApiKey.FIND_COORDINATOR].highest),
}
VERSIONS = [(api, version) for api, (lowest, highest) in OFFERED.items() for version in range(lowest, highest + 1)]
NO_ERROR_THERE = {
    ("FindCoordinator", 0),
    *(("ListGroups", version) for version in range(6)),
    *(("OffsetFetch", version) for version in range(1, 7)),
}
"""What no client can bring about: every name has a coordinator, a list has no error but the broker's own, an old fetch
answers -1 to everything."""


def outcomes(value: Value) -> Iterator[str]:
    """Every error of an answer; a group that is Dead is how older descriptions say that there is none."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if name == "error" or (name, inner) == ("state", "Dead"):
                yield str(inner)
            else:
                yield from outcomes(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from outcomes(inner)


def heard(one: Scenario, theme: str) -> Iterator[tuple[tuple[str, int], set[str]]]:
    """What each call of a scenario was answered by Kafka."""
    parked: dict[str, Call] = {}
    steps = [step for step in one.steps if not isinstance(step, Pause | Close)]
    for step, answer in zip(steps, load(NEWEST, theme)[one.name], strict=True):
        call = step.call if isinstance(step, Poll) else step
        asked = parked.get(call.who) if isinstance(call, Await) else call
        if "parked" in answer and isinstance(call, Call):
            parked[call.who] = call
        elif asked is not None:
            yield (asked.api, asked.version), set(outcomes(answer))


def test_each_version_of_each_api_succeeds_and_fails_in_some_scenario() -> None:
    """Every version that is offered, with a success and an error (issue 4)."""
    seen: dict[tuple[str, int], set[str]] = {}
    for theme, one in ALL:
        for asked, said in heard(one, theme):
            seen.setdefault(asked, set()).update(said or {"NONE"})
    without_success = [asked for asked in VERSIONS if "NONE" not in seen.get(asked, ())]
    without_error = [asked for asked in VERSIONS if not seen.get(asked, set()) - {"NONE"}]
    assert without_success == []
    assert set(without_error) == NO_ERROR_THERE


def test_each_rule_is_shown_or_tested_or_says_why_not() -> None:
    """Each in one place; what restates other rules leads to rules that are covered."""
    places = [CITED, set(TESTED), set(RESTATED), set(NOT_ON_THE_WIRE)]
    assert set(RULES) <= set().union(*places)
    assert set().union(*places[1:]) <= set(RULES)
    assert sum(len(set(RULES) & place) for place in places) == len(RULES)
    assert {rule for rules in RESTATED.values() for rule in rules} <= CITED | set(TESTED) | set(NOT_ON_THE_WIRE)
    assert all(NOT_ON_THE_WIRE.values())


NAMED = {path for rows in kafka_tests().values() for text in rows.values() for path in paths_in(text)}


@pytest.mark.parametrize("named", sorted({*TESTED.values(), *NAMED}))
def test_tests_that_are_named_are_there(named: str) -> None:
    """A file, or one test of it."""
    path, _, function = named.partition("::")
    assert (ROOT / path).is_file()
    if function:
        assert f"def {function}(" in (ROOT / path).read_text(encoding="utf-8")


def test_each_of_kafkas_tests_has_its_counterpart() -> None:
    """Section 10 of the reference, row by row: scenarios that cite it, a test or scenario named here, or a reason."""
    cited = {test for _, one in ALL for test in one.tests}
    rows = [row for section in kafka_tests().values() for row in section.items()]
    assert len(dict(rows)) == len(rows)
    assert cited == {name for name, text in rows if not text}
    assert [name for name, text in rows if text and not says_something(text)] == []
    known = {title_of(one) for _, one in ALL}
    assert {title for _, text in rows for title in titles_in(text)} <= known
