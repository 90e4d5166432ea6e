"""Programs from Debian's packages, without installing them."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.debian import debian_program


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is there yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_program_runs_from_where_it_was_unpacked(capfd: pytest.CaptureFixture[str]) -> None:
    """Fetched once; where there is no apt-get there is none, and where that can't get it, it is said why."""
    program = debian_program("hello", "usr/bin/hello")
    if program is None:
        assert shutil.which("apt-get") is None or "hello can't be had" in capfd.readouterr().err
        return
    ran = subprocess.run([program.path], env=dict(program.environment), capture_output=True, text=True, check=True)
    assert "world" in ran.stdout
    before = Path(program.path).stat().st_ino
    assert debian_program("hello", "usr/bin/hello") == program
    assert Path(program.path).stat().st_ino == before


def test_package_that_nobody_made_is_told(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """And nothing of the attempt is left but a lock."""
    assert debian_program("no-such-package-anywhere", "usr/bin/none") is None
    if shutil.which("apt-get") and shutil.which("dpkg-deb"):
        assert "no-such-package-anywhere can't be had" in capfd.readouterr().err
        assert [path.name for path in tmp_path.glob("epochbridge/debian/*")] == ["no-such-package-anywhere.lock"]
