"""A log line about a group, member or client carries their fields, so that it can be searched without reading words."""

import ast
import re
from collections.abc import Iterator

from bridge.log_lines import LogFields
from bridge.telemetry.logs import IDENTITY, LogKey
from tests.architecture.source_tree import Function, SourceFile, source_files

ROOMS = ("bridge",)
LEVELS = {"debug", "info", "warning", "error", "exception", "log"}
NAMES_ONE = re.compile(r"(?<!s of )\b(group|member|client|client id|connection) %[rsd]")
"""What a message says of one group, member or client; `groups of client %r` would be several."""
FIELDS_OF_A_LINE = 4
SOMEBODY = {
    "client_id",
    "event",
    "fact",
    "group_id",
    "identity",
    "instance_id",
    "member",
    "member_id",
    "ref",
    "request",
}
"""Parameters of who is given a group, a member or a client, or what was said of one."""


def _literals(file: SourceFile) -> dict[str, str]:
    """Names of a file that stand for a message."""
    assigned = (node for node in ast.walk(file.tree) if isinstance(node, ast.Assign))
    return {
        target.id: node.value.value
        for node in assigned
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _words(file: SourceFile, arguments: list[ast.expr]) -> str:
    """The message among a call's arguments, "" for none."""
    named = _literals(file)
    for argument in arguments:
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            return argument.value
        if isinstance(argument, ast.Name) and argument.id in named:
            return named[argument.id]
    return ""


def lines_without_fields(file: SourceFile) -> Iterator[str]:
    """Every line that names somebody in its words only, or is written where somebody is given, and not told."""
    given = {call for function in file.functions() if _parameters(function) & SOMEBODY for call in ast.walk(function)}
    for node in ast.walk(file.tree):
        if not isinstance(node, ast.Call):
            continue
        function, keywords = node.func, {keyword.arg for keyword in node.keywords}
        is_logged = isinstance(function, ast.Attribute) and function.attr in LEVELS and _is_log(function.value)
        is_line = isinstance(function, ast.Name) and function.id == "Line" and _is_message(node)
        has_fields = "extra" in keywords or "fields" in keywords or (is_line and len(node.args) >= FIELDS_OF_A_LINE)
        if not (is_logged or is_line) or has_fields:
            continue
        if node in given or NAMES_ONE.search(_words(file, node.args)):
            yield f"{file.path}:{node.lineno}"


def _parameters(function: Function) -> set[str]:
    arguments = function.args
    return {one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}


def _is_message(node: ast.Call) -> bool:
    """A `Line` of a log begins with its level; the event log has lines, too."""
    return bool(node.args) and not (isinstance(node.args[0], ast.Name) and node.args[0].id == "event")


def _is_log(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "LOG"


def test_line_about_somebody_carries_the_fields() -> None:
    """By group_id, member_id, client_id, road, generation and epochs, as far as they are known at that place."""
    assert [line for file in source_files(ROOMS) for line in lines_without_fields(file)] == []


def test_line_with_words_alone_is_found() -> None:
    """Said at once, by name, through a line that is limited in its rate, and not at all where it is known."""
    text = (
        'WORDS = "group %r is odd"\n'
        'LOG.info("group %r is empty", group_id)\n'
        "LOG.warning(WORDS, group_id)\n"
        'Line(3, "member %r is gone", (member_id,))\n'
        'LOG.info("group %r", group_id, extra=fields)\n'
        'Line(3, "member %r is gone", (member_id,), fields)\n'
        'LOG.info("%d groups of clients", 3)\n'
        "def tell(member_id, problem):\n"
        '    LOG.info("that was odd: %s", problem)\n'
        '    LOG.info("that was odd: %s", problem, extra=of(member_id))\n'
        "def tell_all(problem):\n"
        '    LOG.info("that was odd: %s", problem)\n'
    )
    file = SourceFile(path=source_files(ROOMS)[0].path, text=text, tree=ast.parse(text))
    assert [line.rpartition(":")[2] for line in lines_without_fields(file)] == ["2", "3", "4", "9"]


ROAD_NAMES = {"EMBEDDED", "PASSING", "UPSTREAM", "of_embedded"}
OF_ONE_ROAD = {
    "bridge/coordinators/embedded": {"UPSTREAM"},
    "bridge/coordinators/upstream": {"EMBEDDED", "of_embedded"},
}
"""Folders that serve one road, with the names of the other; groups that pass may be met by both."""


def roads_named(file: SourceFile) -> set[str]:
    """The roads that the functions of a file name for log lines; what a parameter is by default is its caller's."""
    imports = (node for node in ast.walk(file.tree) if isinstance(node, ast.ImportFrom))
    known = {alias.name for node in imports if node.module == "bridge.log_lines" for alias in node.names}
    bodies = (node for function in file.functions() for statement in function.body for node in ast.walk(statement))
    return {node.id for node in bodies if isinstance(node, ast.Name)} & known & ROAD_NAMES


def test_line_of_shared_code_names_the_road_that_it_serves() -> None:
    """Lines of road upstream said `embedded`, for the owner of groups serves both and named one."""
    shared = [file for file in source_files(("bridge/coordinators",)) if file.path.parent.name == "coordinators"]
    assert {str(file.path): roads_named(file) for file in shared if roads_named(file)} == {}
    for folder, others in OF_ONE_ROAD.items():
        assert {str(file.path) for file in source_files((folder,)) if roads_named(file) & others} == set()


def test_fields_are_keys_of_the_glossary() -> None:
    """What the glossary does not name is not written."""
    keys = {key.value for key in LogKey}
    assert set(LogFields.__annotations__) <= keys
    assert set(IDENTITY) <= set(LogFields.__annotations__)
