"""Which class is meant its name says: in a room it stands once, and where it is imported it is called the same."""

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tests.architecture.source_tree import SOURCE_FOLDERS, SourceFile, source_files, source_modules

MACHINES = "bridge.migration.moves."
"""Each machine of a move has states, events and members of its own, told by its module; nobody else has their names."""
LOG_WORDS = "bridge.telemetry.schema.terms"
"""Headings of the page of events: `Road` there is a word of the log, and beside it stands the room's own `Road`."""
ROOM_PARTS = 2
"""`bridge.engine` of `bridge.engine.model`."""


def classes_of(tree: ast.Module) -> set[str]:
    """The public classes at the top of a module."""
    return {node.name for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")}


def twice_in_a_room(modules: Mapping[str, ast.Module]) -> dict[str, list[str]]:
    """Class names, behind their room, that stand in several of its modules."""
    found = defaultdict[str, list[str]](list)
    for name, tree in modules.items():
        room = ".".join(name.split(".")[:ROOM_PARTS])
        for own in classes_of(tree):
            found[f"{room}: {own}"].append(name)
    return {
        name: places
        for name, places in found.items()
        if len(places) > 1 and not all(place.startswith(MACHINES) for place in places)
    }


def called_otherwise(tree: ast.Module) -> Iterator[tuple[str, str, str]]:
    """Module, name and other name of what is ours and imported as something else."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in SOURCE_FOLDERS:
            yield from ((node.module or "", one.name, one.asname) for one in node.names if one.asname is not None)


def renamed_classes(files: Iterable[SourceFile]) -> Iterator[str]:
    """Where a class of ours goes by another name, but for words of the log and those of machines."""
    modules = {name: classes_of(file.tree) for name, file in source_modules().items()}
    for file in files:
        for module, name, other in called_otherwise(file.tree):
            is_exempt = name in modules[LOG_WORDS] or module.startswith(MACHINES)
            if name in modules.get(module, ()) and not is_exempt:
                yield f"{file.path}: {module}.{name} as {other}"


def test_class_name_stands_once_in_a_room() -> None:
    """`Known` was an offset in one module of the coordinators and half a bridge in another."""
    assert twice_in_a_room({name: file.tree for name, file in source_modules().items()}) == {}


def test_class_keeps_its_name_where_it_is_imported() -> None:
    """Where two of a name meet in one file, one of them lacks a word that says which it is."""
    assert [*renamed_classes(source_files(SOURCE_FOLDERS))] == []


def test_both_checks_find_what_they_are_for() -> None:
    """In invented modules, and in an import of a class that is there."""
    here, there = ast.parse("class Known: ...\nclass _Own: ..."), ast.parse("class Known: ...\nclass _Own: ...")
    assert twice_in_a_room({"bridge.net.a": here, "bridge.net.b": there}) == {
        "bridge.net: Known": ["bridge.net.a", "bridge.net.b"]
    }
    assert twice_in_a_room({"bridge.net.a": here, "bridge.wire.a": there}) == {}
    adopt, release, plans = (f"bridge.migration.{name}" for name in ("moves.adopt", "moves.release", "plans"))
    assert twice_in_a_room({adopt: here, release: there}) == {}
    assert twice_in_a_room({adopt: here, release: there, plans: there}) == {
        "bridge.migration: Known": [adopt, release, plans]
    }
    text = "from bridge.session.limits import MIB as MEGA, Limits as Bounds\n"
    file = SourceFile(path=Path("x.py"), text=text, tree=ast.parse(text))
    assert [*renamed_classes([file])] == ["x.py: bridge.session.limits.Limits as Bounds"]
