"""Why a journal can't be used, in words an operator can act on.

It must not know how journals are kept.
"""


class JournalRefused(Exception):
    """The journal can't be opened; the text says what was found, the likely cause and the next step."""

    code = "EB-JOURNAL-001"


class JournalInUse(JournalRefused):
    """Another process has the journal open."""

    code = "EB-JOURNAL-002"


class JournalDamaged(JournalRefused):
    """What was written, and acknowledged, is not there any more as it was."""

    code = "EB-JOURNAL-003"


class JournalForeign(JournalRefused):
    """The file is not a journal, or one that only a newer release can read."""

    code = "EB-JOURNAL-004"
