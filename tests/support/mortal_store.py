"""A store whose process dies between two of its effects; it must not know what it keeps."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from pyspark.sql import DataFrame

from bridge.analytics.tables.definitions import Table
from bridge.analytics.tables.store import MADE, Staged, Store
from bridge.analytics.tables.table_log import DataFile


class Killed(Exception):
    """The process is gone."""


@dataclass(frozen=True, slots=True)
class MortalStore(Store):
    """Dies before or after one of its next effects."""

    lives: list[int] = field(default_factory=list)

    def stage(self, table: Table, rows: DataFrame, area: str = MADE) -> list[Staged]:
        """An effect."""
        staged = Store.stage(self, table, rows, area)
        self._live()
        return staged

    def commit(
        self,
        table: Table,
        staged: Iterable[Staged],
        removed: Iterable[DataFile] = (),
        *,
        done: int | None = None,
        note: str | None = None,
    ) -> list[str]:
        """An effect."""
        self._live()
        paths = Store.commit(self, table, staged, removed, done=done, note=note)
        self._live()
        return paths

    def _live(self) -> None:
        self.lives[0] -= 1
        if self.lives[0] == 0:
            raise Killed
