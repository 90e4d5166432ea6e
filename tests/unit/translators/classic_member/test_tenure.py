"""When the generation moves, and since when a partition is the client's own (decision 3)."""

from tests.support.classic_members import A, B, C, parts, tenure
from translators.classic_member.tenure import (
    Tenure,
    Vacant,
    amend,
    generation_of,
    hand_over,
    prune,
    still_releasing,
    usable,
)

NONE = parts()


def test_newcomer_gets_generation_one() -> None:
    """The first hand-out is generation 1 even if it is empty: 0 is never told (clients.md, 4)."""
    assert hand_over(Vacant(), NONE, NONE) == Tenure(generation=1, handed=NONE, since={})


def test_same_assignment_keeps_the_generation() -> None:
    """A client that gets back what it had is in the same generation (decision 12)."""
    assert hand_over(tenure(A, B), parts(A, B), NONE) == tenure(A, B)


def test_other_topics_move_the_generation_before_their_assignment_is_known() -> None:
    """What was handed out in a generation stays as it was: amended is only the next one (K1.36)."""
    moved = hand_over(tenure(A, B), parts(A, B), NONE, is_resubscribing=True)
    assert moved == Tenure(generation=4, handed=parts(A, B), since={A: 3, B: 3})


def test_changed_assignment_moves_the_generation_and_keeps_since() -> None:
    """What stays was the client's own since before; what is new is so from the new generation on."""
    assert hand_over(tenure(A, generation=3), parts(A, B), NONE) == Tenure(
        generation=4, handed=parts(A, B), since={A: 3, B: 4}
    )


def test_partition_that_was_away_moves_the_generation() -> None:
    """The same assignment with a break in between is not the same: another owner may have committed."""
    pruned = prune(tenure(A, B), parts(A))
    assert hand_over(pruned, parts(A, B), NONE) == Tenure(generation=4, handed=parts(A, B), since={A: 3, B: 4})


def test_partition_that_was_lost_moves_the_generation() -> None:
    """An eager client that gets less is in a new generation, although what it gets was its own throughout."""
    pruned = prune(tenure(A, B), parts(A))
    assert hand_over(pruned, parts(A), NONE) == Tenure(generation=4, handed=parts(A), since={A: 3})


def test_fenced_member_moves_the_generation() -> None:
    """Generations before a fence stay used up."""
    assert hand_over(Vacant(3), NONE, NONE).generation == 4


def test_cooperative_loss_is_kept_until_let_go() -> None:
    """What a cooperative client still uses stays usable, and what it gains is new."""
    after = hand_over(tenure(A, B), parts(A, C), parts(A, B))
    assert after == Tenure(generation=4, handed=parts(A, C), since={A: 3, B: 3, C: 4})
    assert still_releasing(after)
    assert usable(after) == parts(A, B, C)


def test_follow_up_of_a_cooperative_client_keeps_the_generation() -> None:
    """The rejoin after the release changes nothing but that the lost partition is gone."""
    between = Tenure(generation=4, handed=parts(A), since={A: 3, B: 3})
    after = hand_over(prune(between, parts(A)), parts(A), parts(A))
    assert after == Tenure(generation=4, handed=parts(A), since={A: 3}, released=parts(B))


def test_prune_of_nothing_is_the_same_value() -> None:
    """No copy is made where nothing is lost."""
    whole = tenure(A)
    assert prune(whole, parts(A, B)) is whole
    assert prune(Vacant(2), NONE) == Vacant(2)


def test_amend_stays_in_its_generation() -> None:
    """Before SyncGroup the assignment may grow and shrink; what shrank away was released."""
    assert amend(tenure(A), parts(B), NONE) == Tenure(generation=3, handed=parts(B), since={B: 3}, released=parts(A))


def test_vacant_uses_nothing() -> None:
    """A newcomer holds nothing."""
    assert (usable(Vacant(2)), generation_of(Vacant(2)), generation_of(tenure(A))) == (NONE, 2, 3)
