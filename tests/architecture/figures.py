"""How large the house is and how much of it hangs together: the figures of decision 144, of this tree or another one.

python -m tests.architecture.figures [TREE]
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.architecture.source_tree import ROOT, SourceFile, importers, source_modules

TOP = "bridge"


@dataclass(frozen=True, slots=True)
class Figures:
    """What is counted; rooms are the packages and modules right under `bridge`, arrows lead from one that imports."""

    rooms: int
    arrows: int
    files: int
    files_with_one_importer: int
    lines: int
    lines_of_comments: int
    lines_in_pyproject: int


def room_of(module: str) -> str | None:
    """The room at the top of `bridge` that a module lies in; None for `translators` and `bridge` itself."""
    top, _, rest = module.partition(".")
    return rest.partition(".")[0] or None if top == TOP else None


def arrows(found: dict[str, set[str]]) -> Iterator[tuple[str, str]]:
    """Who imports whom, by rooms."""
    for imported, by in found.items():
        for importer in by:
            one, other = room_of(importer), room_of(imported)
            if one is not None and other is not None and one != other:
                yield one, other


def count_comments(file: SourceFile) -> int:
    """Lines that are a comment alone; those after code and the docstrings are not among them."""
    return sum(line.lstrip().startswith("#") for line in file.text.splitlines())


def count(root: Path = ROOT) -> Figures:
    """Count a tree."""
    modules, found = source_modules(root), importers(root)
    return Figures(
        rooms=len({room for room in map(room_of, modules) if room is not None}),
        arrows=len({*arrows(found)}),
        files=len(modules),
        files_with_one_importer=sum(
            len(by) == 1 and modules[name].path.name != "__init__.py" for name, by in found.items()
        ),
        lines=sum(len(file.text.splitlines()) for file in modules.values()),
        lines_of_comments=sum(map(count_comments, modules.values())),
        lines_in_pyproject=len((root / "pyproject.toml").read_text(encoding="utf-8").splitlines()),
    )


def main(tree: str = str(ROOT)) -> None:
    """Print a line for each figure."""
    figures = count(Path(tree).resolve())
    for name in Figures.__dataclass_fields__:
        print(f"{name.replace('_', ' '):30} {getattr(figures, name):7,}")


if __name__ == "__main__":
    main(*sys.argv[1:])
