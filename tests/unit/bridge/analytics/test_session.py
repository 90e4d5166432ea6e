"""The session that jobs share."""

from pyspark.sql import SparkSession

from bridge.analytics.session import RELIED_ON, SessionSettings, open_session
from tests.support.spark import TEST_SETTINGS


def test_session_has_what_jobs_rely_on_and_what_the_user_wants(spark: SparkSession) -> None:
    """The user's settings come last."""
    wanted = {**RELIED_ON, **{name: value for name, value in TEST_SETTINGS.items() if name.startswith("spark.sql")}}
    assert {name: spark.conf.get(name) for name in wanted} == wanted


def test_session_is_opened_once(spark: SparkSession) -> None:
    """Starting Spark takes seconds."""
    assert open_session(SessionSettings()) is spark
