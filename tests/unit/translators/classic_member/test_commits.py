"""Which commits are admitted (decision 3; K11.4 on K5.11)."""

from dataclasses import replace

import pytest

from tests.support.classic_members import (
    LIMITS,
    A,
    B,
    C,
    completing,
    fenced,
    leaving,
    parts,
    preparing,
    stable,
    tenure,
)
from translators.classic_member.commits import admit_commit
from translators.classic_member.states import Absent, Asked, Silent, State
from translators.classic_member.tenure import Tenure, Vacant
from translators.dialects.coordinator import DepartReason
from translators.dialects.errors import ErrorCode

WORKING = replace(stable(A, B), tenure=Tenure(generation=5, handed=parts(A, B), since={A: 3, B: 5}, released=parts(C)))


@pytest.mark.parametrize(
    ("generation", "partitions", "code"),
    [
        (5, (A, B), ErrorCode.NONE),
        (4, (A,), ErrorCode.NONE),
        (3, (A,), ErrorCode.NONE),
        (2, (A,), ErrorCode.ILLEGAL_GENERATION),
        (4, (A, B), ErrorCode.ILLEGAL_GENERATION),
        (6, (A,), ErrorCode.ILLEGAL_GENERATION),
        (0, (), ErrorCode.ILLEGAL_GENERATION),
        (5, (C,), ErrorCode.ILLEGAL_GENERATION),
        (4, (C,), ErrorCode.ILLEGAL_GENERATION),
    ],
)
def test_stable_commit_needs_unbroken_ownership(
    generation: int, partitions: tuple[object, ...], code: ErrorCode
) -> None:
    """An older generation counts for what was the client's own since then; what was released never counts."""
    asked = [partition for partition in (A, B, C) if partition in partitions]
    assert admit_commit(WORKING, generation, asked) is code


def test_stable_commit_of_foreign_partition_is_admitted_as_in_kafka() -> None:
    """Under the current generation an application may commit what it was never assigned."""
    assert admit_commit(stable(A), 3, [C]) is ErrorCode.NONE
    assert admit_commit(completing(A), 3, [C]) is ErrorCode.NONE


@pytest.mark.parametrize(
    ("generation", "partitions", "code"),
    [
        (5, (A, B), ErrorCode.NONE),
        (5, (A, C), ErrorCode.REBALANCE_IN_PROGRESS),
        (4, (A,), ErrorCode.NONE),
        (4, (A, C), ErrorCode.ILLEGAL_GENERATION),
        (6, (A,), ErrorCode.ILLEGAL_GENERATION),
    ],
)
def test_member_that_has_not_heard_what_is_left_to_it_is_not_told_to_give_up_all(
    generation: int, partitions: tuple[object, ...], code: ErrorCode
) -> None:
    """Clients that commit between their JoinGroup and their SyncGroup name what they had; Kafka says 27 (K5.7)."""
    asked = [partition for partition in (A, B, C) if partition in partitions]
    assert admit_commit(replace(completing(A, B), tenure=WORKING.tenure), generation, asked) is code


def test_parked_commit_waits_for_the_coordinators_word() -> None:
    """While an eager member's release is under way, nobody knows what is still its own."""
    assert admit_commit(preparing(Asked(), tenure(A, B)), 3, [A]) is ErrorCode.REBALANCE_IN_PROGRESS
    assert admit_commit(replace(preparing(Asked(), tenure(A)), using=parts(A)), 3, [A]) is ErrorCode.NONE
    assert admit_commit(preparing(Asked(), tenure(A)), 2, [A]) is ErrorCode.ILLEGAL_GENERATION


def test_parked_commit_is_admitted_for_what_is_held() -> None:
    """Once confirmed, the old generation counts for what the coordinator still holds, and for nothing else."""
    held = preparing(Silent(), Tenure(generation=3, handed=parts(A, B), since={A: 3}, released=parts(B)))
    assert admit_commit(held, 3, [A]) is ErrorCode.NONE
    assert admit_commit(held, 3, [B]) is ErrorCode.ILLEGAL_GENERATION
    assert admit_commit(preparing(Silent(), Vacant(3)), 3, [A]) is ErrorCode.ILLEGAL_GENERATION


@pytest.mark.parametrize(
    ("state", "code"),
    [
        (Absent(LIMITS), ErrorCode.UNKNOWN_MEMBER_ID),
        (leaving(DepartReason.LEFT, Asked()), ErrorCode.UNKNOWN_MEMBER_ID),
        (leaving(DepartReason.REPLACED, Asked()), ErrorCode.UNKNOWN_MEMBER_ID),
        (fenced(ErrorCode.ILLEGAL_GENERATION), ErrorCode.ILLEGAL_GENERATION),
    ],
)
def test_member_that_is_out_commits_nothing(state: State, code: ErrorCode) -> None:
    """A fenced member's commit never lands (decisions 2 and 15)."""
    assert admit_commit(state, 3, [A]) is code
