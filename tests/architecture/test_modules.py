"""What every module has: a docstring that says what it is for, a sound name, and a test file in the mirrored place."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from tests.architecture.source_tree import (
    ALL_FOLDERS,
    ROOT,
    SOURCE_FOLDERS,
    Function,
    SourceFile,
    importers,
    source_files,
    source_modules,
)

BANNED_MODULE_NAMES = {"utils", "util", "common", "helpers", "helper", "base", "core", "types", "misc"}
BANNED_CLASS_ENDINGS = ("Manager", "Handler", "Helper", "Helpers", "Util", "Utils")
ROOM_SENTENCES_MIN = 2
ROOM_DEPTH = 3
"""`bridge/engine/__init__.py`: the parts of the path of a room's own file."""
CRUMB_LINES = 60
LOOKED_FOR_BY_NAME = {
    "bridge/analytics/stretches": "a table, or the hash that Spark adds up",
    "bridge/analytics/tables": "a table",
    "bridge/cli": "a subcommand, or the library behind it",
}
"""Folders whose files a newcomer looks for by name, however small they are, with what each name is."""


def sentence_count(text: str) -> int:
    """Count full stops (and their kin) that end a word."""
    return len(re.findall(r"\w\W?[.!?](?=\s|$)", text))


def is_declaration(function: Function) -> bool:
    """Say whether a function has no body of its own, as in a Protocol: a docstring or an ellipsis at most."""
    return all(isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) for node in function.body)


def mirrored_places(path: Path) -> tuple[Path, Path]:
    """Return where the tests of a module may be: one file, or a folder of files."""
    folder = Path("tests/unit") / path.parent
    return folder / f"test_{path.stem.strip('_')}.py", folder / path.stem.strip("_")


def has_mirror(file: SourceFile) -> bool:
    """Say whether one of the mirrored places holds tests."""
    single, folder = (ROOT / place for place in mirrored_places(file.path))
    return single.is_file() or any(folder.glob("test_*.py"))


def test_module_says_what_it_is_for() -> None:
    """A sentence, which ends (house rule 8)."""
    counts = {
        str(file.path): sentence_count(ast.get_docstring(file.tree) or "") for file in source_files(SOURCE_FOLDERS)
    }
    assert {path: count for path, count in counts.items() if not count} == {}


def test_room_says_what_it_knows_and_must_not_know() -> None:
    """A room is a package right under `bridge` or `translators` (house rule 8)."""
    rooms = (file for file in source_files(SOURCE_FOLDERS) if file.path.name == "__init__.py")
    words = {
        str(file.path): " ".join((ast.get_docstring(file.tree) or "").split())
        for file in rooms
        if len(file.path.parts) == ROOM_DEPTH
    }
    assert [path for path, text in words.items() if sentence_count(text) < ROOM_SENTENCES_MIN] == []
    assert [path for path, text in words.items() if "must not" not in text] == []


def test_no_module_says_what_it_must_not_know() -> None:
    """What is forbidden is said once, by the room, where the imports that hold it to that are listed, too."""
    says_so = re.compile(r"\bit must not know\b", re.IGNORECASE)
    modules = (file for file in source_files(SOURCE_FOLDERS) if file.path.name != "__init__.py")
    inside = (file for file in modules if len(file.path.parts) > ROOM_DEPTH - 1)
    assert [str(file.path) for file in inside if says_so.search(file.text)] == []


def test_module_with_functions_has_mirrored_tests() -> None:
    """bridge/wire/frames.py is tested in tests/unit/bridge/wire/test_frames.py, or a folder frames (house rule 8)."""
    with_functions = (
        file for file in source_files(SOURCE_FOLDERS) if not all(is_declaration(one) for one in file.functions())
    )
    missing = (str(mirrored_places(file.path)[0]) for file in with_functions if not has_mirror(file))
    assert "\n".join(missing) == ""


def crumbs() -> set[str]:
    """Files under 60 lines with one importer in their own folder, where nobody looks for them by name."""
    modules, found = source_modules(), importers()
    return {
        str(file.path)
        for name, file in modules.items()
        if file.path.name != "__init__.py"
        and len(file.text.splitlines()) < CRUMB_LINES
        and str(file.path.parent) not in LOOKED_FOR_BY_NAME
        and [modules[one].path.parent for one in found[name]] == [file.path.parent]
    }


def test_crumb_moves_into_its_only_importer() -> None:
    """What is small and serves one neighbour is no idea of its own (house rule 8)."""
    assert crumbs() == set()


def test_package_file_holds_no_logic() -> None:
    """House style: __init__.py has a docstring only."""
    packages = (file for file in source_files((*SOURCE_FOLDERS, "tests")) if file.path.name == "__init__.py")
    assert [str(file.path) for file in packages if len(file.tree.body) != 1] == []


