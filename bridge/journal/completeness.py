"""Whether a journal has everything that was ever acknowledged, and what is missing otherwise, in words."""

from dataclasses import dataclass
from pathlib import Path

from bridge.journal.acknowledged import Acknowledged, Counts, Reading, boot_id
from bridge.journal.refusals import RECOVER_HINT, JournalIncomplete

NAMED_MAX = 10
"""So many groups are named; of the others the number is said."""


@dataclass(frozen=True, slots=True)
class Loss:
    """What is not there any more although answers that depend on it had left."""

    entries: int
    groups: tuple[str, ...]
    has_more_groups: bool

    def __str__(self) -> str:
        named = ", ".join(map(repr, self.groups[:NAMED_MAX]))
        more = len(self.groups) - NAMED_MAX
        others = f" and {more} others" if more > 0 else " and others" if self.has_more_groups and named else ""
        whose = f"of groups {named}{others}" if named else "of groups that can't be named"
        return f"{self.entries} entries that had been acknowledged are missing, {whose}"


def find_loss(reading: Reading, found: Counts) -> Loss | None:
    """What the journal lacks of what was acknowledged; entries that nobody had been told of don't count."""
    acknowledged = reading.acknowledged
    if found.last >= acknowledged.last:
        return None
    is_empty = found.last == 0
    entries = acknowledged.held if is_empty else max(acknowledged.written - found.written, 1)
    groups = tuple(reading.groups_behind(found.last))
    return Loss(entries, groups, has_more_groups=acknowledged.forgotten > found.last)


def may_be_lost(acknowledged: Acknowledged, found: Counts) -> bool:
    """Whether this is what `journal.sync: normal` allows: the machine went down and took the tail with it."""
    boot = boot_id()
    is_other_start = boot != acknowledged.boot or not any(boot)
    return not acknowledged.waits and is_other_start and found.last >= acknowledged.durable


def refuse_loss(path: Path, loss: Loss) -> JournalIncomplete:
    """The words for entries that are gone."""
    return JournalIncomplete(
        f"of the journal {path} {loss}; its database or write-ahead log was emptied, cut, or exchanged for an older "
        f"copy. Restore the files from a copy, or {RECOVER_HINT}: members of these groups join anew"
    )


def refuse_missing_number(path: Path, beside: Path, held: int) -> JournalIncomplete:
    """The words for a journal whose file of the acknowledged number is gone."""
    return JournalIncomplete(
        f"the journal {path} has {held} entries, but {beside.name} beside it is missing, so nobody can say whether "
        f"they are all that was acknowledged. Restore that file with the journal, or {RECOVER_HINT}"
    )


def refuse_unreadable_number(path: Path, problem: Exception) -> JournalIncomplete:
    """The words for a damaged file of the acknowledged number."""
    return JournalIncomplete(
        f"{problem}, so nobody can say whether the journal {path} has all that was acknowledged. "
        f"Restore that file with the journal, or {RECOVER_HINT}"
    )


def refuse_other_journal(path: Path, beside: Path) -> JournalIncomplete:
    """The words for two files that don't belong together."""
    return JournalIncomplete(
        f"{beside} belongs to another journal than {path}: one of the two was exchanged. "
        f"Restore both from the same copy, or {RECOVER_HINT}"
    )
