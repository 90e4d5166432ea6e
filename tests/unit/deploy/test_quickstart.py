"""The set-up script as a user runs it: by its file, with an interpreter of ours, in a folder of its own."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[3] / "deploy" / "quickstart.py"


def run_script(script: Path, *arguments: str, python: str = sys.executable) -> subprocess.CompletedProcess[str]:
    """Run the script without any of our own environment variables but PATH."""
    return subprocess.run(
        [python, str(script), *arguments], capture_output=True, text=True, check=False, env={"PATH": "/usr/bin:/bin"}
    )


@pytest.fixture
def copied_script(tmp_path: Path) -> Path:
    """The script in a tree of its own, so that it makes no environment in ours."""
    (tmp_path / "deploy").mkdir()
    return Path(shutil.copy(SCRIPT, tmp_path / "deploy"))


@pytest.mark.parametrize("arguments", [(), ("walk",), ("--help",)])
def test_unknown_command_tells_usage(arguments: tuple[str, ...]) -> None:
    """Wrong usage is exit status 2 and names both commands."""
    answer = run_script(SCRIPT, *arguments)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert "quickstart.py demo" in answer.stderr
    assert "quickstart.py test" in answer.stderr


def test_unwritable_environment_fails_with_sentence(copied_script: Path) -> None:
    """A place where no environment can be made is named, without a traceback."""
    (copied_script.parent.parent / ".venv").write_text("in the way", encoding="utf-8")
    answer = run_script(copied_script, "demo")
    assert answer.returncode == 1
    assert answer.stderr.startswith("EB-SETUP-002: ")
    assert "Traceback (most recent" not in answer.stderr.partition("It said:")[0]


def test_uninstallable_requirement_fails_with_sentence(copied_script: Path) -> None:
    """What pip can't install is one sentence with pip's own words; a second run starts from the same environment."""
    (copied_script.parent / "constraints.txt").write_text("tox===0.0.0.nowhere\n", encoding="utf-8")
    answer = run_script(copied_script, "demo")
    assert (answer.returncode, answer.stderr[:14]) == (1, "EB-SETUP-003: ")
    again = run_script(copied_script, "demo")
    assert "Making" not in again.stdout
    assert again.stderr[:14] == "EB-SETUP-003: "
