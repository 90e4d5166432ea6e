"""The tables as views of DuckDB's."""

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bridge.analytics.engines.duckdb_views import open_views, told_failures
from bridge.analytics.engines.views import QuestionRefused
from bridge.analytics.errors import AnalyticsError
from bridge.analytics.tables.definitions import DATE, MEMBERS, STALLS
from bridge.analytics.tables.table_log import DataFile, TableLog
from tests.support.table_files import duckdb_over, write_rows

AWKWARD = "it's \\ a 'group"


def test_group_of_any_name_is_apart(tmp_path: Path) -> None:
    """Its rows alone, and nothing of what its name may say in SQL."""
    views = duckdb_over(tmp_path, {STALLS: [{"group_id": name, "stall_us": 1} for name in ("g", AWKWARD, AWKWARD)]})
    asked = "SELECT group_id, count(*) AS n FROM stalls GROUP BY group_id"
    found = views.of_group(AWKWARD).ask(asked, lambda row: (row.text("group_id"), row.number("n")))
    assert found == [(AWKWARD, 2)]
    assert len(views.ask(asked, lambda row: row)) == 2


def test_column_that_older_files_lack_is_null(tmp_path: Path) -> None:
    """One that the table does not know is left out, and a table without files is empty."""
    write_rows(tmp_path, STALLS, [{"group_id": "g", "stall_us": 1}])
    path = f"{DATE}=2025-11-20/part-0.parquet"
    file = tmp_path / STALLS.name / path
    file.parent.mkdir()
    pq.write_table(pa.table({"group_id": ["h"], "colour": ["red"]}), file)
    old = DataFile(path=path, size_bytes=file.stat().st_size, day="2025-11-20")
    TableLog(f"{tmp_path}/{STALLS.name}", STALLS).commit([old])
    views = open_views(str(tmp_path), None, None, {})
    found = views.ask("SELECT * FROM stalls ORDER BY group_id NULLS LAST", lambda row: row.values)
    assert [(row["group_id"], row["stall_us"]) for row in found] == [("g", 1), ("h", None)]
    assert set(found[0]) == set(STALLS.column_names)
    assert views.ask(f"SELECT * FROM {MEMBERS.name}", lambda row: row) == []


@pytest.mark.parametrize("question", ["SELECT nothing FROM stalls", "SELECT (", "SELECT group_id > 5 FROM stalls"])
def test_question_that_is_none_is_refused_in_a_line(tmp_path: Path, question: str) -> None:
    """A column of nobody, words that are no SQL, a comparison that can't be made."""
    views = duckdb_over(tmp_path, {STALLS: [{"group_id": "g"}]})
    with pytest.raises(QuestionRefused) as refused:
        views.keep("kept", question)
    assert "\n" not in str(refused.value)


def test_answer_is_kept_under_its_name(tmp_path: Path) -> None:
    """The last one counts."""
    views = duckdb_over(tmp_path, {STALLS: [{"group_id": "g"}]})
    for value in (1, 2):
        views.keep("kept", f"SELECT {value} AS n FROM stalls")
    assert views.ask("SELECT n FROM kept", lambda row: row.number("n")) == [2]


def test_spoilt_file_is_one_sentence(tmp_path: Path) -> None:
    """As is one that is gone when it is read; a question that DuckDB refuses is our bug."""
    write_rows(tmp_path, STALLS, [{"group_id": "g"}])
    (file,) = tmp_path.glob("stalls/*/part-0.parquet")
    file.write_bytes(b"PAR1 is no Parquet")
    with pytest.raises(AnalyticsError, match="EB-ANALYTICS-052: DuckDB broke off"), told_failures():
        open_views(str(tmp_path), None, None, {})
    with pytest.raises(duckdb.BinderException), told_failures():
        duckdb.connect().execute("SELECT nothing")
