"""Every group of a log played on the executors, one group per task, and the rows that come back.

It is the one place of the room where Python runs on the executors.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from bridge.analytics.intake.reading import LINE, REASON, utc_day
from bridge.analytics.spark.column_types import conform
from bridge.analytics.tables.definitions import REPLAYS
from bridge.telemetry.schema.disturbance import AT_WORK
from bridge.telemetry.schema.facts import Event
from bridge.whatif.comparison import OF_GROUPS, OF_NO_GROUP, Became, became_words, compare
from bridge.whatif.configuration import Configuration
from bridge.whatif.event_lines import read_event
from bridge.whatif.measures import Measured, summed

PHASES = tuple(sorted(phase.value for phase in AT_WORK))
"""Of phases those that are measured; most events are of the others."""
TASKS_MAX = 10_000
FIGURES = ("duration_us", "told", "disturbed", "stalls", "stall_us", "busy_us")
_SIDE = f"struct<{', '.join(f'{name}: bigint' for name in FIGURES)}>"
PLAY_TYPE = (
    "struct<set_aside: bigint, reason: string, rows: array<struct<rebalance_id: string, predicted_ids: array<string>, "
    f"began_us: bigint, cause: string, became: string, recorded: {_SIDE}, predicted: {_SIDE}>>, "
    "unanswered: array<string>>"
)
Side = tuple[int, ...]


class PlayRow(NamedTuple):
    """One rebalance of either side, or what belongs to none (no id on either side), as `PLAY_TYPE` says."""

    rebalance_id: str | None
    predicted_ids: list[str]
    began_us: int
    cause: str
    became: str
    recorded: Side
    predicted: Side


class Played(NamedTuple):
    """What comes back from an executor for one group, as `PLAY_TYPE` says."""

    set_aside: int
    reason: str
    rows: list[PlayRow]
    unanswered: list[str]


def moments(rows: DataFrame, group: str | None) -> DataFrame:
    """Parsed lines in one reading: what of each group a play needs (`group_id`, `moments`), or of that one alone; what
    concerns all of them, with no group; and how many lines (`lines`) are set aside for each `REASON`.
    """
    is_event, is_everywhere = f.col(REASON).isNull(), f.col("kind").isin(*OF_NO_GROUP)
    is_needed = f.col("kind").isin(*OF_GROUPS) & (f.col("phase").isNull() | f.col("phase").isin(*PHASES))
    is_chosen = f.lit(True) if group is None else f.col("group_id") == group
    wanted = rows.where(~is_event | is_everywhere | (is_needed & is_chosen))
    # Lines alone: a row of some columns costs Python as much as to read the line.
    moment = f.when(is_event, f.col(LINE))
    of_group = f.when(is_event & ~is_everywhere, f.col("group_id")).alias("group_id")
    told = wanted.groupBy(of_group, REASON)
    return told.agg(f.collect_list(moment).alias("moments"), f.count("*").alias("lines")).persist()


def play_groups(known: DataFrame, configuration: Configuration) -> DataFrame:
    """One row per group with its play (`group_id`, `play`), one group per task; in: their `moments`."""
    events = known.where(f.col(REASON).isNull())
    own = events.where(f.col("group_id").isNotNull()).select("group_id", "moments")
    of_all = events.where(f.col("group_id").isNull())
    everywhere = of_all.agg(f.flatten(f.collect_list("moments")).alias("everywhere"))
    tasks = min(TASKS_MAX, max(1, own.count()))
    gathered = own.repartition(tasks).crossJoin(f.broadcast(everywhere))
    play = f.udf(player(configuration), PLAY_TYPE, useArrow=False)("group_id", "moments", "everywhere")
    return gathered.select("group_id", play.alias("play")).localCheckpoint()


def player(configuration: Configuration) -> Callable[[str, Sequence[str], Sequence[str]], Played]:
    """What runs on an executor: a group with its lines and those of no group in, its play out."""

    def play(group_id: str, own: Sequence[str], everywhere: Sequence[str]) -> Played:
        return play_group(group_id, in_order([*own, *everywhere]), configuration)

    return play


def in_order(lines: Iterable[str]) -> list[Event]:
    """The events of lines in the order of the log, each once: runs by the wall clock, within a run by number."""
    events: dict[tuple[str, int], Event] = {}
    began: dict[str, int] = {}
    for event in map(read_event, lines):
        if event is not None:
            stamp = event.stamp
            events[stamp.boot, stamp.number] = event
            began[stamp.boot] = min(stamp.wall_us, began.get(stamp.boot, stamp.wall_us))
    return [events[place] for place in sorted(events, key=lambda place: (began[place[0]], place))]


def play_group(group_id: str, events: Sequence[Event], configuration: Configuration) -> Played:
    """One group's events under a configuration."""
    found = compare(group_id, events, configuration)
    rows = [_row(one) for one in found.rows]
    loose = Became(found.loose_recorded, () if found.loose_predicted is None else (found.loose_predicted,))
    if loose.recorded is not None or loose.predicted:
        rows.append(_row(loose))
    return Played(found.set_aside, found.reason, rows, [*found.unanswered])


def replays(plays: DataFrame, words: str) -> DataFrame:
    """The table `replays` of plays; `words` name the configuration."""
    each = plays.select("group_id", f.explode("play.rows").alias("row"))
    columns = {name: f.col(f"row.{name}") for name in ("rebalance_id", "predicted_ids", "began_us", "cause", "became")}
    columns |= {name: f.col(f"row.recorded.{name}") for name in FIGURES}
    columns |= {f"predicted_{name}": f.col(f"row.predicted.{name}") for name in FIGURES}
    columns |= {"configuration": f.lit(words), "date": utc_day(f.col("row.began_us"))}
    return conform(REPLAYS, each.withColumns(columns))


def _row(one: Became) -> PlayRow:
    sides = [measured for measured in (one.recorded, *one.predicted) if measured is not None]
    return PlayRow(
        rebalance_id=None if one.recorded is None else one.recorded.rebalance_id or None,
        predicted_ids=[measured.rebalance_id for measured in one.predicted if measured.rebalance_id],
        began_us=min(measured.began_us for measured in sides),
        cause=next((measured.cause for measured in sides if measured.cause), ""),
        became=became_words(one),
        recorded=_side(() if one.recorded is None else (one.recorded,)),
        predicted=_side(one.predicted),
    )


def _side(measured: Sequence[Measured]) -> Side:
    total = summed(measured)
    return tuple(getattr(total, name) for name in FIGURES)
