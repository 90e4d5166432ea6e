"""The scenarios and their transcripts by themselves: whole, cited rightly, and the two Kafkas differ only where known."""

import re
from collections.abc import Iterator, Mapping

import pytest

from tests.conformance.page import PAGE, TESTS_PAGE, VERSION, counterparts_page, page
from tests.conformance.wire.scenarios.catalogue import THEMES
from tests.support.conformance.deviations import BEGUN_AS_CONSUMER, deviations, without_leaders
from tests.support.conformance.schema import Value
from tests.support.conformance.steps import BOTH, NEWEST, OLDER, Call, Close, Pause, Poll
from tests.support.conformance.transcripts import ABSENT, Difference, differences, flat_steps, load, speaker_of

SCENARIOS_MIN = 200
ALL = [(theme, one) for theme, scenarios in THEMES.items() for one in scenarios]
OPERATIONS = (3400, 328)
"""What one may do with a group where nothing is forbidden: settings of groups came with 4.0."""
ELSEWHERE: Mapping[str, frozenset[tuple[str, object, object]]] = {
    "a commit with a generation of no group": frozenset(
        {("topics[0].partitions[0].error", "GROUP_ID_NOT_FOUND", "ILLEGAL_GENERATION")}
    ),
    "a transaction with a generation of no group": frozenset(
        {
            ("topics[0].partitions[0].error", "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID"),
            ("groups[0].state", "Dead", "Empty"),
        }
    ),
    "a filter with blanks": frozenset(
        {
            ("groups", ABSENT, ()),
            ("groups[0].group_id", "$g", ABSENT),
            ("groups[0].protocol_type", "consumer", ABSENT),
            ("groups[0].state", "Stable", ABSENT),
        }
    ),
    "a promised member leaves a group at rest": frozenset(
        {
            ("error", "REBALANCE_IN_PROGRESS", "NONE"),
            ("groups[0].state", "PreparingRebalance", "Stable"),
            ("groups[0].protocol_data", "", "range"),
            ("groups[0].members[0].metadata", "", ABSENT),
            ("groups[0].members[0].metadata.owned", ABSENT, ()),
            ("groups[0].members[0].metadata.topics[0]", ABSENT, "wire-six"),
            ("groups[0].members[0].metadata.user_data", ABSENT, None),
            ("groups[0].members[0].metadata.version", ABSENT, 1),
        }
    ),
}
"""Whole scenarios that the second table of K11.4 is about: by path what the newer one answers, and the older."""


def test_there_are_enough_scenarios_and_names_are_used_once() -> None:
    """At least 200 (issue 4)."""
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


def between_kafkas() -> Iterator[tuple[str, Difference, tuple[Value, Value], str]]:
    """Where the two versions differ, and the state that the newer one shows of the group at that step."""
    for theme, one in ALL:
        if OLDER in one.kafkas:
            newest = flat_steps(one, load(NEWEST, theme)[one.name])
            for place, pair in differences(one, load(NEWEST, theme)[one.name], load(OLDER, theme)[one.name]).items():
                group = place[1].partition(".")[0]
                yield one.name, place, pair, str(newest.get((place[0], f"{group}.state")))


def is_known(name: str, path: str, pair: tuple[Value, Value], state: str) -> bool:
    """Which field, with which values, and in which state of the group (K11.4, its second table)."""
    if path.endswith(".operations"):
        return pair == OPERATIONS
    newer, older = (() if value == [] else value for value in pair)
    if re.fullmatch(r"groups\[\d+\]\.members\[\d+\]\.assignment\b.*", path):
        return state in {"PreparingRebalance", "CompletingRebalance"} and (older in {ABSENT, ""})
    return (path, newer, older) in ELSEWHERE.get(VERSION.sub("", name), ())


def test_the_older_kafka_differs_only_where_known() -> None:
    """Descriptions outside Stable, errors of commits to no group, blanks in filters (K11.4, its second table)."""
    assert [one for one in between_kafkas() if not is_known(one[0], one[1][1], one[2], one[3])] == []


@pytest.mark.parametrize(
    ("path", "pair", "state", "known"),
    [
        ("groups[0].members[0].assignment", (ABSENT, ""), "PreparingRebalance", True),
        ("groups[0].members[0].assignment", (ABSENT, ""), "Stable", False),
        ("groups[0].members[0].assignment.version", (1, 2), "PreparingRebalance", False),
        ("groups[0].members[0].metadata", (ABSENT, ""), "PreparingRebalance", False),
        ("groups[0].operations", OPERATIONS, "Stable", True),
        ("groups[0].operations", (3400, -2147483648), "Stable", False),
        ("groups[0].state", ("Stable", "Dead"), "Stable", False),
    ],
)
def test_what_is_known_of_the_older_kafka_is_no_more_than_that(
    path: str, pair: tuple[Value, Value], state: str, known: bool
) -> None:
    """Each with its premise, and without."""
    assert is_known("any", path, pair, state) is known


def test_deviations_name_scenarios_that_are_played() -> None:
    """A deviation of nothing is stale."""
    played = {one.name for scenarios in THEMES.values() for one in scenarios}
    assert {name.removesuffix(BEGUN_AS_CONSUMER) for one in deviations() for name in one.differs} <= played


@pytest.mark.parametrize(
    ("path", "kafka", "ours", "forgiven"),
    [
        ("leader", ("NONE", "<a>"), ("NONE", "", []), True),
        ("members[0].member_id", ("NONE", "<a>"), ("NONE", "", []), True),
        ("error", ("NONE", "<a>"), ("NONE", "", []), False),
        ("generation_id", ("NONE", "<a>"), ("NONE", "", []), False),
        ("leader", ("UNKNOWN_MEMBER_ID", "<a>"), ("NONE", "", []), False),
        ("leader", ("NONE", ""), ("NONE", "", []), False),
        ("leader", ("NONE", "<a>"), ("NONE", "<b>", []), False),
        ("members[0].member_id", ("NONE", "<a>"), ("NONE", "", [{"member_id": "<b>"}]), False),
    ],
)
def test_nobody_need_lead_where_groups_begin_as_consumer_groups(
    path: str, kafka: tuple[str, str], ours: tuple[str, str, list[Value]], forgiven: bool
) -> None:
    """Both let the member in, Kafka's classic group under a leader, and ours under none and without members (K4.14)."""
    answers = (
        {"error": kafka[0], "leader": kafka[1]},
        {"error": ours[0], "leader": ours[1], "members": ours[2]},
    )
    left = without_leaders({(1, path): ("a", "b")}, [answers[0]], [answers[1]])
    assert (left == {}) is forgiven


def test_pages_are_up_to_date() -> None:
    """Run `python -m tests.conformance.page` after a change."""
    assert PAGE.read_text(encoding="utf-8") == page()
    assert TESTS_PAGE.read_text(encoding="utf-8") == counterparts_page()
