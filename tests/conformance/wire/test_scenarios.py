"""The scenarios and their transcripts by themselves: whole, cited rightly, and the two Kafkas differ only where known."""

from collections.abc import Iterator

import pytest

from tests.conformance.page import PAGE, TESTS_PAGE, counterparts_page, page
from tests.conformance.wire.scenarios.catalogue import THEMES
from tests.support.conformance.deviations import BEGUN_AS_CONSUMER, deviations
from tests.support.conformance.steps import BOTH, NEWEST, OLDER, Call, Close, Pause, Poll, Scenario
from tests.support.conformance.transcripts import differences, load, speaker_of

SCENARIOS_MIN = 200
ALL = [(theme, one) for theme, scenarios in THEMES.items() for one in scenarios]
SHOWN_SINCE_4 = ("groups[", "error_message")
OTHER_ANSWERS = (
    "a commit with a generation of no group",
    "a transaction with a generation of no group",
    "a filter with",
    "a promised member leaves a group at rest",
)


def test_there_are_enough_scenarios_and_names_are_used_once() -> None:
    """Issue 4: at least 200."""
    names = [one.name for _, one in ALL]
    assert len(set(names)) == len(names) >= SCENARIOS_MIN


@pytest.mark.parametrize("version", BOTH)
def test_each_scenario_has_its_transcript_with_an_answer_for_each_call(version: str) -> None:
    """Recorded by a command; a scenario that changed is to be recorded again."""
    for theme, scenarios in THEMES.items():
        wanted = {one.name: one for one in scenarios if version in one.kafkas}
        kept = load(version, theme) if wanted else {}
        assert set(kept) == set(wanted)
        calls = {name: sum(not isinstance(step, Pause | Close) for step in one.steps) for name, one in wanted.items()}
        assert {name: len(answers) for name, answers in kept.items()} == calls


def test_kafka_leaves_unanswered_only_what_is_said_to_be_parked() -> None:
    """Else the scenario says something else than it shows."""
    silent = []
    for theme, one in ALL:
        steps = [step for step in one.steps if not isinstance(step, Pause | Close)]
        for step, answer in zip(steps, load(NEWEST, theme)[one.name], strict=True):
            expects = (isinstance(step, Call) and step.parked) or (not isinstance(step, Call | Poll) and step.silent)
            if ("parked" in answer) != expects or "closed" in answer or "stopped" in answer:
                silent.append((one.name, speaker_of(step), dict(answer)))
    assert silent == []


def between_kafkas() -> Iterator[tuple[Scenario, str, object, object]]:
    """Where the two versions differ."""
    for theme, one in ALL:
        if OLDER in one.kafkas:
            found = differences(one, load(NEWEST, theme)[one.name], load(OLDER, theme)[one.name])
            yield from ((one, path, newer, older) for (_, path), (newer, older) in found.items())


def test_the_older_kafka_differs_only_where_known() -> None:
    """K11.4, its second table: descriptions outside Stable, errors of commits to no group, blanks in filters."""
    unknown = [
        (one.name, path, newer, older)
        for one, path, newer, older in between_kafkas()
        if not path.startswith(SHOWN_SINCE_4) and not one.name.startswith(OTHER_ANSWERS)
    ]
    assert unknown == []


def test_deviations_name_scenarios_that_are_played() -> None:
    """A deviation of nothing is stale."""
    played = {one.name for scenarios in THEMES.values() for one in scenarios}
    assert {name.removesuffix(BEGUN_AS_CONSUMER) for one in deviations() for name in one.differs} <= played


def test_pages_are_up_to_date() -> None:
    """Run `python -m tests.conformance.page` after a change."""
    assert PAGE.read_text(encoding="utf-8") == page()
    assert TESTS_PAGE.read_text(encoding="utf-8") == counterparts_page()
