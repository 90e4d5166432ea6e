"""New folders take the place of old ones, whatever dies in between."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from bridge.analytics.tables.file_system import FileSystem
from bridge.analytics.tables.placing import Move, finish, put_in_place

MOVES = [Move("_next/a", "a"), Move(None, "b/date=1"), Move("_next/c", "c")]
EFFECTS = 9
"""An old note goes, the note is made and moved, each place is cleared and filled or cleared, and the note goes."""


class Killed(Exception):
    """The process is gone."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Old folders in their places, new ones beside."""
    for name, text in (("a", "old"), ("b/date=1", "old"), ("c", "old"), ("_next/a", "new"), ("_next/c", "new")):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "rows").write_text(text)
    return tmp_path


def told(root: Path) -> list[str | None]:
    """What lies in the places."""
    rows = (root / name / "rows" for name in ("a", "b/date=1", "c"))
    return [path.read_text() if path.exists() else None for path in rows]


@pytest.mark.parametrize("effects", range(1, EFFECTS + 1))
def test_death_at_any_effect_leaves_the_old_or_makes_the_new(
    spark: SparkSession, root: Path, monkeypatch: pytest.MonkeyPatch, effects: int
) -> None:
    """Whoever comes next finds all of the one or all of the other."""
    lives = [effects]

    def mortal(do: str) -> None:
        effect = getattr(FileSystem, do)

        def act(files: FileSystem, *paths: str) -> None:
            lives[0] -= 1
            if lives[0] <= 0:
                raise Killed
            effect(files, *paths)

        patched.setattr(FileSystem, do, act)

    files, folder = FileSystem(spark, str(root)), str(root / "_next")
    with monkeypatch.context() as patched:
        for do in ("write", "move", "delete"):
            mortal(do)
        with pytest.raises(Killed):
            put_in_place(files, folder, "x", MOVES)
    finish(files, folder, "*")
    assert told(root) in (["old"] * 3, ["new", None, "new"])
    put_in_place(files, folder, "x", MOVES)
    assert told(root) == ["new", None, "new"]
    assert [path.name for path in (root / "_next").iterdir()] == []


def test_other_notes_are_left_alone(spark: SparkSession, root: Path) -> None:
    """Two tables are put in place at once by threads of one process."""
    (root / "_next" / "moves-x").write_text('[["_next/a", "a"]]')
    files, folder = FileSystem(spark, str(root)), str(root / "_next")
    finish(files, folder, "y")
    assert told(root) == ["old"] * 3
    finish(files, folder, "x")
    assert told(root) == ["new", "old", "old"]
