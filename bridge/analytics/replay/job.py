"""The job `replay`: what each recorded group would have gone through under another configuration."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import click
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as f

from bridge.analytics.errors import AnalyticsError
from bridge.analytics.intake.reading import REASON, parsed
from bridge.analytics.job_run import event_lines, open_store, require_input, require_output, require_unpacked
from bridge.analytics.replay.playing import moments, play_groups, replays
from bridge.analytics.replay.presentation import (
    Figures,
    GroupReplay,
    ReplayRow,
    Report,
    SetAside,
    document,
    markdown,
    terminal,
)
from bridge.analytics.spark.progress import bar
from bridge.analytics.spark.session import SessionSettings, open_session
from bridge.analytics.specs import ReplaySpec
from bridge.analytics.tables.definitions import REPLAYS
from bridge.analytics.tables.ownership import owned
from bridge.whatif.configuration import Unplayable, configure
from bridge.whatif.history import BEGINS_IN_THE_MIDDLE

NO_GROUP, NO_GROUPS, UNWRITABLE = "EB-ANALYTICS-030", "EB-ANALYTICS-031", "EB-ANALYTICS-032"
STEPS = ("read", "play", "tell")
MARKDOWN = "replay.md"
SECOND_US = 1_000_000


def main(spec: ReplaySpec, master: str | None, settings: Mapping[str, str]) -> None:
    """Replay, and say what came of it."""
    with _owned(spec.out):
        for line in tell(spec, run(spec, SessionSettings(master=master, settings=settings))):
            click.echo(line)


@contextmanager
def _owned(out: str | None) -> Iterator[None]:
    """Be the only one that writes there, before Spark starts: two replays at once would spoil the table and the page
    for each other, and a stream or a run removes at its start what others have begun to write.
    """
    if out is None:
        yield
        return
    require_output(out)
    with owned(out):
        yield


def run(spec: ReplaySpec, settings: SessionSettings) -> Report:
    """Play the groups; raise AnalyticsError with one sentence if something asked for can't be had."""
    try:
        configuration = configure(spec.protocol, spec.assignor, spec.settings)
    except Unplayable as problem:
        raise AnalyticsError(str(problem)) from problem
    require_input(spec.events)
    require_unpacked(spec.events)
    if spec.out is not None:
        require_output(spec.out)
    if spec.json not in (None, "-"):
        require_file(Path(str(spec.json)))
    spark = open_session(settings)
    with bar(spark.sparkContext, len(STEPS)) as shown:
        shown.say("read")
        rows = parsed(event_lines(spark, spec.events).lines)
        shown.say("play")
        known = moments(rows, spec.group)
        plays = play_groups(known, configuration)
        require_groups(plays, rows, spec.group)
        shown.say("tell")
        report = gather(plays, known, words_of(spec))
        if spec.out is not None:
            open_store(spark, spec.out).replace(REPLAYS, replays(plays, words_of(spec)))
    return report


def tell(spec: ReplaySpec, report: Report) -> list[str]:
    """Write what files are asked for; gives the lines for the terminal."""
    text = json.dumps(document(report), indent=2)
    if spec.json == "-":
        return [text]
    lines = list(terminal(report))
    for path, content in ((spec.json, text), (_page(spec.out), markdown(report))):
        if path is None:
            continue
        try:
            Path(path).write_text(content + "\n", encoding="utf-8")
        except OSError as problem:
            raise _unwritable(path, problem) from problem
        lines.append(f"written: {path}")
    return lines


def require_file(path: Path) -> None:
    """Raise AnalyticsError unless this file can be written, and leave it as it was; before Spark starts, for that is
    slow.
    """
    was_there = path.exists()
    try:
        path.open("a").close()
        if not was_there:
            path.unlink()
    except OSError as problem:
        raise _unwritable(path, problem) from problem


def _unwritable(path: str | Path, problem: OSError) -> AnalyticsError:
    return AnalyticsError(f"{UNWRITABLE}: {path} can't be written: {problem.strerror}; name another one")


def words_of(spec: ReplaySpec) -> str:
    """What is replayed, as it was asked for."""
    named = {"protocol": spec.protocol, "assignor": spec.assignor}
    asked = [f"{name}={value}" for name, value in named.items() if value is not None]
    return " ".join([*asked, *spec.settings]) or "the bridge's own settings"


def require_groups(plays: DataFrame, rows: DataFrame, group: str | None) -> None:
    """Raise AnalyticsError if there is nobody to play."""
    if not plays.isEmpty():
        return
    if group is None:
        raise AnalyticsError(
            f"{NO_GROUPS}: the log holds no event of any group; name the log of a bridge that had some"
        )
    names = rows.where(f.col(REASON).isNull() & f.col("group_id").isNotNull()).select("group_id").distinct()
    there = ", ".join(row["group_id"] for row in names.orderBy("group_id").limit(5).collect()) or "none at all"
    raise AnalyticsError(
        f"{NO_GROUP}: no event of group {group!r} is in the log; there are some of {there}; "
        "check --group, or leave it out"
    )


def gather(plays: DataFrame, known: DataFrame, words: str) -> Report:
    """Bring the plays from Spark to this process, and what of the lines of these `moments` was set aside."""
    refused = known.where(f.col(REASON).isNotNull()).select(REASON, "lines")
    found = plays.orderBy("group_id").collect()
    played = [(row["group_id"], row["play"]) for row in found]
    return Report(
        configuration=words,
        groups=[
            group_replay(group_id, play["rows"], play["unanswered"]) for group_id, play in played if not play["reason"]
        ],
        set_aside=[
            SetAside(group_id=group_id, reason=play["reason"] or BEGINS_IN_THE_MIDDLE, rebalances=play["set_aside"])
            for group_id, play in played
            if play["reason"] or play["set_aside"]
        ],
        lines={row[REASON]: row["lines"] for row in refused.collect()},
    )


def group_replay(group_id: str, rows: Sequence[Row], unanswered: Sequence[str] = ()) -> GroupReplay:
    """One group's rows with the sums of both sides."""
    return GroupReplay(
        group_id=group_id,
        recorded=_figures(sum(1 for row in rows if row["rebalance_id"]), [row["recorded"] for row in rows]),
        predicted=_figures(sum(len(row["predicted_ids"]) for row in rows), [row["predicted"] for row in rows]),
        rows=[_document(row) for row in sorted(rows, key=lambda row: int(row["began_us"]))],
        unanswered=[*unanswered],
    )


def _page(out: str | None) -> str | None:
    return None if out is None or "://" in out else str(Path(out) / MARKDOWN)


def _figures(rebalances: int, sides: Sequence[Row]) -> Figures:
    return Figures(
        rebalances=rebalances,
        rebalance_s=_seconds(sides, "duration_us"),
        told=sum(side["told"] for side in sides),
        disturbed=sum(side["disturbed"] for side in sides),
        stalls=sum(side["stalls"] for side in sides),
        stall_s=_seconds(sides, "stall_us"),
        busy_s=_seconds(sides, "busy_us"),
    )


def _seconds(sides: Sequence[Row], name: str) -> float:
    return sum(int(side[name]) for side in sides) / SECOND_US


def _document(row: Row) -> ReplayRow:
    return ReplayRow(
        rebalance_id=row["rebalance_id"],
        predicted_ids=list(row["predicted_ids"]),
        began_us=row["began_us"],
        cause=row["cause"],
        became=row["became"],
        recorded=_figures(1 if row["rebalance_id"] else 0, [row["recorded"]]),
        predicted=_figures(len(row["predicted_ids"]), [row["predicted"]]),
    )
