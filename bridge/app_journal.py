"""The journal that the configuration names, opened for the embedded groups as long as the bridge runs.

It must not know what is in it.
"""

from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path

from bridge.config import Config
from bridge.coordinators.embedded import EmbeddedGroups
from bridge.journal.refusals import JournalForeign
from bridge.journal.sqlite import open_journal
from bridge.journal.sqlite_file import FileSettings
from translators.dialects.versioned import UnreadableRecord


def file_settings(config: Config) -> FileSettings | None:
    """Where the journal is and how it is written, None where groups live in memory only."""
    settings = config.settings
    if settings.journal == "memory":
        return None
    return FileSettings(
        path=Path(settings.journal_path), sync=settings.journal_sync, bytes_max=settings.journal_bytes_max
    )


def keep_journal(config: Config, groups: EmbeddedGroups) -> AbstractContextManager[object]:
    """Let the groups go on with what the journal holds, and write to it until the end of the context.

    Raises `refusals.JournalRefused` for a journal that can't be used.
    """
    settings = file_settings(config)
    if settings is None:
        return nullcontext()
    journal = open_journal(settings, recovers=config.settings.journal_recover)
    try:
        groups.keep(journal)
    except UnreadableRecord as problem:
        journal.close()
        raise JournalForeign(f"{settings.path} holds what can't be read: {problem}") from problem
    except BaseException:
        journal.close()
        raise
    return closing(journal)
