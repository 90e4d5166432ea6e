"""What is said of a journal that lacks something, and when the machine may have taken it."""

from pathlib import Path

import pytest

from bridge.journal import completeness
from bridge.journal.acknowledged import Acknowledged, Counts, Reading
from bridge.journal.completeness import Loss, find_loss, may_be_lost, refuse_loss

OURS, OTHER = b"o" * 16, b"x" * 16
SAID = Acknowledged(identity=OURS, last=9, written=40, held=12, durable=5, boot=OURS, waits=False)


def reading(**groups: int) -> Reading:
    """The number with these groups."""
    return Reading(SAID, groups)


def test_nothing_is_missing_up_to_the_number() -> None:
    """Or beyond it: what nobody had been told of may be there."""
    assert find_loss(reading(g=9), Counts(9, 40, 12)) is None
    assert find_loss(reading(g=9), Counts(10, 41, 13)) is None


def test_what_is_behind_the_end_is_missing() -> None:
    """So many entries, of the groups that the lost blocks concern."""
    assert find_loss(reading(a=3, c=9, b=8), Counts(7, 33, 5)) == Loss(7, ("b", "c"), has_more_groups=False)


def test_empty_journal_lacks_all_that_it_held() -> None:
    """Not all that was ever written: most of that was condensed away."""
    assert find_loss(reading(a=3), Counts()) == Loss(12, ("a",), has_more_groups=False)


def test_groups_beyond_ten_are_counted() -> None:
    """A sentence stays a sentence."""
    many = {f"group-{number:02}": 9 for number in range(14)}
    loss = find_loss(reading(**many), Counts(8, 39, 11))
    assert loss is not None
    text = str(refuse_loss(Path("/j.db"), loss))
    assert text.startswith(
        "of the journal /j.db 1 entries that had been acknowledged are missing, of groups 'group-00'"
    )
    assert "'group-09' and 4 others; its database" in text
    assert "serve --recover" in text
    assert "of groups that can't be named" in str(Loss(1, (), has_more_groups=True))
    assert "of groups 'a' and others" in str(Loss(1, ("a",), has_more_groups=True))


@pytest.mark.parametrize(
    ("boot", "last", "lawful"), [(OURS, 8, False), (OTHER, 8, True), (OTHER, 4, False), (bytes(16), 8, True)]
)
def test_machine_may_take_what_was_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, boot: bytes, last: int, lawful: bool
) -> None:
    """Only with `normal`, only with another start of the machine, only behind what was known to be on the disk."""
    monkeypatch.setattr(completeness, "boot_id", lambda: boot)
    assert may_be_lost(SAID, Counts(last, 0, 0)) is lawful
    waits = Acknowledged(identity=OURS, last=9, durable=5, boot=OURS, waits=True)
    assert not may_be_lost(waits, Counts(last, 0, 0))
