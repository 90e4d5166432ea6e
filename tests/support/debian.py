"""Programs from Debian's packages, fetched by apt-get from where this machine has its packages, and never installed."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bridge.demo.kafka_jars import cache_directory, locked

FETCH_S = 360.0
APT = ("apt-get", "--quiet", "--option", "Acquire::Retries=1", "--option", "Acquire::http::Timeout=20")


@dataclass(frozen=True, slots=True)
class Program:
    """Where a program lies, and what it needs in its environment."""

    path: str
    environment: Mapping[str, str] = field(default_factory=dict)


class AptError(Exception):
    """What apt-get or dpkg-deb had to say."""


def debian_program(package: str, place: str) -> Program | None:
    """The program at `place` in a package of Debian, unpacked beside what else of Debian it needs and is not here.

    None, and its reason on standard error, where there is no apt-get, or where that can't get the package. Blocks.
    """
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        return None
    final = cache_directory("", os.environ, Path.home()).parent / "debian" / package
    final.parent.mkdir(parents=True, exist_ok=True)
    with locked(final.with_suffix(".lock")):
        if not final.exists():
            try:
                _fetch(package, final)
            except AptError as problem:
                print(f"{package} can't be had from this machine's packages: {problem}", file=sys.stderr)
                return None
    return _program(final, place)


def _fetch(package: str, final: Path) -> None:
    with tempfile.TemporaryDirectory(dir=final.parent) as work:
        folder = Path(work)
        try:
            archives = _download(package, folder / "known", ())
        except AptError:
            archives = _download(package, folder / "fresh", _fresh_lists(folder))
        for archive in archives:
            _run(["dpkg-deb", "--extract", str(archive), str(folder / "root")], folder)
        (folder / "root").rename(final)


def _download(package: str, folder: Path, options: Sequence[str]) -> list[Path]:
    """The package and those that it needs and that are not installed."""
    folder.mkdir()
    plan = _run([*APT, *options, "--simulate", "--no-install-recommends", "install", package], folder)
    names = [line.split()[1] for line in plan.splitlines() if line.startswith("Inst ")]
    if not names:
        raise AptError(f"{package} is installed, but not found")
    _run([*APT, *options, "download", *names], folder)
    return list(folder.glob("*.deb"))


def _fresh_lists(folder: Path) -> tuple[str, ...]:
    """What apt-get knows may be too old, or nothing at all; whoever is not root has lists of its own."""
    lists, cache = folder / "lists", folder / "cache"
    for directory in (lists, cache):
        (directory / "partial").mkdir(parents=True)
    options = ("--option", f"Dir::State::Lists={lists}", "--option", f"Dir::Cache={cache}")
    _run([*APT, *options, "update"], folder)
    return options


def _run(command: Sequence[str], folder: Path) -> str:
    try:
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=FETCH_S, check=False)
    except subprocess.TimeoutExpired as problem:
        raise AptError(f"{command[0]} took more than {FETCH_S:.0f} s") from problem
    if ran.returncode != 0:
        raise AptError((ran.stderr or ran.stdout).strip()[-500:])
    return ran.stdout


def _program(root: Path, place: str) -> Program:
    folders = sorted({str(library.parent) for library in root.glob("usr/lib/*-linux-gnu*/**/*.so*")})
    known = [os.environ["LD_LIBRARY_PATH"]] if "LD_LIBRARY_PATH" in os.environ else []
    return Program(str(root / place), {"LD_LIBRARY_PATH": os.pathsep.join([*folders, *known])})
