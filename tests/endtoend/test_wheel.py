"""The packages as they are built: what they hold, what they say of themselves, and that the bridge runs from them."""

import os
import signal
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.metadata import Metadata

from bridge.demo.services import free_place
from tests.architecture.source_tree import ROOT, SOURCE_FOLDERS, source_modules


def data_files() -> Iterator[Path]:
    """What the rooms read beside their code."""
    for folder in SOURCE_FOLDERS:
        for path in (ROOT / folder).rglob("*.*"):
            if path.is_file() and path.suffix not in {".py", ".pyc"}:
                yield path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What an index would be given: the sdist, and the wheel that was made of it and of nothing else."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "build", "--no-isolation", "--outdir", folder], cwd=ROOT, check=True)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    """The wheel."""
    (found,) = built.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def sdist(built: Path) -> Path:
    """The archive of sources."""
    (found,) = built.glob("*.tar.gz")
    return found


def metadata_of(sdist: Path) -> bytes:
    """PKG-INFO of an archive of sources."""
    with tarfile.open(sdist) as archive:
        member = archive.extractfile(f"{sdist.name.removesuffix('.tar.gz')}/PKG-INFO")
        assert member is not None
        return member.read()


def test_metadata_is_what_an_index_takes(wheel: Path, sdist: Path) -> None:
    """Every field by the rules of the index, and both packages say the same."""
    (name,) = (name for name in ZipFile(wheel).namelist() if name.endswith(".dist-info/METADATA"))
    told = ZipFile(wheel).read(name)
    metadata = Metadata.from_email(told, validate=True)
    assert (metadata.name, metadata.license_expression) == ("epochbridge", "Apache-2.0")
    assert metadata.description == (ROOT / "README.md").read_text(encoding="utf-8")
    assert metadata.description_content_type == "text/markdown"
    assert told == metadata_of(sdist)


def test_sdist_holds_what_the_checks_need(sdist: Path) -> None:
    """Sources, tests, documentation and what is deployed, but nothing that a run leaves behind."""
    with tarfile.open(sdist) as archive:
        held = {member.partition("/")[2] for member in archive.getnames()}
    folders = (*SOURCE_FOLDERS, "tests")
    wanted = {str(path.relative_to(ROOT)) for folder in folders for path in (ROOT / folder).rglob("*.py")}
    assert wanted - held == set()
    assert {"deploy/constraints.txt", "docs/README.md", "pyproject.toml", "tox.toml"} <= held
    assert [name for name in held if name.endswith(".pyc") or name.startswith((".venv", ".tox"))] == []


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


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The command `epochbridge` in an environment that has the wheel and what it asks for, and nothing else."""
    place = tmp_path_factory.mktemp("environment")
    python, constraints = str(place / "bin/python"), str(ROOT / "deploy/constraints.txt")
    install = [python, "-m", "pip", "install", "--quiet", "--no-compile", "-c", constraints, str(wheel)]
    for command in ([sys.executable, "-m", "virtualenv", "--quiet", str(place)], install):
        subprocess.run(command, check=True, env=without_python())
    return str(place / "bin/epochbridge")


def without_python() -> dict[str, str]:
    """The environment of somebody who has never seen these sources."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}


def test_installed_command_says_its_version(installed: str, wheel: Path) -> None:
    """The one that the wheel is named after."""
    ran = subprocess.run([installed, "version"], capture_output=True, text=True, check=True, env=without_python())
    assert ran.stdout == f"epochbridge {wheel.name.split('-')[1]}\n"


def test_installed_bridge_serves_and_is_asked(installed: str, tmp_path: Path) -> None:
    """With its journal, its listener and its admin API; what comes with an extra is not missed."""
    place = free_place()
    command = [installed, "serve", "--bootstrap", "127.0.0.1:1", "--listen", place.listen, "--admin", place.admin]
    command += ["--embedded", "*", "--set", f"journal.path={tmp_path / 'journal.db'}", "--log-format", "json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=without_python()
    ) as bridge:
        assert bridge.stdout is not None
        try:
            assert bridge.stdout.readline().startswith(f"epochbridge waits: clients {place.listen}, ")
            asked = [installed, "groups", "--json", "--admin", place.admin]
            ran = subprocess.run(asked, capture_output=True, text=True, check=True, env=without_python())
        finally:
            bridge.send_signal(signal.SIGTERM)
        _, log = bridge.communicate()
    assert (bridge.returncode, ran.stdout, "Traceback" in log) == (0, '{"groups":[]}\n', False)
    assert (tmp_path / "journal.db").exists()


def test_command_without_its_extra_names_it(installed: str) -> None:
    """`demo` and `analytics` need libraries that `serve` does without."""
    for command, extra in (("demo", "demo"), ("analytics run --events x --out y", "spark")):
        ran = subprocess.run(
            [installed, *command.split()], capture_output=True, text=True, check=False, env=without_python()
        )
        assert ran.returncode != 0
        assert f"pip install 'epochbridge[{extra}]'" in ran.stderr
