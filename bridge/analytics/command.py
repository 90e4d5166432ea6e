"""The commands `analytics …`: their options, and how their outcomes are told.

A job is loaded when it is asked for, so that `--help` works without the extra `spark`.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Literal, TypedDict, Unpack

import click

from bridge.analytics.errors import AnalyticsError
from bridge.analytics.specs import CompareSpec, ReplaySpec, StreamSpec
from bridge.analytics.tables.definitions import ON_DEMAND, TABLES
from translators.dialects.counts import read_count

SPARK, DUCKDB = "spark", "duckdb"
ENGINES: Mapping[str, str] = {
    SPARK: "bridge.analytics.engines.spark_views",
    DUCKDB: "bridge.analytics.engines.duckdb_views",
}
"""Who can answer for `report` and `compare`; each needs the extra of its name."""
KEPT_TABLES = tuple(table.name for table in (*TABLES.values(), *ON_DEMAND))
KEEP_DAYS_MAX, SPARED_HOURS_MAX = 36_500, 87_600
DEBUG = "bridge.analytics.debug"
"""Under this name the context knows whether Spark's own words are wanted."""


class StreamOptions(TypedDict):
    """The options of `stream` that are no matter of Spark's."""

    bootstrap: str | None
    topic: str | None
    events: str | None
    out: str
    is_once: bool
    refresh_s: int
    settled_s: int
    jars: Sequence[str]
    kafka_config: str | None
    on_gap: str
    upkeep_s: int
    end_within_s: int
    keep_days: Mapping[str, int]
    spared_hours: int


@click.group("analytics")
def analytics() -> None:
    """Tables, a stream and a report over event logs, by Spark; reports and comparisons also by DuckDB."""