def test_names_say_what_a_thing_is() -> None:
    """House style: no drawer for odds and ends."""
    files = source_files(SOURCE_FOLDERS)
    modules = [str(file.path) for file in files if {*file.path.parts, file.path.stem} & BANNED_MODULE_NAMES]
    classes = [
        f"{file.path}:{node.lineno} {node.name}"
        for file in files
        for node in ast.walk(file.tree)
        if isinstance(node, ast.ClassDef) and node.name.endswith(BANNED_CLASS_ENDINGS)
    ]
    assert modules + classes == []


def names_by_module() -> Mapping[str, set[str]]:
    """What modules of each name define at their top, and their classes within, all of one name together."""
    found = defaultdict[str, set[str]](set)
    for file in source_files(SOURCE_FOLDERS):
        for node in file.tree.body:
            if isinstance(node, ast.ClassDef):
                functions = (one.name for one in ast.walk(node) if isinstance(one, Function))
                found[file.path.stem] |= {node.name, *(f"{node.name}.{name}" for name in functions)}
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                found[file.path.stem] |= {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    return found


def test_classes_that_texts_name_are_there() -> None:
    """`plain.UnreadableRecord`, or a method of it, in backticks, in a docstring or a comment: who reads on finds it.

    Ten places named a module that had been merged into another one.
    """
    names = names_by_module()
    strays = [
        f"{file.path}:{number} {module}.{name}"
        for file in source_files(SOURCE_FOLDERS)
        for number, line in enumerate(file.text.splitlines(), 1)
        for module, name in re.findall(r"`(?!org\.)(?:[a-z_]+\.)*([a-z_]+)\.([A-Z]\w*[a-z]\w*(?:\.\w+)?)`", line)
        if name not in names.get(module, ())
    ]
    assert strays == []


def is_words(node: ast.stmt) -> bool:
    """Whether a statement is a string and nothing else: a docstring, or the words behind a field."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def strings_about_nothing(body: Sequence[ast.stmt]) -> Iterator[int]:
    """Lines of strings that stand behind another one, where no field is between that they could be about."""
    yield from (later.lineno for before, later in pairwise(body) if is_words(before) and is_words(later))


def test_words_stand_behind_what_they_are_about() -> None:
    """Two fields of the cluster had changed places, and the words of the first stood behind those of the second."""
    strays = [
        f"{file.path}:{line}"
        for file in source_files(ALL_FOLDERS)
        for node in ast.walk(file.tree)
        if isinstance(node, ast.Module | ast.ClassDef | Function)
        for line in strings_about_nothing(node.body)
    ]
    assert strays == []
    twice = ast.parse('A = 1\n"""One."""\n"""Of B."""\nB = 2\n"""Two."""\n')
    assert [*strings_about_nothing(twice.body)] == [3]


def test_assertions_say_why_they_hold() -> None:
    """One tells mypy, or whoever meets it broken, what is true there: a reader asks why, and it has to be said."""
    bare = [
        f"{file.path}:{node.lineno}"
        for file in source_files(SOURCE_FOLDERS)
        for node in ast.walk(file.tree)
        if isinstance(node, ast.Assert) and node.msg is None
    ]
    assert bare == []


SILENCED = re.compile(r"#\s*(?:noqa(?::\s*[A-Z]+\d+(?:,\s*[A-Z]+\d+)*)?|type:\s*ignore(?:\[[\w, -]+\])?)(.*)")
"""What keeps a tool quiet about a line, and what stands behind it."""
REASON_WORDS_MIN = 2


def silenced_without_reason(file: SourceFile) -> Iterator[int]:
    """Lines about which a tool is kept quiet, with less than two words behind that and no comment right above."""
    lines = file.text.splitlines()
    for number, line in enumerate(lines, 1):
        found = SILENCED.search(line)
        is_told_above = number > 1 and lines[number - 2].lstrip().startswith("#")
        if found and not is_told_above and len(re.findall(r"\w+", found[1])) < REASON_WORDS_MIN:
            yield number


def test_silenced_checks_say_why() -> None:
    """A tool is right until somebody knows better: what it was that they knew has to be said beside it.

    Those that keep quiet what nobody says any more are found by ruff (RUF100) and mypy (`warn_unused_ignores`).
    """
    places = [f"{file.path}:{line}" for file in source_files(ALL_FOLDERS) for line in silenced_without_reason(file)]
    assert places == []


MARK = "#"
NOQA, IGNORE = f"{MARK} noqa:", f"{MARK} type: ignore"
"""In pieces, or this file would keep a tool quiet itself."""


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (f"x = 1  {NOQA} S105\n", [1]),
        (f"x = 1  {IGNORE}[arg-type]\n", [1]),
        (f"x = 1  {NOQA} S105, E501 - three\n", [1]),
        (f"x = 1  {NOQA} S105 - the end of a key\n", []),
        (f"# The end of a key.\nx = 1  {NOQA} S105\n", []),
        (f"x = 1  {IGNORE}[call-arg, misc]  # what is tested\n", []),
    ],
)
def test_reason_stands_on_the_line_or_right_above(text: str, lines: list[int]) -> None:
    """And is more than one word."""
    file = SourceFile(path=Path("x.py"), text=text, tree=ast.parse(text))
    assert [*silenced_without_reason(file)] == lines
