"""Rules about commits and what is read of them: each forgives what it is about, and not with its premise broken."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from tests.conformance.random import commit_rules as rules
from tests.conformance.random.plots import NOBODY, classic, consumer, found, native, scene, seen, share
from tests.conformance.random.sequences import Answered
from tests.support.conformance.calls import commit, committed_topics, fetch
from tests.support.conformance.schema import Value
from tests.support.conformance.steps import Call

Row = Mapping[str, Value]
HALVES = (native("a", share(0, 1, 2)), native("b", share(3, 4, 5)))
MOVED = native("a", share(0, 1)), native("b", share(2, 3, 4, 5))


def test_every_rule_has_its_own_test_here() -> None:
    """A rule that nobody tries with its premise broken forgives by area."""
    names = {rule.applies.__name__ for rule in rules.COMMIT_RULES}
    tried = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    assert {name for name in names if not any(one.startswith(name) for one in tried)} == set()


@pytest.mark.parametrize(
    ("partition", "groups", "codes", "forgiven"),
    [
        (3, (consumer(*HALVES), consumer(*HALVES)), ("NONE", "STALE_MEMBER_EPOCH"), True),
        (0, (consumer(*HALVES), consumer(*HALVES)), ("NONE", "STALE_MEMBER_EPOCH"), False),
        (3, (consumer(*MOVED), consumer(HALVES[0])), ("NONE", "STALE_MEMBER_EPOCH"), False),
        (3, (consumer(HALVES[0]), consumer(*HALVES)), ("NONE", "STALE_MEMBER_EPOCH"), False),
        (3, (consumer(*HALVES), consumer(*HALVES)), ("NONE", "UNKNOWN_MEMBER_ID"), False),
        (3, (consumer(*HALVES), consumer(*HALVES)), ("UNKNOWN_MEMBER_ID", "STALE_MEMBER_EPOCH"), False),
    ],
)
@pytest.mark.parametrize("version", [9, 10])
def test_another_owner(
    version: int, partition: int, groups: tuple[Row, Row], codes: tuple[str, str], forgiven: bool
) -> None:
    """The partition is another's on both sides, and not its own."""
    call = commit("a", version, member_id="<a>", topics=committed_topics(version, partitions=(partition,)))
    kafka, ours = ([seen(consumer=group)] for group in groups)
    one = found("answer.topics[0].partitions[0].error", *codes)
    assert rules.another_owner(scene([call], kafka, ours), one) is forgiven


def commit_answer(asked: int, code: str) -> Answered:
    """The answer to a commit for one partition."""
    rows: list[Value] = [{"partition": 3, "error": code}]
    return Answered(asked=asked, answer={"topics": [{"name": "wire-six", "partitions": rows}]})


def fetch_answer(asked: int, *offsets: int) -> Answered:
    """The answer to a fetch: partitions from 3 on."""
    rows: list[Value] = [
        {"partition": 3 + at, "offset": offset, "metadata": "", "error": "NONE"} for at, offset in enumerate(offsets)
    ]
    return Answered(asked=asked, answer={"topics": [{"name": "wire-six", "partitions": rows}]})


@pytest.mark.parametrize(
    ("ours", "read", "forgiven"),
    [
        ("STALE_MEMBER_EPOCH", ((42,), (-1,)), True),
        ("UNKNOWN_MEMBER_ID", ((42,), (-1,)), False),
        ("NONE", ((42,), (-1,)), False),
        ("STALE_MEMBER_EPOCH", ((42, 5), (-1, 6)), False),
        ("STALE_MEMBER_EPOCH", ((42, 5), (-1, 5)), True),
    ],
)
def test_not_committed(ours: str, read: tuple[tuple[int, ...], tuple[int, ...]], forgiven: bool) -> None:
    """What was refused, and nothing else."""
    moves = [commit("a", 9, topics=committed_topics(partitions=(3,))), fetch("x", 5)]
    kafka = [seen(commit_answer(1, "NONE")), seen(fetch_answer(2, *read[0]))]
    our = [seen(commit_answer(1, ours)), seen(fetch_answer(2, *read[1]))]
    one = found("answer.topics[0].partitions[0].offset", 42, -1, asked=2, step=2)
    assert rules.not_committed(scene(moves, kafka, our), one) is forgiven