def parse_settings(context: click.Context, _parameter: click.Parameter, pairs: Sequence[str]) -> Mapping[str, str]:
    """Read NAME=VALUE pairs; raise click.BadParameter for one that names no setting of Spark's."""
    settings: dict[str, str] = {"spark.log.level": "WARN"} if context.meta.get(DEBUG) else {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.startswith("spark."):
            raise click.BadParameter(f"{pair!r} is no NAME=VALUE of Spark's, such as spark.driver.memory=8g")
        settings[name] = value
    return settings


def parse_keep(_context: click.Context, _parameter: click.Parameter, pairs: Sequence[str]) -> Mapping[str, int]:
    """Read TABLE=DAYS pairs; raise click.BadParameter for one that names no table, or no days."""
    kept: dict[str, int] = {}
    for pair in pairs:
        name, _, days = pair.partition("=")
        if name not in KEPT_TABLES:
            raise click.BadParameter(f"{name!r} is no table; there are {', '.join(KEPT_TABLES)}")
        count = read_count(days, KEEP_DAYS_MAX)
        if not count:
            raise click.BadParameter(f"{pair!r:.80} names no days from 1 to {KEEP_DAYS_MAX}, as events=30 does")
        kept[name] = count
    return kept


def _note_debug(context: click.Context, _parameter: click.Parameter, is_wanted: bool) -> None:
    context.meta[DEBUG] = is_wanted


_debug_option = click.option(
    "--debug",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_note_debug,
    help="Show what Spark says; without it only what the command itself has to say.",
)
_keep_option = click.option(
    "--keep",
    "keep_days",
    metavar="TABLE=DAYS",
    multiple=True,
    callback=parse_keep,
    help=f"Days of a table that are kept, 1 to {KEEP_DAYS_MAX}; all are by default. May be repeated, as for "
    "events=30 and daily=730.",
)
_spare_option = click.option(
    "--spare-hours",
    "spared_hours",
    type=click.IntRange(1, SPARED_HOURS_MAX),
    default=168,
    show_default=True,
    help="Hours for which files stay that have left a table: for readers that still need them, and for Delta's time "
    "travel.",
)
_master_option = click.option(
    "--master", metavar="URL", help="Spark master; local[*] by default, and under spark-submit what that says."
)
_setting_option = click.option(
    "--setting",
    "settings",
    metavar="NAME=VALUE",
    multiple=True,
    callback=parse_settings,
    help="A setting of Spark, such as spark.driver.memory=8g; may be repeated.",
)
_out_option = click.option("--out", metavar="DIR", required=True, help="Directory of the tables.")
_engine_option = click.option(
    "--engine",
    type=click.Choice([SPARK, DUCKDB]),
    help="Who reads the tables: spark, the default, or duckdb, which needs no Java and gives the same answers.",
)


@analytics.command("run")
@click.option("--events", metavar="PATH", required=True, help="Folder of an event log, or one of its files.")
@_out_option
@_master_option
@_debug_option
@_setting_option
def run(*, events: str, out: str, master: str | None, settings: Mapping[str, str]) -> None:
    """Make all tables from the files of an event log."""
    call("bridge.analytics.job_run", events, out, master, settings)


_SOURCES: tuple[Literal["bootstrap"], Literal["topic"], Literal["events"]] = ("bootstrap", "topic", "events")


@analytics.command("stream")
@click.option("--bootstrap", metavar="HOST:PORT", help="Kafka, for the topic.")
@click.option("--topic", metavar="TOPIC", help="Topic that holds the events.")
@click.option("--events", metavar="DIR", help="Folder of an event log, instead of a topic.")
@_out_option
@click.option("--once", "is_once", is_flag=True, help="Take what there is, make the tables, and end.")
@click.option("--refresh-s", type=click.IntRange(5), default=60, show_default=True, help="Seconds between two tables.")
@click.option(
    "--settled-s",
    type=click.IntRange(0),
    default=3_900,
    show_default=True,
    help="A file of --events that nobody touched for so many seconds is complete; others are when the bridge said so.",
)
@click.option("--jars", metavar="PATH", multiple=True, help="Jar of Spark's Kafka source, or a folder of them.")
@click.option(
    "--kafka-config",
    metavar="FILE",
    help="Settings of Kafka's client for --bootstrap, a line each, as Kafka's tools take by --command-config: "
    "security.protocol=SASL_SSL and so on.",
)
@click.option(
    "--on-gap",
    type=click.Choice(["fail", "note"]),
    default="fail",
    show_default=True,
    help="What to do where --topic no longer holds what comes next: end, or go on and list it in the table `gaps`.",
)
@click.option(
    "--upkeep-s",
    type=click.IntRange(60),
    default=3_600,
    show_default=True,
    help="Seconds between two upkeeps of the tables; there is one at the end, too (`analytics upkeep --help`).",
)
@click.option(
    "--end-within-s",
    type=click.IntRange(1),
    default=60,
    show_default=True,
    help="Seconds that Ctrl-C or SIGTERM leave for the batch at hand, the last tables and their upkeep; what is not "
    "made by then the next start makes.",
)
@_keep_option
@_spare_option
@_master_option
@_debug_option
@_setting_option
def stream(*, master: str | None, settings: Mapping[str, str], **options: Unpack[StreamOptions]) -> None:
    """Follow the topic, or the folder, of an event log, and keep the tables up to date.

    Every event counts once, however often the stream is stopped or killed and started again with the same --out.
    """
    named = tuple(options[name] is not None for name in _SOURCES)
    if named not in {(True, True, False), (False, False, True)}:
        raise click.UsageError("name either --bootstrap and --topic, or --events")
    if options["events"] is not None and options["kafka_config"] is not None:
        raise click.UsageError("--kafka-config is for --bootstrap and --topic, and --events asks no Kafka")
    call("bridge.analytics.job_stream", StreamSpec(**options), master, settings)


@analytics.command("upkeep")
@_out_option
@_keep_option
@_spare_option
def upkeep(*, out: str, keep_days: Mapping[str, int], spared_hours: int) -> None:
    """Remove days that are over from the tables, make few large files of many small ones, remove files nobody needs.

    A stream does it by itself; it needs no Spark.
    """
    with _told(DUCKDB):
        job = import_module("bridge.analytics.job_upkeep")
        with job.told_failures():
            job.main(out, keep_days, spared_hours)


@analytics.command("report")
@_out_option
@click.option("--group", metavar="GROUP", help="Only this group.")
@_engine_option
@_master_option
@_debug_option
@_setting_option
def report(*, out: str, group: str | None, engine: str | None, master: str | None, settings: Mapping[str, str]) -> None:
    """Write report.html and report.md beside the tables: phases, members, causes, stalls, before and after a change."""
    ask("bridge.analytics.report.job", (out, group), Asked(out=out, engine=engine, master=master, settings=settings))


class CompareOptions(TypedDict):
    """The options of `compare` that are no matter of Spark's."""

    out: str
    control: str
    treatment: str
    measure: str
    unit: str
    alpha: float
    margin: float
    tail_margin: float
    pairs_min: int
    pair_within_s: float
    as_json: bool


@analytics.command("compare")
@_out_option
@click.option("--control", metavar="FILTER", required=True, help="SQL condition for the control: protocol = 'classic'.")
@click.option("--treatment", metavar="FILTER", required=True, help="SQL condition for the treatment.")
@click.option(
    "--measure",
    type=click.Choice(["member-stall", "partition-stall"]),
    default="member-stall",
    show_default=True,
    help="What is compared: how long members did not work, or how long partitions stood still in all.",
)
@click.option(
    "--unit",
    type=click.Choice(["rebalance", "group-hour"]),
    default="rebalance",
    show_default=True,
    help="What counts as one observation; members that did not wait in it count as zero.",
)
@click.option(
    "--alpha", type=click.FloatRange(0.0001, 0.5), default=0.05, show_default=True, help="Error rate of a verdict."
)
@click.option(
    "--margin",
    type=click.FloatRange(0.01, 0.49),
    default=0.1,
    show_default=True,
    help="The treatment passes if it is the slower one in surely less than half of the comparisons plus this.",
)
@click.option(
    "--tail-margin",
    type=click.FloatRange(0.01, 0.5),
    default=0.05,
    show_default=True,
    help="It passes if surely not more than this part of its members are beyond the slowest twentieth of both arms.",
)
@click.option("--pairs-min", type=click.IntRange(2), default=30, show_default=True, help="Least pairs for a verdict.")
@click.option(
    "--pair-within",
    "pair_within_s",
    type=click.FloatRange(1),
    default=3_600.0,
    show_default=True,
    metavar="SECONDS",
    help="Rebalances of the two arms are compared if they began not further apart than this.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the judgement as JSON.")
@_engine_option
@_master_option
@_debug_option
@_setting_option
def compare(
    *, engine: str | None, master: str | None, settings: Mapping[str, str], **options: Unpack[CompareOptions]
) -> None:
    """Judge a canary: exit status 0 if the treatment is no worse than the control, 1 if it is, 3 if that is not certain
    yet.
    """
    spec = CompareSpec(**options)
    ask("bridge.analytics.compare.job", (spec,), Asked(out=spec.out, engine=engine, master=master, settings=settings))


class ReplayOptions(TypedDict):
    """The options of `replay` that are no matter of Spark's."""

    events: str
    group: str | None
    protocol: str | None
    assignor: str | None
    json: str | None
    out: str | None


@analytics.command("replay")
@click.option("--events", metavar="PATH", required=True, help="Folder of an event log, or one of its files.")
@click.option("--group", metavar="GROUP", help="Only this group.")
@click.option(
    "--protocol",
    type=click.Choice(["consumer", "classic"]),
    help="What all members speak; left out: what each group is in the record.",
)
@click.option("--assignor", metavar="NAME", help="Assignor of all groups; left out: the first of the bridge's.")
@click.option(
    "--setting",
    "settings",
    metavar="KEY=VALUE",
    multiple=True,
    help="A setting of the groups, such as group.consumer.heartbeat.interval.ms=1000, or of Spark, such as "
    "spark.driver.memory=8g; may be repeated.",
)
@click.option("--json", metavar="FILE", help="Write everything as JSON to this file, `-` for the terminal.")
@click.option("--out", metavar="DIR", help="Write replay.md and the table `replays` below this directory.")
@_master_option
@_debug_option
def replay(*, master: str | None, settings: Sequence[str], **options: Unpack[ReplayOptions]) -> None:
    """Ask what if: play each group's recorded history under another protocol, assignor or setting.

    Says which rebalances, disturbances and stalls would not have happened, and what became of the others.
    """
    of_spark = [pair for pair in settings if pair.startswith("spark.")]
    of_groups = [pair for pair in settings if not pair.startswith("spark.")]
    context = click.get_current_context()
    parameter = next(one for one in context.command.params if one.name == "settings")
    spark = parse_settings(context, parameter, of_spark)
    call("bridge.analytics.replay.job", ReplaySpec(**options, settings=of_groups), master, spark)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Whose tables are read by whom; no engine means Spark, and settings are Spark's."""

    out: str
    engine: str | None
    master: str | None
    settings: Mapping[str, str]


def ask(job: str, wanted: tuple[object, ...], asked: Asked) -> None:
    """Load a job that only reads the tables, and run its `main` with the way to open them."""
    if asked.engine == DUCKDB and (asked.master is not None or asked.settings):
        raise click.UsageError("--master, --setting and --debug are of Spark, and --engine duckdb starts none")
    engine = asked.engine or SPARK
    with _told(engine, also=f"; or answer without Spark by --engine {DUCKDB}"):
        views, main = import_module(ENGINES[engine]), import_module(job).main
        opened = partial(views.open_views, asked.out, asked.engine, asked.master, asked.settings)
        with views.told_failures():
            main(*wanted, opened)


def call(job: str, *arguments: object) -> None:
    """Load a job's module and run its `main`; what it can't do is one sentence, and so is a library that is missing."""
    with _told(SPARK):
        main = import_module(job).main
        with import_module("bridge.analytics.spark.failures").told_failures():
            main(*arguments)


@contextmanager
def _told(extra: str, also: str = "") -> Iterator[None]:
    """End the command with one sentence where the job can't be done, or a library of the extra is missing; `also` is
    another way than Spark, if there is one.
    """
    try:
        yield
    except ModuleNotFoundError as missing:
        raise click.ClickException(
            f"EB-ANALYTICS-000: analytics needs {missing.name}, which is not installed; "
            f"run `pip install 'epochbridge[{extra}]'`{also if extra == SPARK else ''}"
        ) from missing
    except AnalyticsError as problem:
        raise click.ClickException(str(problem)) from problem
