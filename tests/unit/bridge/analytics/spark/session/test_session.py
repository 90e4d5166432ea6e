"""The session that jobs share."""

import os

import pytest
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from bridge.analytics.errors import AnalyticsError
from bridge.analytics.spark.session import ON_ONE_MACHINE, RELIED_ON, SessionSettings, open_session
from tests.support.spark import TEST_SETTINGS
from tests.support.spark_cluster import OPTIONS

OF_ONE_MACHINE = {
    "spark.driver.bindAddress",
    "spark.driver.host",
    # A cluster has other sizes.
    "spark.driver.memory",
    # Its driver only plans, and compiles as little as an executor that has a core for a minute.
    "spark.driver.extraJavaOptions",
    # Whoever runs one looks at its pages, and at what it logs.
    "spark.ui.enabled",
    "spark.log.level",
    "spark.sql.ui.explainMode",
    "spark.sql.maxPlanStringLength",
    "spark.sql.ui.retainedExecutions",
    "spark.ui.retainedJobs",
    "spark.ui.retainedStages",
}
WANTED = SessionSettings(master="local[2]", settings=TEST_SETTINGS)


@pytest.mark.usefixtures("spark")
def test_session_has_what_jobs_rely_on_and_what_the_user_wants() -> None:
    """The user's settings come last, also in a session that another job has used."""
    spark = open_session(WANTED)
    wanted = {**RELIED_ON, **{name: value for name, value in TEST_SETTINGS.items() if name.startswith("spark.sql")}}
    assert {name: spark.conf.get(name) for name in wanted} == wanted


def test_session_is_opened_once(spark: SparkSession) -> None:
    """Starting Spark takes seconds."""
    assert open_session(WANTED) is spark


def test_spark_that_does_not_start_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with a master that nobody understands."""

    def fail(_: object) -> None:
        os.write(2, b"WARNING: a\n\nError: no such heap\n")
        raise PySparkRuntimeError("Java gateway process exited")

    monkeypatch.setattr(SparkSession.Builder, "getOrCreate", fail)
    with pytest.raises(
        AnalyticsError,
        match=r"^EB-ANALYTICS-013: .*Java gateway.*it said: WARNING: a / Error: no such heap\); check --master",
    ):
        open_session(WANTED)


def test_file_for_a_cluster_has_what_a_session_sets() -> None:
    """It lacked flags of the JVM, and the room for generated code; executors have those of the driver."""
    lines = OPTIONS.read_text(encoding="utf-8").splitlines()
    told = dict(line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))
    wanted = {name: value for name, value in {**ON_ONE_MACHINE, **RELIED_ON}.items() if name not in OF_ONE_MACHINE}
    assert {name: told.get(name) for name in wanted} == wanted
    assert told["spark.executor.extraJavaOptions"] == told["spark.driver.extraJavaOptions"]
    assert ON_ONE_MACHINE.keys() >= OF_ONE_MACHINE