@pytest.mark.parametrize(
    ("partition", "codes", "forgiven"),
    [
        (3, ("NONE", "NONE"), False),
        (4, ("NONE", "NONE"), True),
        (3, ("NONE", "STALE_MEMBER_EPOCH"), True),
        (3, ("UNKNOWN_MEMBER_ID", "UNKNOWN_MEMBER_ID"), True),
    ],
)
def test_not_committed_unless_it_was_since(partition: int, codes: tuple[str, str], forgiven: bool) -> None:
    """What both took later is to be read on both."""
    moves = [*(commit("a", 9, topics=committed_topics(partitions=(one,))) for one in (3, partition)), fetch("x", 5)]
    courses = [
        [seen(commit_answer(1, first)), seen(commit_answer(2, code)), seen(fetch_answer(3, offset))]
        for first, code, offset in zip(("NONE", "STALE_MEMBER_EPOCH"), codes, (42, -1), strict=True)
    ]
    one = found("answer.topics[0].partitions[0].offset", 42, -1, asked=3, step=3)
    assert rules.not_committed(scene(moves, courses[0], courses[1]), one) is forgiven


SIMPLE = commit("x", 2, generation_id=-1, member_id="")
IN_TRANSACTION = Call(who="t", api="TxnOffsetCommit", version=2, fields={"group_id": "$g", "topics": []})
OFFSETS_ONLY, LEFT = classic("Empty", protocol_type=""), classic("Empty", protocol_type="consumer")
JOIN_ANEW = ("UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION")


@pytest.mark.parametrize(
    ("first", "call", "codes", "forgiven"),
    [
        (SIMPLE, commit("a", 8), JOIN_ANEW, True),
        (IN_TRANSACTION, commit("a", 8), JOIN_ANEW, True),
        (SIMPLE, replace(IN_TRANSACTION, version=3, fields={"group_id": "$g", "generation_id": 4}), JOIN_ANEW, True),
        (commit("x", 2, group_id="$g-x", generation_id=-1), commit("a", 8), JOIN_ANEW, False),
        (commit("x", 2, generation_id=3), commit("a", 8), JOIN_ANEW, False),
        (SIMPLE, commit("a", 8, group_id="$g-x"), JOIN_ANEW, False),
        (SIMPLE, commit("a", 8, generation_id=-1), JOIN_ANEW, False),
        (SIMPLE, commit("a", 9), JOIN_ANEW, False),
        (SIMPLE, fetch("a", 8), JOIN_ANEW, False),
        (SIMPLE, commit("a", 8), ("ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID"), False),
        (SIMPLE, commit("a", 8), ("NONE", "ILLEGAL_GENERATION"), False),
    ],
)
def test_generation_in_offsets_only(first: Call, call: Call, codes: tuple[str, str], forgiven: bool) -> None:
    """An earlier commit made the group of offsets, and this one names a generation in it."""
    course = [seen(commit_answer(1, "NONE"), classic=OFFSETS_ONLY), seen(classic=OFFSETS_ONLY)]
    one = found("answer.topics[0].partitions[0].error", *codes, asked=2, step=2)
    assert rules.generation_in_offsets_only(scene([first, call], course, course), one) is forgiven


@pytest.mark.parametrize(
    ("first", "groups", "forgiven"),
    [
        (("NONE", "NONE"), (OFFSETS_ONLY, OFFSETS_ONLY), True),
        (("NONE", "ILLEGAL_GENERATION"), (OFFSETS_ONLY, OFFSETS_ONLY), False),
        (("UNKNOWN_MEMBER_ID", "NONE"), (OFFSETS_ONLY, OFFSETS_ONLY), False),
        (("NONE", "NONE"), (LEFT, OFFSETS_ONLY), False),
        (("NONE", "NONE"), (OFFSETS_ONLY, LEFT), False),
        (("NONE", "NONE"), (OFFSETS_ONLY, classic("Stable", "a", protocol_type="")), False),
        (("NONE", "NONE"), (OFFSETS_ONLY, NOBODY), False),
    ],
)
def test_generation_in_offsets_only_of_nobody(first: tuple[str, str], groups: tuple[Row, Row], forgiven: bool) -> None:
    """The group was made of offsets on both sides, and nobody was ever in it."""
    kafka, ours = (
        [seen(commit_answer(1, code), classic=group), seen(classic=group)]
        for code, group in zip(first, groups, strict=True)
    )
    one = found("answer.topics[0].partitions[0].error", *JOIN_ANEW, asked=2, step=2)
    assert rules.generation_in_offsets_only(scene([SIMPLE, commit("a", 8)], kafka, ours), one) is forgiven
