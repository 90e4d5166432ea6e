"""The tables as views of Spark's."""

from pathlib import Path

import pytest

from bridge.analytics.engines.spark_views import open_views, views_of
from bridge.analytics.engines.views import QuestionRefused
from bridge.analytics.errors import AnalyticsError
from bridge.analytics.spark.session import NoJavaError
from bridge.analytics.tables.definitions import STALLS
from bridge.analytics.tables.store import Store
from tests.support.table_files import write_rows


def test_views_are_of_the_store_that_was_asked_for(store: Store) -> None:
    """Of one group or of all, and those of one view of a store are not those of another."""
    write_rows(Path(store.root), STALLS, [{"group_id": name} for name in ("g", "h", "h")])
    every = views_of(store)
    one = every.of_group("h")
    asked = "SELECT count(*) AS n FROM stalls"
    assert (one.ask(asked, lambda row: row.number("n")), every.ask(asked, lambda row: row.number("n"))) == ([2], [3])


@pytest.mark.parametrize("question", ["SELECT nothing FROM stalls", "SELECT (", "SELECT group_id > 5 FROM stalls"])
def test_question_that_is_none_is_refused_in_a_line(store: Store, question: str) -> None:
    """As DuckDB refuses it."""
    write_rows(Path(store.root), STALLS, [{"group_id": "g"}])
    with pytest.raises(QuestionRefused) as refused:
        views_of(store).keep("kept", question)
    assert "\n" not in str(refused.value)


def test_without_java_who_named_no_engine_hears_of_duckdb(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who named Spark has chosen."""

    def fail(_: object) -> None:
        raise NoJavaError("EB-ANALYTICS-002: no Java")

    monkeypatch.setattr("bridge.analytics.engines.spark_views.open_session", fail)
    with pytest.raises(AnalyticsError, match=r"EB-ANALYTICS-002: no Java; .*--engine duckdb"):
        open_views("o", None, None, {})
    with pytest.raises(NoJavaError, match=r"EB-ANALYTICS-002: no Java$"):
        open_views("o", "spark", None, {})
