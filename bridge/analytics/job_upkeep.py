"""The job `upkeep`: retention, few large files instead of many small ones, and the removal of files nobody needs."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path

import click
from deltalake.exceptions import DeltaError

from bridge.analytics.errors import AnalyticsError, first_line, tell
from bridge.analytics.tables.ownership import owned
from bridge.analytics.tables.upkeep import Tended, Upkeep, tend
from translators.dialects.counts import counted

PROBE = "_now"


def main(out: str, keep_days: Mapping[str, int], spared_hours: int) -> None:
    """Do what is due, and say what was done."""
    if "://" in out or not Path(out).is_dir():
        raise AnalyticsError(
            f"EB-ANALYTICS-035: {out} is no folder of this machine, and only tables in one are kept up; "
            "name the --out of `analytics run` or `analytics stream`"
        )
    with owned(out):
        for line in told(tend(out, Upkeep(keep_days=keep_days, spared_hours=spared_hours), today(out))):
            click.echo(line)


@contextmanager
def told_failures() -> Iterator[None]:
    """Raise AnalyticsError in the place of what Delta or the disk raise; Spark's own words would need Spark."""
    try:
        yield
    except BrokenPipeError:
        raise
    except (OSError, DeltaError) as problem:
        raise AnalyticsError(
            f"EB-ANALYTICS-036: the upkeep broke off ({first_line(problem)}); room or rights may be missing, or a file "
            "of the tables gone or damaged: look, and run the same command again; what was done by then stays done"
        ) from problem


def told(done: Collection[Tended]) -> list[str]:
    """What was done in lines, a table each; those for which nothing was due are left out."""
    lines = [
        f"{one.table:<13}{counted(one.expired, 'file of old days left', 'files of old days left')}, "
        f"{counted(len(one.gathered), 'day')} gathered, {counted(one.removed, 'file')} removed"
        for one in done
        if one.expired or one.gathered or one.removed
    ]
    return [*lines, *crossed(done)] or ["nothing was due"]


def crossed(done: Iterable[Tended]) -> list[str]:
    """The tables of which something is left until the next time, a line each."""
    return [
        f"{one.table:<12} is left until the next upkeep: its files were changed at the same time"
        for one in done
        if one.is_crossed
    ]


def today(out: str) -> date:
    """The UTC day, by the clock of the file system that the tables are on."""
    probe = Path(out) / PROBE
    probe.touch()
    return datetime.fromtimestamp(probe.stat().st_mtime, UTC).date()


class UpkeepSchedule:
    """Upkeep of the tables of a stream, once in so many turns; tables on other machines have none."""

    def __init__(self, out: str, wanted: Upkeep, turns: int) -> None:
        self._out, self._wanted, self._turns, self._left = out, wanted, turns, turns

    def turn(self) -> None:
        """Count, and do it when it is due."""
        self._left -= 1
        if self._left <= 0:
            self.do()

    def do(self) -> None:
        """Do it now."""
        self._left = self._turns
        if "://" not in self._out:
            for line in crossed(tend(self._out, self._wanted, today(self._out))):
                tell(line)
