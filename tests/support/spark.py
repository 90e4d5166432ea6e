"""One Spark session for all tests of a run, and rows in and out of it.

It must not know what is tested; it starts no Spark until a test asks.
"""

import atexit
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path

import pytest
from py4j.java_gateway import JavaClass, JavaMember, JavaPackage, JVMView
from pyspark.sql import DataFrame, SparkSession

from bridge.analytics.intake.reading import LINE, SOURCE, accepted, parsed
from bridge.analytics.spark.session import SessionSettings, open_session
from bridge.analytics.tables.positions import positioned, runs
from bridge.analytics.tables.store import Store
from bridge.telemetry.event_log.codec import encode_event
from bridge.telemetry.schema.facts import Event, Fact, Stamp
from tests.support.class_archive import provide_archive

TEST_SETTINGS = {
    "spark.driver.memory": "2g",
    "spark.sql.shuffle.partitions": "1",
    # For a handful of rows, making plans and compiling them takes longer than running them.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
START_US = 1_763_700_000_000_000
"""2025-11-21 04:40 UTC."""
STEP_US = 1_000


@cache
def shared_session() -> SparkSession:
    """The session; it lives until the process ends."""
    provide_archive()
    remember_names()
    session = open_session(SessionSettings(master="local[2]", settings=TEST_SETTINGS))
    atexit.register(session.stop)
    return session


def remember_names() -> None:
    """Have py4j ask Java once what a name is, instead of for each function of each query.

    Java looks for a class of each package's name ("org", "org.apache") in 200 jars, and finds none: a tenth or more of
    the CPU of all that is made here. What is called, and with what, is asked as before.
    """
    for kind in (JVMView, JavaPackage, JavaClass):
        kind.__getattr__ = _remembering(kind.__getattr__)


def _remembering(ask: Callable[[object, str], object]) -> Callable[[object, str], object]:
    def look(asked: object, name: str) -> object:
        found = ask(asked, name)
        # The value of a static field may be another one tomorrow.
        if isinstance(found, JavaPackage | JavaClass | JavaMember):
            vars(asked)[name] = found
        return found

    return look


@pytest.fixture(scope="session")
def spark() -> SparkSession:
    """The session that all tests share."""
    return shared_session()


@pytest.fixture
def store(spark: SparkSession, tmp_path: Path) -> Store:
    """An empty store of the test's own."""
    return Store(spark, str(tmp_path / "tables"))


def stamped(facts: Sequence[Fact | tuple[int, Fact]], boot: str = "b1", start_us: int = START_US) -> list[Event]:
    """Facts as events of one run: at the milliseconds that stand beside them, or one millisecond after another."""
    events: list[Event] = []
    for place, told in enumerate(facts, start=1):
        at_us, fact = (told[0] * 1_000, told[1]) if isinstance(told, tuple) else (place * STEP_US, told)
        events.append(Event(Stamp(boot, place, start_us + at_us, at_us), fact))
    return events


def lines_of(spark: SparkSession, lines: Iterable[str], source: str = "events-b1-000001.jsonl") -> DataFrame:
    """Lines as a reader gets them."""
    return spark.createDataFrame([(line, source) for line in lines], f"{LINE} string, {SOURCE} string")


def records_of(spark: SparkSession, records: Iterable[tuple[str | None, str]]) -> DataFrame:
    """Records of a topic as Spark reads them: value, and where it lies."""
    return spark.createDataFrame(list(records), f"{LINE} string, {SOURCE} string")


def text_of(events: Iterable[Event]) -> list[str]:
    """Events as the log writes them."""
    return [encode_event(event).decode().rstrip("\n") for event in events]


def taken(store: Store, events: Iterable[Event]) -> DataFrame:
    """Events in order, as the tables are made of them: read by then, and no question about lines any more.

    With all that is asked of a line in their plan, Spark spent minutes on a query that asks for events several times.
    """
    rows = accepted(parsed(lines_of(store.spark, text_of(events))), 0).localCheckpoint()
    return positioned(rows, runs(rows))


def python_nodes(frame: DataFrame) -> list[str]:
    """The operators of a plan that would call Python for rows."""
    plan = str(frame._jdf.queryExecution().executedPlan().toString())
    return [line.strip() for line in plan.splitlines() if "Python" in line or "Arrow" in line or "InPandas" in line]
