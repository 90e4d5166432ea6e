"""The wheel as it is built: it holds the source folders and nothing else, and every command begins from it alone."""

import subprocess
import sys
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.architecture.source_tree import ROOT, SOURCE_FOLDERS, source_modules


def data_files() -> Iterator[Path]:
    """What the rooms read beside their code."""
    for folder in SOURCE_FOLDERS:
        for path in (ROOT / folder).rglob("*.*"):
            if path.is_file() and path.suffix not in {".py", ".pyc"}:
                yield path


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What an index would be given."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], cwd=ROOT, check=True)
    (built,) = folder.glob("*.whl")
    return built


def test_wheel_holds_the_source_folders(wheel: Path) -> None:
    """tests/architecture/test_wheel.py shows that an entry point imports each of these."""
    modules = {str(file.path) for file in source_modules().values()}
    held = {name for name in ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert {name for name in held if name.endswith(".py")} == modules
    data = {name for name in held if not name.endswith(".py")}
    assert data == {str(path.relative_to(ROOT)) for path in data_files()}


def test_commands_begin_from_the_wheel_alone(wheel: Path) -> None:
    """Each entry point is there, and nothing of ours is taken from elsewhere."""
    points = ConfigParser()
    points.optionxform = str  # type: ignore[assignment,method-assign]  # the documented way to keep names as written
    (entry,) = (name for name in ZipFile(wheel).namelist() if name.endswith("entry_points.txt"))
    points.read_string(ZipFile(wheel).read(entry).decode())
    places = [place for group in points.sections() for _, place in points.items(group)]
    program = f"""
import importlib, sys
sys.path.insert(0, {str(wheel)!r})
for place in {places!r}:
    module, _, name = place.partition(":")
    assert callable(getattr(importlib.import_module(module), name)), place
ours = [one for name, one in sys.modules.items() if name.partition(".")[0] in ("bridge", "translators")]
assert all(one.__file__.startswith({str(wheel)!r}) for one in ours), ours
"""
    subprocess.run([sys.executable, "-I", "-c", program], check=True, cwd=wheel.parent)
