"""Pure rooms take values and return values: standard library only, nothing that waits, asks the world or draws lots."""

import ast
import sys
from collections.abc import Iterator

from tests.architecture.source_tree import PURE_ROOMS, SourceFile, source_files

OWN = {"bridge", "translators", "tests"}
WORLDLY = {
    "asyncio",
    "concurrent",
    "http",
    "multiprocessing",
    "os",
    "queue",
    "random",
    "secrets",
    "select",
    "selectors",
    "shutil",
    "signal",
    "socket",
    "sqlite3",
    "ssl",
    "subprocess",
    "tempfile",
    "threading",
    "time",
    "urllib",
    "uuid",
}
ASYNC_NODES = (ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith, ast.Await)


def imported_roots(file: SourceFile) -> Iterator[tuple[int, str]]:
    """Yield line and top-level name of everything a file imports."""
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name.partition(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, (node.module or "").partition(".")[0]


def allowed_roots(file: SourceFile) -> set[str]:
    """Return what this file may import: the pure part of the standard library, ours, and the one door it may own."""
    allowed = (set(sys.stdlib_module_names) - WORLDLY) | OWN
    if file.is_in(["tests/support/simulation"]):
        allowed.add("random")
    return allowed


def test_pure_room_imports_no_world() -> None:
    """What decides takes values and gives values (house rules 1, 2, 5, 7)."""
    strays = [
        f"{file.path}:{line} {root}"
        for file in source_files(PURE_ROOMS)
        for line, root in imported_roots(file)
        if root not in allowed_roots(file)
    ]
    assert strays == []


def test_pure_room_never_waits() -> None:
    """No async in a pure room (house rule 7)."""
    waits = [
        f"{file.path}:{node.lineno}"
        for file in source_files(PURE_ROOMS)
        for node in ast.walk(file.tree)
        if isinstance(node, ASYNC_NODES)
    ]
    assert waits == []
