"""Each extra names what its commands import, and nothing that only those of another one do."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from bridge.analytics.tables.definitions import PHASES, REBALANCES
from tests.architecture.source_tree import ROOT, SOURCE_FOLDERS, source_modules
from tests.support.table_files import write_rows

COMMAND = "bridge.analytics.command"
READS_TABLES = ("bridge.analytics.report.job", "bridge.analytics.compare.job")
START_US = 1_763_700_000_000_000
BROUGHT_BY_SPARK = {"py4j"}
PROGRAM = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {missing!r}:
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, Missing())
from bridge.cli.main import main
main()
"""


@cache
def named(extra: str) -> frozenset[str]:
    """The distributions that every installation has, and those of an extra, as they are imported."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    told = [*project["dependencies"], *project["optional-dependencies"][extra]]
    return frozenset(re.split(r"[^A-Za-z0-9_-]", one)[0].replace("-", "_") for one in told)


def imported(module: str) -> Iterator[str]:
    """What a file of ours imports, wherever in it."""
    for node in ast.walk(source_modules()[module].tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def strangers(*begins: str) -> set[str]:
    """The packages of others that these modules import, with all of ours that they import in turn."""
    waiting, seen, found = list(begins), set[str](), set[str]()
    while waiting:
        module = waiting.pop()
        if module in seen:
            continue
        seen.add(module)
        for name in imported(module):
            top = name.partition(".")[0]
            if top in SOURCE_FOLDERS:
                waiting += [one for one in (name, name.rpartition(".")[0]) if one in source_modules()]
            elif top not in sys.stdlib_module_names:
                found.add(top)
    return found


def test_tables_are_read_by_what_the_extra_of_duckdb_names() -> None:
    """And by all of that; of what every installation has they need some."""
    found = strangers(COMMAND, *READS_TABLES, "bridge.analytics.engines.duckdb_views")
    assert found - named("duckdb") == set()
    assert found - named("demo") == {"deltalake", "duckdb"} == named("duckdb") - named("demo")


def test_tables_are_made_by_what_the_extra_of_spark_names() -> None:
    """Py4J comes with Spark; what Spark wants beside it we need not import."""
    jobs = [name for name in source_modules() if name.startswith("bridge.analytics.") and "duckdb" not in name]
    assert strangers(*jobs) - named("spark") - BROUGHT_BY_SPARK == set()


@pytest.mark.parametrize(
    "words",
    [("report",), ("compare", "--control", "protocol = 'classic'", "--treatment", "protocol = 'consumer'")],
)
def test_duckdb_answers_where_nothing_else_is_installed(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Neither Spark nor what it brings; without the word for DuckDB the error says that it is there."""
    lasting = {"group_id": "g", "began_us": START_US, "ended_us": START_US + 2, "duration_us": 2}
    write_rows(tmp_path, REBALANCES, [{**lasting, "rebalance_id": name, "outcome": "completed"} for name in "rs"])
    waits = [("r", "classic"), ("s", "consumer")]
    of_member = {**lasting, "member_id": "m", "phase": "joining", "is_closed": True}
    write_rows(tmp_path, PHASES, [{**of_member, "rebalance_id": name, "protocol": told} for name, told in waits])
    missing = {"numpy", "pandas", "pyarrow", "py4j", "pyspark"}
    program = [sys.executable, "-c", PROGRAM.format(missing=missing), "analytics", *words, "--out", str(tmp_path)]
    told = subprocess.run([*program, "--engine", "duckdb"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (told.stderr, "Traceback" in told.stdout) == ("", False)
    spark = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=False)
    assert spark.returncode == 1
    assert "EB-ANALYTICS-000: analytics needs pyspark" in spark.stderr
    assert "--engine duckdb" in spark.stderr
