"""What an operator says besides the file: the environment of the process, and the globs of the quick form.

It must not know what a key means.
"""

import os
from collections.abc import Mapping, Sequence

from bridge.config import GroupRule
from bridge.migration.route import Road


def read_environment() -> Mapping[str, str]:
    """The environment of this process, as it is now."""
    return dict(os.environ)


def embedded_rules(globs: Sequence[str]) -> tuple[GroupRule, ...]:
    """One rule for each glob: groups that match it are coordinated by the bridge."""
    return tuple(GroupRule(glob, Road.EMBEDDED) for glob in globs)
