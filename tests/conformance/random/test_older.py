"""Kafka 3.9.1 is asked what it can read, and what it answers otherwise than 4.3 is known by rule."""

from tests.conformance.random.judging import judge
from tests.conformance.random.older import readable
from tests.conformance.random.sequences import Answered, Drawn, Move, Seen
from tests.support.conformance.calls import beat, chb, commit, describe, describe_consumer, join
from tests.support.conformance.schema import Value
from tests.support.conformance.steps import Call

NOBODY: Value = {"groups": []}


def drawn(*moves: Move) -> Drawn:
    """A sequence of classic members."""
    return Drawn(seed=0, kind="classic", moves=moves)


def answered(error: str) -> Seen:
    """The first step's answer."""
    assert isinstance(NOBODY, dict)
    return Seen(answers=(Answered(asked=1, answer={"error": error}),), classic=NOBODY, consumer=NOBODY)


def test_calls_that_are_not_offered_are_left_out() -> None:
    """Neither KIP-848 nor topic ids in offsets."""
    moves = (join("a"), commit("a", 10), commit("a", 9), describe(6), describe_consumer(), chb("b", 0), beat("a"))
    left = [(one.api, one.version) for one in readable(drawn(*moves)).moves if isinstance(one, Call)]
    assert left == [("JoinGroup", 9), ("OffsetCommit", 9), ("Heartbeat", 4)]


def test_other_code_is_known_of_the_older_kafka_only() -> None:
    """Row 4 of K11.4, and no other pair of codes."""
    kafka, ours = [answered("ILLEGAL_GENERATION")], [answered("GROUP_ID_NOT_FOUND")]
    moves = drawn(commit("a", 9))
    assert judge(moves, kafka, ours, older=True).unexplained == ()
    assert len(judge(moves, kafka, ours).unexplained) == 1
    assert len(judge(moves, ours, kafka, older=True).unexplained) == 1
