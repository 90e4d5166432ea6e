"""Import contracts: what a room may not import fails, shown by adding such a line to a copy of the source."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.source_tree import ROOT
from tests.architecture.white_list import is_within, parse_rows, row_of

# Each of these lines was let through by contracts that listed what is forbidden.
HOLES = {
    "telemetry makes a circle with what-if": ("bridge/telemetry/schema/terms.py", "import bridge.whatif.history"),
    "config waits": ("bridge/config/keys.py", "import trio"),
    "cli waits": ("bridge/cli/main.py", "import trio"),
    "analytics opens a database": ("bridge/analytics/command.py", "import sqlite3"),
    "demo looks into the coordinators": ("bridge/demo/command.py", "import bridge.coordinators.embedded"),
    "the owner of groups knows who decides": ("bridge/coordinators/owner.py", "import bridge.engine.state"),
}


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run lint-imports in a folder; its first run there builds the graph anew."""
    program = Path(sys.executable).with_name("lint-imports")
    return subprocess.run([program], cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What lint-imports reads, in a folder of its own."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copy(ROOT / "pyproject.toml", folder)
    for name in ("bridge", "translators", "tests/architecture"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "tests/__init__.py", folder / "tests")
    return folder


def test_copy_is_sound(copy: Path) -> None:
    """Without this the tests below would pass for a wrong reason."""
    outcome = lint(copy)
    assert outcome.returncode == 0, outcome.stdout


def test_each_added_line_fails(copy: Path) -> None:
    """White lists, as a black list has holes (house rule 8). One run for all, as each reads all of the source."""
    files = {copy / name: (copy / name).read_text(encoding="utf-8") for name, _ in HOLES.values()}
    assert len(files) == len(HOLES), "a line must not hide behind another in the same file"
    for name, line in HOLES.values():
        file = copy / name
        file.write_text(f"{files[file]}\n{line}\n", encoding="utf-8")
    try:
        outcome = lint(copy)
    finally:
        for file, text in files.items():
            file.write_text(text, encoding="utf-8")
    assert outcome.returncode != 0
    said = outcome.stdout.replace("\n", "")
    unsaid = {hole for hole, (name, line) in HOLES.items() if not is_told(said, name, line)}
    assert unsaid == set(), outcome.stdout


def is_told(said: str, name: str, line: str) -> bool:
    """Whether it is said of this file that it imports just that: each of both may be told for another one's sake."""
    importer = name.removesuffix(".py").replace("/", ".")
    told = f"{importer}:{{}} imports {line.removeprefix('import ')}, which"
    return re.search(re.escape(told).replace(r"\{\}", r"\d+"), said) is not None


def test_line_is_told_by_both_its_ends() -> None:
    """Two files import trio, and one of them is named for something else."""
    said = "bridge.cli.main:9 imports trio, which `bridge.cli` may notbridge.config.keys:5 imports sqlite3, which it"
    assert is_told(said, "bridge/cli/main.py", "import trio")
    assert not is_told(said, "bridge/config/keys.py", "import trio")


def test_longest_row_counts() -> None:
    """A door for one package opens nothing for its neighbours."""
    rows = parse_rows(["a -> x, y", "a.b -> z", "c ->"])
    assert rows == {"a": {"x", "y"}, "a.b": {"z"}, "c": frozenset()}
    assert [row_of(name, rows) for name in ("a", "a.c", "a.b.d", "ab", "c")] == ["a", "a", "a.b", None, "c"]
    assert is_within("a.b", "a")
    assert not is_within("ab", "a")
