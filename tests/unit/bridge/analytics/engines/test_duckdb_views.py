"""The tables as views of DuckDB's."""

from datetime import date
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bridge.analytics.engines.duckdb_views import open_views, told_failures
from bridge.analytics.engines.views import QuestionRefused
from bridge.analytics.errors import AnalyticsError
from bridge.analytics.tables.definitions import DATE, MEMBERS, STALLS
from bridge.analytics.tables.store import NO_DATE
from bridge.analytics.tables.table_log import DataFile, TableLog
from tests.support.table_files import DAY, duckdb_over, write_rows

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


@pytest.mark.parametrize("folder", ["protocol=x", "date=2001-01-01", "group_id=7/lake", "zone=a b", "100%", "a#b"])
def test_folder_above_the_tables_says_nothing_of_their_rows(tmp_path: Path, folder: str) -> None:
    """Lakes name folders so: DuckDB took what stood there for the group, the day or the protocol of every row."""
    root = tmp_path / folder
    write_rows(root, MEMBERS, [{"group_id": "g", "protocol": "classic"}])
    write_rows(root, MEMBERS, [{"group_id": "h", "protocol": "classic"}], date(2025, 11, 22))
    rows = open_views(str(root), None, None, {}).ask("SELECT * FROM members ORDER BY group_id", lambda row: row.values)
    assert [(row["group_id"], row["protocol"], row["date"]) for row in rows] == [
        ("g", "classic", DAY),
        ("h", "classic", date(2025, 11, 22)),
    ]


def test_rows_without_a_day_have_none(tmp_path: Path) -> None:
    """Spark names their folder so."""
    path = f"{DATE}={NO_DATE}/part-0.parquet"
    write_rows(tmp_path, STALLS, [{"group_id": "g"}])
    (tmp_path / STALLS.name / path).parent.mkdir()
    pq.write_table(pa.table({"group_id": ["h"]}), tmp_path / STALLS.name / path)
    TableLog(f"{tmp_path}/{STALLS.name}", STALLS).commit([DataFile(path=path, size_bytes=1, day=None)])
    views = open_views(str(tmp_path), None, None, {})
    found = views.ask("SELECT group_id, date FROM stalls ORDER BY group_id", lambda row: tuple(row.values.values()))
    assert found == [("g", DAY), ("h", None)]


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
