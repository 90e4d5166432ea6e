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
def read_source(path: Path, root: Path = ROOT) -> SourceFile:
    """Parse one file, once in a run."""
    text = path.read_text(encoding="utf-8")
    return SourceFile(path=path.relative_to(root), text=text, tree=ast.parse(text, filename=str(path)))


def source_files(folders: Sequence[str], root: Path = ROOT) -> list[SourceFile]:
    """Return all Python files below these folders, in path order."""
    return [read_source(path, root) for folder in folders for path in sorted((root / folder).rglob("*.py"))]


def module_name(path: Path) -> str:
    """The dotted name of a file of ours; a package is named without its `__init__`."""
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def source_modules(root: Path = ROOT) -> dict[str, SourceFile]:
    """What a wheel holds: each module of the source folders by its dotted name."""
    return {module_name(file.path): file for file in source_files(SOURCE_FOLDERS, root)}


def strings_of(file: SourceFile) -> Iterator[tuple[int, str]]:
    """Line and text of every string; of one with values in it, what stands before the first value."""
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def modules_in_strings(file: SourceFile, root: Path = ROOT) -> Iterator[tuple[int, str]]:
    """Our modules that a file names in a string: that is how it imports late, or starts a program by `python -m`."""
    yield from ((line, text) for line, text in strings_of(file) if "." in text and text in source_modules(root))


def importers(root: Path = ROOT) -> dict[str, set[str]]:
    """Who imports each module of the source folders, at the start or late by a string."""
    modules = source_modules(root)
    found: dict[str, set[str]] = {name: set() for name in modules}
    for importer, file in modules.items():
        for node in ast.walk(file.tree):
            if isinstance(node, ast.ImportFrom):
                names = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            else:
                continue
            for name in {*names} & found.keys() - {importer}:
                found[name].add(importer)
        for _, name in modules_in_strings(file, root):
            if name != importer:
                found[name].add(importer)
    return found
