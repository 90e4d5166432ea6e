"""Each deliberate bug is found by a law within a few stories (reliability 3.4)."""

from collections.abc import Callable

import pytest

from tests.support import mutants
from tests.support.simulated_bridge import OwnerSubject
from tests.support.simulation.campaign import run_seed

STORIES_MAX = 60
Mutate = Callable[[pytest.MonkeyPatch], None]

TWO_OWNERS = "no partition is processed by two"
LATE_COMMIT = "no commit lands after its partition's release"
NO_REST = "every world comes to rest"

CASES: tuple[tuple[Mutate, int, str], ...] = (
    (mutants.grant_before_release, 0, "nothing raises"),
    (mutants.forget_pending_revocation, 0, TWO_OWNERS),
    (mutants.take_cooperative_for_eager, 0, TWO_OWNERS),
    (mutants.readmit_the_forgotten, 1_100, TWO_OWNERS),
    (mutants.serve_at_once_after_start, 0, TWO_OWNERS),
    (mutants.ignore_commits_in_flight, 0, LATE_COMMIT),
    (mutants.admit_every_commit, 0, LATE_COMMIT),
    (mutants.commit_what_others_have, 0, LATE_COMMIT),
    (mutants.call_at_every_epoch, 0, "nobody is disturbed whose share stays"),
    (mutants.never_expire_classic_sessions, 0, NO_REST),
    (mutants.never_expire_consumer_sessions, 0, NO_REST),
    (mutants.forget_gains, 0, NO_REST),
    (mutants.lose_answers_to_machines, 0, NO_REST),
    (mutants.never_settle, 0, NO_REST),
    (mutants.hold_no_join, 0, "one join a change"),
    (mutants.begin_at_generation_zero, 0, "nobody leads, and a generation is at least 1"),
    (mutants.keep_the_generation_for_other_topics, 250, "a generation keeps its assignment"),
    (mutants.answer_twice, 0, "every request is answered once"),
)


@pytest.mark.parametrize(("mutate", "first_seed", "law"), CASES, ids=[mutate.__name__ for mutate, _, _ in CASES])
def test_mutant_breaks_its_law(monkeypatch: pytest.MonkeyPatch, mutate: Mutate, first_seed: int, law: str) -> None:
    """The law that is broken first is the one that names the damage."""
    mutate(monkeypatch)
    outcomes = (run_seed(seed, OwnerSubject) for seed in range(first_seed, first_seed + STORIES_MAX))
    broken = next((outcome.broken for outcome in outcomes if outcome.broken is not None), None)
    assert broken is not None
    assert broken.law == law
