"""The journal that the configuration names, opened for the embedded groups as long as the bridge runs."""

import logging
import re
from collections.abc import Mapping
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import Protocol

from bridge.config.configuration import Config
from bridge.config.sources import state_folder
from bridge.coordinators.owner_task import RestingCollector
from bridge.journal.refusals import JournalForeign, JournalRefused
from bridge.journal.sqlite import open_journal
from bridge.journal.sqlite_file import FileSettings
from bridge.migration.route import Road
from bridge.ports import Journal
from translators.dialects.plain import UnreadableRecord

LOG = logging.getLogger("epochbridge.app")
PRIVATE = 0o700
UNWRITTEN = nullcontext()
"""Stands for a journal that can't be had."""
_UNSAFE = re.compile(r"[^A-Za-z0-9.-]+")


class Keeping(Protocol):
    """Groups that go on with what a journal holds."""

    def keep(self, journal: Journal) -> None:
        """Write to this journal from now on; raises `plain.UnreadableRecord`."""
        ...


def file_settings(config: Config, environment: Mapping[str, str], road: Road = Road.EMBEDDED) -> FileSettings | None:
    """Where the journal of a road is and how it is written; None where groups live in memory only.

    Also where no rule sends a group to that road: an order may (`epochbridge move`), and what it moved has to be known
    to the bridge's next life, or the clients are called to join again.
    Members of groups that a broker coordinates have a file of their own beside that of the embedded groups.
    """
    settings = config.settings
    if settings.journal == "memory":
        return None
    path = Path(settings.journal_path) if settings.journal_path else own_path(config, environment)
    if road is not Road.EMBEDDED:
        path = path.with_name(f"{path.stem}-{road}{path.suffix}")
    return FileSettings(path=path, sync=settings.journal_sync, bytes_max=settings.journal_bytes_max)


def own_path(config: Config, environment: Mapping[str, str]) -> Path:
    """Where the journal is if nobody says so: told apart by where clients come and by the cluster behind.

    Two bridges of one user share no journal by chance, and groups of one cluster are not revived before another.
    """
    settings = config.settings
    place = f"{settings.listen}-{settings.bootstrap[0]}" if settings.bootstrap else settings.listen
    return state_folder(environment) / f"{_UNSAFE.sub('_', place)}.db"


def keep_journal(
    config: Config, groups: Keeping, environment: Mapping[str, str], road: Road = Road.EMBEDDED
) -> AbstractContextManager[object]:
    """Let the groups of a road go on with what its journal holds, and write to it until the end of the context.

    Raises `refusals.JournalRefused` for a journal that can't be used. One that was never there, on a road to which no
    rule sends a group, is done without (`UNWRITTEN`): a bridge that only passes on may run where nothing can be
    written.
    """
    settings = file_settings(config, environment, road)
    if settings is None:
        return nullcontext()
    # A rule that has changed switches no live group: who lives in a journal goes on as it says (decision 175).
    is_needed = any(rule.road is road for rule in config.rules) or settings.path.exists()
    try:
        if not config.settings.journal_path:
            _make_folder(settings.path.parent)
        journal = open_journal(settings, recovers=config.settings.journal_recover)
    except JournalRefused as problem:
        if is_needed:
            raise
        LOG.warning(
            "groups that an order moves to road %s would be called to join again after a restart, because nothing can"
            " be written down for them: %s",
            *(road, problem),
            extra={"code": problem.code},
        )
        return UNWRITTEN
    LOG.info("groups on road %s are kept in %s", road, settings.path)
    try:
        with RestingCollector():
            groups.keep(journal)
    except UnreadableRecord as problem:
        journal.close()
        raise JournalForeign(f"{settings.path} holds what can't be read: {problem}") from problem
    except BaseException:
        journal.close()
        raise
    return closing(journal)


def _make_folder(folder: Path) -> None:
    """Nobody else has to read what members are called, whatever the umask and whoever made the folder."""
    try:
        folder.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
        folder.chmod(PRIVATE)
    except OSError as problem:
        raise JournalRefused(
            f"the folder {folder} for the journal can't be made: {problem}; name a file in journal.path, "
            "or set journal: memory if embedded groups need not survive a restart"
        ) from problem
