"""Kafka 3.9.1 is asked what it can read, and what it answers otherwise than 4.3 is known by rule."""

import pytest

from tests.conformance.random import older
from tests.conformance.random.judging import judge
from tests.conformance.random.older import readable
from tests.conformance.random.plots import answered, classic, drawn, found, scene, seen
from tests.conformance.random.sequences import Answered, Seen
from tests.support.conformance.calls import (
    beat,
    chb,
    commit,
    delete_offsets,
    describe,
    describe_consumer,
    fetch,
    join,
    list_groups,
)
from tests.support.conformance.steps import Call, Part


def failed(error: str) -> Seen:
    """The first step's answer."""
    return seen(answered(1, error))


def test_calls_that_are_not_offered_are_left_out() -> None:
    """Neither KIP-848 nor topic ids in offsets."""
    moves = (join("a"), commit("a", 10), commit("a", 9), describe(6), describe_consumer(), chb("b", 0), beat("a"))
    left = [(one.api, one.version) for one in readable(drawn(*moves)).moves if isinstance(one, Call)]
    assert left == [("JoinGroup", 9), ("OffsetCommit", 9), ("Heartbeat", 4)]


def test_other_code_is_known_of_the_older_kafka_only() -> None:
    """A commit under a generation to a group that nobody knows (K11.4, row 4), and no other pair of codes."""
    kafka, ours = [failed("ILLEGAL_GENERATION")], [failed("GROUP_ID_NOT_FOUND")]
    moves = drawn(commit("a", 9))
    assert judge(moves, kafka, ours, older=True).unexplained == ()
    assert len(judge(moves, kafka, ours).unexplained) == 1
    assert len(judge(moves, ours, kafka, older=True).unexplained) == 1


def test_every_rule_has_its_own_test_here() -> None:
    """A rule that nobody tries with its premise broken forgives by area."""
    names = {rule.applies.__name__ for rule in older.OLDER_RULES} - {"other_code_for_nobody"}
    tried = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    assert {name for name in names if not any(one.startswith(name) for one in tried)} == set()


@pytest.mark.parametrize(
    ("state", "kafka", "leaf", "forgiven"),
    [
        ("PreparingRebalance", "", "assignment", True),
        ("Stable", "", "assignment", False),
        ("PreparingRebalance", "other", "assignment", False),
        ("PreparingRebalance", "", "metadata", False),
    ],
)
def test_shows_no_assignment(state: str, kafka: str, leaf: str, forgiven: bool) -> None:
    """Outside Stable, and nothing instead."""
    its = scene([beat("a")], [seen(classic=classic(state, "a"))], [seen(classic=classic(state, "a"))])
    one = found(f"classic view.groups[0].members[0].{leaf}", kafka, "(absent)")
    assert older.shows_no_assignment(its, one) is forgiven


@pytest.mark.parametrize(
    ("code", "states", "members", "forgiven"),
    [
        ("NONE", ("Dead", "Empty"), (), True),
        ("NON_EMPTY_GROUP", ("Dead", "Empty"), (), False),
        ("NONE", ("Dead", "Stable"), (), False),
        ("NONE", ("Dead", "Empty"), ("a",), False),
    ],
)
def test_forgets_simple_group(code: str, states: tuple[str, str], members: tuple[str, ...], forgiven: bool) -> None:
    """Offsets were deleted on both sides, and nobody is in."""
    sides = [[seen(answered(1, code), classic=classic(state, *members))] for state in states]
    its = scene([delete_offsets()], *sides)
    assert older.forgets_simple_group(its, found("classic view.groups[0].state", *states)) is forgiven


@pytest.mark.parametrize(
    ("states", "listed", "forgiven"),
    [
        ((" EMPTY",), (False, True), True),
        (("EMPTY",), (False, True), False),
        ((" EMPTY", "Empty"), (False, True), False),
        ((" STABLE",), (False, True), False),
        ((" EMPTY",), (True, False), False),
    ],
)
def test_does_not_trim(states: tuple[str, ...], listed: tuple[bool, bool], forgiven: bool) -> None:
    """The group is in the state that was written with a blank, and in no other that was asked for."""
    sides = [
        [seen(Answered(asked=1, answer={"groups": [{"group_id": "$g"}] if one else []}), classic=classic("Empty"))]
        for one in listed
    ]
    its = scene([list_groups(4, states)], *sides)
    assert older.does_not_trim(its, found("answer.groups[0].group_id", "(absent)", "$g")) is forgiven


@pytest.mark.parametrize(
    ("groups", "kafka", "forgiven"), [([], False, True), ([], True, False), ([{"group_id": "$g"}], False, False)]
)
def test_never_answers(groups: list[Part], kafka: bool, forgiven: bool) -> None:
    """A fetch of no group, which Kafka leaves without an answer."""
    its = scene([fetch("a", 8, groups=groups)], [seen(*[answered(1)] * kafka)], [seen(answered(1, groups=[]))])
    assert older.never_answers(its, found("answer.groups", "(absent)", "[]")) is forgiven


@pytest.mark.parametrize(
    ("asks", "values", "forgiven"),
    [(True, (328, 3400), True), (False, (328, 3400), False), (True, (3400, 328), False), (True, (328, 0), False)],
)
def test_fewer_operations(asks: bool, values: tuple[int, int], forgiven: bool) -> None:
    """Asked for, and just these."""
    its = scene([describe(5, operations=asks)], [seen()], [seen()])
    assert older.fewer_operations(its, found("answer.groups[0].operations", *values)) is forgiven
