"""Checks beside the tests: seen in runs of their own, of a project with one test and checks that are told."""

import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.support.checks import checks_of

ROOT = Path(__file__).resolve().parents[3]
PATIENCE_S = 200.0
GOOD = '["python", "-c", "print(1)"]'
BAD = """["python", "-c", "print('it is', 'wrong'); raise SystemExit(4)"]"""


COMMAND = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider")


def write(folder: Path, checks: str, test: str = "def test_sound(): pass") -> None:
    """A project with this test and these checks."""
    project = f'[tool.pytest.ini_options]\npythonpath = ["{ROOT}"]'
    (folder / "pyproject.toml").write_text(project, encoding="utf-8")
    (folder / "tox.toml").write_text(f"[env.lint]\ncommands = [{checks}]", encoding="utf-8")
    (folder / "conftest.py").write_text('pytest_plugins = ["tests.support.checks"]', encoding="utf-8")
    (folder / "test_it.py").write_text(test, encoding="utf-8")


def run(folder: Path, checks: str, *options: str, test: str = "def test_sound(): pass") -> tuple[int, str]:
    """Exit status and words of a run."""
    write(folder, checks, test)
    command = [*COMMAND, *options]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    return ran.returncode, ran.stdout + ran.stderr


def pid_in(path: Path) -> int:
    """The process id that a check leaves there when it has begun."""
    give_up = time.monotonic() + PATIENCE_S
    while not (path.exists() and (words := path.read_text(encoding="utf-8").strip())):
        assert time.monotonic() < give_up, f"{path} was not written"
        time.sleep(0.05)
    return int(words)


def test_check_that_fails_fails_the_run_and_says_why(tmp_path: Path) -> None:
    """All are run, also after one that failed, and in a run that is shared each only once."""
    status, words = run(tmp_path, f"{BAD}, {GOOD}, {BAD}", "--checks", "-n", "2")
    assert status == pytest.ExitCode.TESTS_FAILED
    assert words.count("\nit is wrong\n(exit status 4)\n") == 2
    assert "1 of 3 checks passed" in words
    assert "1 passed" in words


def test_checks_that_pass_change_nothing(tmp_path: Path) -> None:
    """Nor does what runs the tests of `lint` by itself."""
    status, words = run(tmp_path, f'{GOOD}, ["pytest", "tests"]', "--checks")
    assert (status, "1 of 1 checks passed" in words) == (pytest.ExitCode.OK, True), words


def test_tests_fail_as_they_do(tmp_path: Path) -> None:
    """Whatever is checked."""
    status, words = run(tmp_path, GOOD, "--checks", test="def test_wrong(): assert False")
    assert (status, "1 of 1 checks passed" in words) == (pytest.ExitCode.TESTS_FAILED, True), words


def test_program_that_is_not_there_fails(tmp_path: Path) -> None:
    """A check that did not run has not passed."""
    status, words = run(tmp_path, '["no-such-program-here"]', "--checks")
    assert (status, "0 of 1 checks passed" in words) == (pytest.ExitCode.TESTS_FAILED, True), words


def test_words_that_are_no_text_are_said_as_far_as_they_are(tmp_path: Path) -> None:
    """A spelling check quotes what it finds in any file."""
    check = """["python", "-c", "import os; os.write(1, bytes([255]) + b'wrong'); raise SystemExit(4)"]"""
    status, words = run(tmp_path, check, "--checks")
    assert (status, "wrong\n(exit status 4)" in words) == (pytest.ExitCode.TESTS_FAILED, True), words


def test_one_asks_for_checks(tmp_path: Path) -> None:
    """Who runs one test waits for none."""
    status, words = run(tmp_path, BAD)
    assert (status, "checks passed" in words) == (pytest.ExitCode.OK, False), words


def test_whole_runs_check_what_lint_does() -> None:
    """The list is written once."""
    programs = [command[0] for command in checks_of(ROOT / "tox.toml")]
    assert programs == ["ruff", "ruff", "mypy", "lint-imports", "codespell", "towncrier"]


def test_check_ends_with_a_run_that_is_killed(tmp_path: Path) -> None:
    """It would take a core from the next run for a minute."""
    write(
        tmp_path,
        """["python", "-c", "import os, time; print(os.getpid(), file=open('begun', 'w')); time.sleep(1000)"]""",
    )
    with subprocess.Popen(
        [*COMMAND, "--checks"], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as ran:
        try:
            check = psutil.Process(pid_in(tmp_path / "begun"))
        finally:
            ran.kill()
    # Killed, not asked: no code of ours can have ended it.
    check.wait(PATIENCE_S)
