"""Foreign distributions with the names of our packages."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bridge.cli.main import foreign_package, run


def put_package(folder: Path, name: str) -> None:
    """A package that must not be imported."""
    package = folder / name
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit('imported')\n", encoding="utf-8")


def put_distribution(folder: Path, name: str, *files: str) -> None:
    """What an installer leaves behind of a distribution."""
    record = folder / f"{name}-5.9.0.dist-info"
    record.mkdir()
    (record / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 5.9.0\n", encoding="utf-8")
    (record / "RECORD").write_text("".join(f"{file},,\n" for file in files), encoding="utf-8")


def test_our_own_packages_are_not_foreign() -> None:
    """As every run of these tests has them."""
    assert foreign_package() is None


def test_package_before_ours_is_refused(tmp_path: Path) -> None:
    """A process of its own: whatever comes first on the path counts, and is not imported."""
    put_package(tmp_path, "translators")
    (tmp_path / "later").symlink_to(Path(__file__).parents[5])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(tmp_path / "later")])}
    program = "import sys; from bridge.cli.main import run; sys.exit(run(['version']))"
    ended = subprocess.run(
        [sys.executable, "-c", program], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1
    assert ended.stderr.startswith("Error: EB-CLI-008: the package 'translators' is not epochbridge's own: ")
    assert str(tmp_path / "translators") in ended.stderr


@pytest.mark.parametrize("name", ["bridge", "translators"])
def test_distribution_over_ours_is_refused(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its files lie among ours then, so only what the installer wrote down tells."""
    put_distribution(tmp_path, name, f"{name}/__init__.py", f"{name}/server.py")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert run(["version"]) == 1
    told = capsys.readouterr().err
    assert f"EB-CLI-008: the package '{name}' is not epochbridge's own" in told
    assert "-m venv" in told


def test_distribution_of_that_name_with_other_packages_is_none_of_our_business(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name alone harms nobody."""
    put_distribution(tmp_path, "bridge", "bridging/__init__.py")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert foreign_package() is None
