"""What an operator says besides the file: the environment of the process, its folders, the globs of the quick form."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from bridge.config.configuration import GroupRule
from bridge.migration.route import Road

PROGRAM = "epochbridge"


def read_environment() -> Mapping[str, str]:
    """The environment of this process, as it is now."""
    return dict(os.environ)


def state_folder(environment: Mapping[str, str]) -> Path:
    """Where a program keeps what has to survive it: systemd's StateDirectory=, else the folder of the XDG base
    directory specification, which is `~/.local/state` unless the environment says otherwise.
    """
    given = environment.get("STATE_DIRECTORY", "").partition(":")[0]
    if given:
        return Path(given)
    base = environment.get("XDG_STATE_HOME", "")
    # The specification: a path that is not absolute is to be ignored.
    return (Path(base) if Path(base).is_absolute() else Path.home() / ".local" / "state") / PROGRAM


def quick_rules(embedded: Sequence[str], upstream: Sequence[str]) -> tuple[GroupRule, ...]:
    """One rule for each glob: groups that match are coordinated by the bridge, or by a broker that speaks KIP-848."""
    return (
        *(GroupRule(glob, Road.EMBEDDED) for glob in embedded),
        *(GroupRule(glob, Road.UPSTREAM) for glob in upstream),
    )
