"""Every refusal says what was found and what to do, under its own code."""

from bridge.journal.refusals import JournalDamaged, JournalForeign, JournalIncomplete, JournalInUse, JournalRefused


def test_codes_are_told_apart() -> None:
    """An operator looks them up."""
    kinds = (JournalRefused, JournalInUse, JournalDamaged, JournalForeign, JournalIncomplete)
    assert len({kind.code for kind in kinds}) == len(kinds)


def test_damage_names_the_way_out_once() -> None:
    """What is incomplete says its own sentence, and counts as damage where that is mended."""
    damaged = str(JournalDamaged("block 3 of 9 is not whole"))
    assert damaged.startswith("the journal is damaged: block 3 of 9 is not whole; a disk or a copy went wrong.")
    assert damaged.count("serve --recover") == 1
    incomplete: JournalDamaged = JournalIncomplete("3 entries are missing")
    assert str(incomplete) == "3 entries are missing"
