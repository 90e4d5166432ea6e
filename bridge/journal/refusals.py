"""Why a journal can't be used, in words an operator can act on."""

RECOVER_HINT = "start once with `epochbridge serve --recover` to go on with what is whole (the damaged file is kept)"


class JournalRefused(Exception):
    """The journal can't be opened; the text says what was found, the likely cause and the next step."""

    code = "EB-JOURNAL-001"


class JournalInUse(JournalRefused):
    """Another process has the journal open."""

    code = "EB-JOURNAL-002"


class JournalDamaged(JournalRefused):
    """What was written, and acknowledged, is not there any more as it was; `found` says how that shows."""

    code = "EB-JOURNAL-003"

    def __init__(self, found: str) -> None:
        super().__init__(
            f"the journal is damaged: {found}; a disk or a copy went wrong. Restore it from a copy, or {RECOVER_HINT}"
        )


class JournalForeign(JournalRefused):
    """The file is not a journal, or one that only a newer release can read."""

    code = "EB-JOURNAL-004"


class JournalIncomplete(JournalDamaged):
    """The journal may be whole in itself, but lacks what was acknowledged, or what would tell."""

    code = "EB-JOURNAL-007"

    def __init__(self, sentence: str) -> None:
        JournalRefused.__init__(self, sentence)
