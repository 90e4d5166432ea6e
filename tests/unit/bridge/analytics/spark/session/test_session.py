"""The session that jobs share."""

import os

import pytest
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from bridge.analytics.errors import AnalyticsError
from bridge.analytics.spark.session import RELIED_ON, SessionSettings, open_session
from tests.support.spark import TEST_SETTINGS

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
