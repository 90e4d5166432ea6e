"""The differential tester by itself: what differs is found, what is known explained, sequences made short."""

from dataclasses import replace

import pytest

from tests.conformance.random.comparing import Found, differences
from tests.conformance.random.drawing import draw
from tests.conformance.random.judging import Verdict, judge
from tests.conformance.random.sequences import KINDS, Answered, Course, Drawn, Move, Seen
from tests.conformance.random.shrinking import shrink
from tests.conformance.random.writing import scenario_of
from tests.support.conformance.calls import beat, chb, join
from tests.support.conformance.schema import Value
from tests.support.conformance.steps import Call, Pause

NOBODY: Value = {"error": "GROUP_ID_NOT_FOUND", "state": "Dead"}


def seen(*answers: Answered) -> Seen:
    """A step after which the group is unknown."""
    return Seen(answers=answers, classic={"groups": [NOBODY]}, consumer={"groups": [NOBODY]})


def answered(asked: int, error: str) -> Answered:
    """An answer that is an error and nothing else."""
    return Answered(asked=asked, answer={"error": error})


def drawn(*moves: Move) -> Drawn:
    """A sequence of classic members."""
    return Drawn(seed=0, kind="classic", moves=moves)


def lines(verdict: Verdict) -> list[str]:
    """What nobody can explain."""
    return [one.line() for one in verdict.unexplained]


def test_same_seed_draws_the_same_sequence_and_another_another() -> None:
    """Or no difference could be looked at again."""
    assert {draw(7, kind) == draw(7, kind) for kind in KINDS} == {True}
    assert draw(7).moves != draw(9).moves


def test_other_answer_is_found_with_both_values() -> None:
    """Field by field."""
    found = differences([seen(answered(1, "NONE"))], [seen(answered(1, "UNKNOWN_MEMBER_ID"))])
    assert [one.line() for one in found] == ["step 1 answer.error: 'NONE' -> 'UNKNOWN_MEMBER_ID'"]


def test_answer_that_comes_later_is_found() -> None:
    """When a parked request is answered counts as well."""
    kafka, ours = [seen(), seen(answered(1, "NONE"))], [seen(answered(1, "NONE")), seen()]
    assert [one.line() for one in differences(kafka, ours)] == [
        "step 1 answered in step: 2 -> 1",
    ]


def test_superseded_request_is_explained_and_nothing_else_with_it() -> None:
    """K1.52: only an answer that Kafka never gives, and only with the codes that say so."""
    moves = drawn(join("a"), join("a"))
    silent: Course = [seen(), seen()]
    assert lines(judge(moves, silent, [seen(), seen(answered(1, "NOT_COORDINATOR"))])) == []
    wrong = judge(moves, silent, [seen(), seen(answered(1, "ILLEGAL_GENERATION"))])
    assert "answer.error: '(absent)' -> 'ILLEGAL_GENERATION'" in " ".join(lines(wrong))


@pytest.mark.parametrize(
    ("assignor", "share", "left"), [("uniform", [0], 0), ("range", [0], 1), ("uniform", [0, 1], 1)]
)
def test_other_partitions_of_uniform_are_explained_and_other_sizes_are_not(
    assignor: str, share: list[Value], left: int
) -> None:
    """K9.4: hash order decides which, never how many."""

    def course(partitions: list[Value]) -> Course:
        row: Value = {"target_assignment": {"topic_partitions": [{"partitions": partitions}]}}
        group: Value = {"error": "NONE", "state": "Stable", "assignor": assignor, "members": [row]}
        return [Seen(answers=(), classic={"groups": [NOBODY]}, consumer={"groups": [group]})]

    assert len(judge(drawn(chb("a", 0)), course([5]), course(share)).unexplained) == left


def test_comparison_ends_where_courses_part_on_purpose() -> None:
    """K2.20: what follows can't be compared, and is not counted as compared."""
    moves = drawn(chb("a", 0), chb("a", 0), beat("a"))
    kafka = [seen(answered(1, "NONE")), seen(answered(2, "UNRELEASED_INSTANCE_ID")), seen(answered(3, "NONE"))]
    ours = [seen(answered(1, "NONE")), seen(answered(2, "NONE")), seen(answered(3, "UNKNOWN_MEMBER_ID"))]
    verdict = judge(moves, kafka, ours)
    assert (lines(verdict), verdict.steps) == ([], 2)


def test_code_of_the_new_protocol_may_not_reach_a_classic_client() -> None:
    """K4.60, in mixed groups, where answers are not compared one by one."""
    moves = replace(drawn(beat("a")), kind="mixed")
    leak = [seen(answered(1, "STALE_MEMBER_EPOCH"))]
    assert len(judge(moves, [seen(answered(1, "NONE"))], leak).unexplained) == 1


def test_sequence_is_made_as_short_as_the_difference_allows() -> None:
    """Two of eight steps are needed."""

    def examine(one: Drawn) -> Verdict:
        calls = [move for move in one.moves if isinstance(move, Call)]
        differs = [move.api for move in calls] == ["JoinGroup", "Heartbeat"] or len(calls) > len(("join", "beat"))
        found = Found(step=len(one.moves), asked=len(one.moves), path="answer.error", kafka="NONE", ours="?")
        return Verdict(unexplained=(found,) if differs else (), rules={}, steps=len(one.moves))

    waits = [Pause(ms=1)] * 3
    whole = drawn(*waits, join("a"), *waits, beat("a"))
    small, _ = shrink(examine, whole, examine(whole))
    assert [type(move).__name__ for move in small.moves] == ["Call", "Call"]


def test_sequence_is_written_as_a_scenario_with_what_was_parked() -> None:
    """To be put among the recorded ones as it is."""
    text = scenario_of(drawn(join("a"), beat("b")), [seen(), seen(answered(2, "NONE"), answered(1, "NONE"))])
    assert "parked(Call(who='a', api='JoinGroup'" in text
    assert 'Await(who="a")' in text
