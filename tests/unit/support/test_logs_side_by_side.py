"""What is left out of the event log's account before it is held against a client's own."""

from tests.support.logs_side_by_side import Change, signs, without_unseen

A, B, C = (frozenset({f"t-{index}"}) for index in range(3))


def changes(*said: tuple[str, frozenset[str]]) -> list[Change]:
    """One after another."""
    return [Change(sign, partitions, place) for place, (sign, partitions) in enumerate(said)]


def test_assignment_that_was_given_back_at_once_is_left_out() -> None:
    """By itself, or with what the application knew of."""
    told = changes(("+", A), ("-", A))
    assert signs(without_unseen(changes(("+", B), ("-", B), ("+", A), ("-", A)), told)) == signs(told)
    assert signs(without_unseen(changes(("+", A), ("+", B), ("-", A | B)), told)) == signs(told)


def test_nothing_else_is_left_out() -> None:
    """What the client told, what it kept, and what nobody gave back."""
    told = changes(("+", A), ("-", A))
    for heard in (told, changes(("+", A), ("+", B), ("-", A)), changes(("+", A | C), ("-", A), ("+", B))):
        assert without_unseen(heard, told) == heard
