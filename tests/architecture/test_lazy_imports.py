"""Imports by string: import-linter does not see them, so the rows of its table are held to them here.

A module that is named in a string counts as imported by whoever names it, for it is loaded by that name, or started.
"""

import ast
import tomllib
from collections.abc import Iterator, Mapping

import pytest

from tests.architecture.source_tree import (
    ROOT,
    SOURCE_FOLDERS,
    SourceFile,
    module_name,
    modules_in_strings,
    read_source,
    source_files,
    strings_of,
)
from tests.architecture.white_list import is_within, parse_rows, row_of

DOORS: Mapping[str, str] = {
    "bridge/admin/server.py": "start-up time: the web framework takes a fifth of it",
    "bridge/analytics/command.py": "optional extra: Spark",
    "bridge/app/events.py": "optional extra: confluent-kafka, for the event topic",
    "bridge/app/plan_door.py": "start-up time: what drives plans, where the journal or somebody has one",
    "bridge/app/plans.py": "start-up time: the YAML library, where there is a plan",
    "bridge/app/rebalances.py": "optional extra: OpenTelemetry",
    "bridge/app/survey_door.py": "start-up time: census, doctor and probe, with the first look at the cluster",
    "bridge/cli/main.py": "start-up time: a command does not wait for the libraries of another",
    "bridge/cli/screen.py": "start-up time: rich, on a terminal only",
    "bridge/config/configuration.py": "start-up time: the YAML library, where there is a file",
    "bridge/coordinators/moving/journey_door.py": "start-up time: the moves and their machines, with the first order",
    "bridge/coordinators/moving/preflight.py": "start-up time: why groups can't move, with the first order",
    "bridge/demo/command.py": "optional extra: the client libraries",
    "bridge/demo/kafka_java.py": "optional: a Java from a wheel",
    "bridge/net/own_login.py": "start-up time: the HTTP client, where there is a token endpoint",
    "bridge/net/tls.py": "optional extra: cryptography, for PKCS#12",
    "bridge/telemetry/otel/exporting.py": "optional extra: one of OpenTelemetry's two exporters",
}
"""Files that may import by string, and what for."""
IMPORTERS = {"import_module", "__import__"}


def late_imports(file: SourceFile) -> Iterator[ast.expr]:
    """What is given to `import_module`, and every other mention of it."""
    called = {node.func: node for node in ast.walk(file.tree) if isinstance(node, ast.Call)}
    for node in ast.walk(file.tree):
        name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None
        if name in IMPORTERS and isinstance(node, ast.expr):
            yield called[node].args[0] if node in called else node


def named_late(file: SourceFile) -> Iterator[tuple[int, str]]:
    """Line and name of each module that a file imports by string: ours wherever named, others where imported."""
    yield from modules_in_strings(file)
    for name in late_imports(file):
        if isinstance(name, ast.Constant) and isinstance(name.value, str):
            yield name.lineno, name.value


def white_list() -> Mapping[str, frozenset[str]]:
    """The rows of pyproject.toml."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    (rows,) = (contract["rooms"] for contract in settings["contracts"] if contract["type"] == "white_list")
    return parse_rows(rows)


def strays(file: SourceFile, rows: Mapping[str, frozenset[str]]) -> list[str]:
    """Late imports that the file's row does not allow."""
    importer = module_name(file.path)
    room = row_of(importer, rows)
    allowed = {importer} if room is None else {room, *rows[room]}
    return [
        f"{file.path}:{line} names {name}, which `{room}` may not import"
        for line, name in named_late(file)
        if not any(is_within(name, one) for one in allowed)
    ]


def test_late_imports_keep_to_the_rows() -> None:
    """What a room may not import, it may not import by string either (house rule 8)."""
    rows = white_list()
    assert [stray for file in source_files(SOURCE_FOLDERS) for stray in strays(file, rows)] == []


def test_late_imports_happen_at_doors_only() -> None:
    """For start-up time or an optional extra, nowhere else; a door that is not used is no door (house rule 8)."""
    files = {str(file.path) for file in source_files(SOURCE_FOLDERS) if any(late_imports(file))}
    assert files == set(DOORS)


def test_no_module_of_ours_is_put_together() -> None:
    """A name with a gap in it is found by nobody, neither by a reader nor by the tests above."""
    folders = tuple(f"{folder}." for folder in SOURCE_FOLDERS)
    gaps = [
        f"{file.path}:{line} {text!r}"
        for file in source_files(SOURCE_FOLDERS)
        for line, text in strings_of(file)
        if text.startswith(folders) and text.endswith(".")
    ]
    assert gaps == []


@pytest.mark.parametrize(
    "line",
    [
        'import_module("bridge.coordinators.embedded")',
        'importlib.import_module("sqlite3")',
        'PROGRAM = "bridge.coordinators.embedded"',
    ],
)
def test_added_line_fails(line: str) -> None:
    """Each of these was let through: the demo may know neither."""
    path = ROOT / "bridge/demo/command.py"
    file = SourceFile(path=read_source(path).path, text=line, tree=ast.parse(line))
    assert len(strays(file, white_list())) >= 1
