"""What is shipped is used: each module of the wheel is imported from an entry point, at once or late."""

import ast
import tomllib
from collections.abc import Iterable, Iterator

from tests.architecture.source_tree import ROOT, SOURCE_FOLDERS, SourceFile, modules_in_strings, source_modules

STARTED = {"bridge.__main__"}
"""What `python -m bridge` starts."""


def entry_points() -> set[str]:
    """The modules that commands and subcommands begin in."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = [project["scripts"], *project["entry-points"].values()]
    return {place.partition(":")[0] for group in groups for place in group.values()}


def mentioned(file: SourceFile) -> Iterator[str]:
    """Everything that a file imports or names as a module, attributes of modules too."""
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
    yield from (name for _, name in modules_in_strings(file))


def with_packages(name: str) -> Iterator[str]:
    """A module and the packages that it lies in, which are imported with it."""
    parts = name.split(".")
    return (".".join(parts[:end]) for end in range(1, len(parts) + 1))


def reached(beginnings: Iterable[str]) -> set[str]:
    """Modules of ours that are imported from these, directly or not."""
    modules = source_modules()
    found: set[str] = set()
    waiting = list(beginnings)
    while waiting:
        new = {one for one in with_packages(waiting.pop()) if one in modules} - found
        found |= new
        waiting += [name for one in new for name in mentioned(modules[one])]
    return found


def test_wheel_holds_what_an_entry_point_imports() -> None:
    """What only tests use lies in tests/support, what only draws the docs in deploy."""
    assert sorted(source_modules().keys() - reached({*entry_points(), *STARTED})) == []


def test_wheel_is_made_of_the_source_folders() -> None:
    """The test above looks at what is shipped, and the wheel is built of nothing else."""
    targets = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]
    assert targets["wheel"] == {"packages": list(SOURCE_FOLDERS)}
