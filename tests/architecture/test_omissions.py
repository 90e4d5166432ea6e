"""What is new and has no answer yet fails the type check: a record, a command, a notice, an event, a member's state."""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.architecture.source_tree import ROOT

ADDED = """

@dataclass(frozen=True, slots=True)
class Omitted:
    \"\"\"Nobody has an answer to this.\"\"\"

"""
# Which file gets the class, which definition it joins, and who has to miss an answer.
OMISSIONS: dict[str, tuple[str, str, Sequence[str]]] = {
    "record": (
        "bridge/engine/records.py",
        "VolatileRecord = (",
        ["bridge/engine/apply.py"],
    ),
    "durable record": (
        "bridge/engine/records.py",
        "DurableClassicRecord = (",
        ["bridge/engine/apply.py", "bridge/engine/records_codec.py"],
    ),
    "command": (
        "bridge/engine/commands.py",
        "Command = (",
        ["bridge/engine/advance.py"],
    ),
    "notice": (
        "bridge/engine/outcome.py",
        "Notice = (",
        ["bridge/coordinators/embedded/group_log.py"],
    ),
    "event": (
        "translators/classic_member/events.py",
        "WorldEvent =",
        ["translators/classic_member/stable.py", "translators/classic_member/preparing.py"],
    ),
    "state": (
        "translators/classic_member/states.py",
        "State =",
        [
            "translators/classic_member/states.py",
            "translators/classic_member/step.py",
            "translators/classic_member/member_records.py",
            "translators/classic_member/commits.py",
            "translators/classic_member/departing.py",
            "translators/classic_member/converting.py",
            "bridge/coordinators/exchange.py",
            "bridge/coordinators/machines.py",
            "bridge/coordinators/admission.py",
            "bridge/app/views.py",
        ],
    ),
}


def copy_source(folder: Path) -> None:
    """What mypy reads, with its configuration, and without the folders that nothing here concerns."""
    shutil.copy(ROOT / "pyproject.toml", folder)
    for name in ("bridge", "translators"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))


def add(folder: Path, name: str) -> None:
    """Put a class before the union that it joins, as the first of its parts."""
    path, union, _ = OMISSIONS[name]
    text = (folder / path).read_text(encoding="utf-8")
    before, found, after = text.partition(f"\n{union}")
    assert found, f"{path} has no {union!r}"
    (folder / path).write_text(f"{before}{ADDED}{found} Omitted |{after}", encoding="utf-8")


def test_omission_fails_the_type_check(tmp_path: Path) -> None:
    """Whole unions in `match`, and no dispatch on `object` (house rule 8). One run of mypy for all."""
    copy_source(tmp_path)
    for name in OMISSIONS:
        add(tmp_path, name)
    places = sorted({place for _, _, places in OMISSIONS.values() for place in places})
    program = [sys.executable, "-m", "mypy", "--no-error-summary", *places]
    outcome = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, check=False)
    told = {line.partition(":")[0] for line in outcome.stdout.splitlines() if "Omitted" in line}
    silent = {name: sorted(set(places) - told) for name, (_, _, places) in OMISSIONS.items()}
    assert silent == {name: [] for name in OMISSIONS}, outcome.stdout
