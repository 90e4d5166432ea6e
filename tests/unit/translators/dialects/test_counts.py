"""Counts in sentences, and out of texts."""

import pytest

from translators.dialects.counts import counted, read_count


@pytest.mark.parametrize(
    ("count", "said"), [(0, "0 members"), (1, "1 member"), (2, "2 members"), (12_000, "12,000 members")]
)
def test_noun_agrees_with_its_count(count: int, said: str) -> None:
    """An s where there is not just one."""
    assert counted(count, "member") == said


@pytest.mark.parametrize(("count", "said"), [(0, "0 are gone"), (1, "1 is gone"), (3, "3 are gone")])
def test_verb_agrees_with_it_too(count: int, said: str) -> None:
    """Both forms are said where they differ in more than an s."""
    assert counted(count, "is gone", "are gone") == said


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("0", 0),
        ("007", 7),
        ("100", 100),
        ("101", None),
        ("0" * 9_000 + "9", 9),
        ("9" * 9_000, None),
        ("", None),
        ("-1", None),
        ("+1", None),
        ("1_0", None),
        (" 1", None),
        ("1.0", None),
        ("\u0663", None),
        ("\u00b2", None),
    ],
)
def test_number_is_digits_alone_and_no_more_than_there_may_be(text: str, count: int | None) -> None:
    """Python's own `int` takes signs, blanks and digits of other scripts, and raises for very many."""
    assert read_count(text, 100) == count
