"""The tables as views of Spark's."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from pyspark.errors import AnalysisException, ArithmeticException, IllegalArgumentException, NumberFormatException
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from bridge.analytics.engines.views import VIEWS, QuestionRefused, Row, Views
from bridge.analytics.errors import AnalyticsError
from bridge.analytics.job_run import open_tables
from bridge.analytics.spark.failures import told_failures
from bridge.analytics.spark.session import NoJavaError, SessionSettings, open_session
from bridge.analytics.tables.store import Store

__all__ = ["SparkViews", "open_views", "told_failures", "views_of"]
T = TypeVar("T")
_OF_WORDS = (AnalysisException, ArithmeticException, IllegalArgumentException, NumberFormatException)
"""What Spark raises for words: of names that are none, and of values that can't be what they are compared with."""


@dataclass(frozen=True, slots=True)
class SparkViews:
    """Views of a store, in a session of their own: its views are nobody else's."""

    store: Store

    def of_group(self, group: str) -> Views:
        """The same with the rows of one group only."""
        return views_of(self.store, group)

    def keep(self, name: str, question: str) -> None:
        """Answer once, as a view of that name; raise QuestionRefused where its words are at fault."""
        try:
            self.frame(question).localCheckpoint().createOrReplaceTempView(name)
        except _OF_WORDS as problem:
            raise QuestionRefused(str(problem).splitlines()[0]) from problem

    def ask(self, question: str, shape: Callable[[Row], T]) -> list[T]:
        """The answer, each row made into something."""
        return [shape(Row(row.asDict())) for row in self.frame(question).collect()]

    def frame(self, question: str) -> DataFrame:
        """The answer before anything is computed."""
        return self.store.spark.sql(question)


def views_of(store: Store, group: str | None = None) -> SparkViews:
    """The views of a store, of one group or of all."""
    apart = replace(store, spark=store.spark.newSession())
    for table in VIEWS:
        rows = apart.read(table)
        chosen = rows if group is None else rows.where(f.col("group_id") == group)
        chosen.createOrReplaceTempView(table.name)
    return SparkViews(apart)


def open_views(out: str, engine: str | None, master: str | None, settings: Mapping[str, str]) -> SparkViews:
    """The views of the tables below `out`; raise AnalyticsError if there is no Java, or Spark does not start.

    Who named no engine hears of the one that needs no Java.
    """
    try:
        spark = open_session(SessionSettings(master=master, settings=settings))
    except NoJavaError as problem:
        if engine is not None:
            raise
        raise AnalyticsError(
            f"{problem}; or let DuckDB answer, which needs no Java: the same command with --engine duckdb"
        ) from problem
    return views_of(open_tables(spark, out))
