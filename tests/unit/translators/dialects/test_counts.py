"""Counts in sentences."""

import pytest

from translators.dialects.counts import counted


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
