"""The project's Python files as syntax trees, for the tests of this folder.

It knows where source lies, and must not know any rule about it.
"""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE_FOLDERS = ("bridge", "translators")
ALL_FOLDERS = (*SOURCE_FOLDERS, "tests", "deploy")
PURE_ROOMS = (
    "translators",
    "bridge/engine",
    "bridge/wire",
    "bridge/migration",
    "bridge/session",
    "tests/support/simulation",
    "bridge/telemetry/cause",
    "bridge/telemetry/rebalances",
    "bridge/telemetry/schema",
    "bridge/whatif",
)

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """One file: its path from the root, its text and its tree."""

    path: Path
    text: str
    tree: ast.Module

    def functions(self) -> Iterator[Function]:
        """Yield every function and method, nested ones too."""
        return (node for node in ast.walk(self.tree) if isinstance(node, Function))

    def is_in(self, folders: Sequence[str]) -> bool:
        """Say whether the file lies below one of these folders."""
        return any(self.path.is_relative_to(folder) for folder in folders)


@cache
def read_source(path: Path) -> SourceFile:
    """Parse one file, once in a run."""
    text = path.read_text(encoding="utf-8")
    return SourceFile(path=path.relative_to(ROOT), text=text, tree=ast.parse(text, filename=str(path)))


def source_files(folders: Sequence[str]) -> list[SourceFile]:
    """Return all Python files below these folders, in path order."""
    return [read_source(path) for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
