"""Size budgets: file, function, parameters. There is no opt-out list: what is too large is split at a name."""

import ast

from tests.architecture.source_tree import ALL_FOLDERS, Function, SourceFile, source_files

FILE_LINES_MAX = 600
"""Most files have 100 to 400 lines; above this one asks which idea leaves."""
FUNCTION_LINES_MAX = 60
PARAMETERS_MAX = 5


def function_lines(function: Function) -> int:
    """Count the lines from `def` to the end of the body."""
    return (function.end_lineno or function.lineno) - function.lineno + 1


def methods(file: SourceFile) -> set[Function]:
    """Return the functions that a class holds directly and that take self or cls."""
    classes = (node for node in ast.walk(file.tree) if isinstance(node, ast.ClassDef))
    held = (node for owner in classes for node in owner.body if isinstance(node, Function))
    return {
        node
        for node in held
        if not any(isinstance(mark, ast.Name) and mark.id == "staticmethod" for mark in node.decorator_list)
    }


def parameter_count(function: Function, *, is_method: bool) -> int:
    """Count the parameters, without self or cls and without * and **."""
    arguments = function.args
    named = len(arguments.posonlyargs) + len(arguments.args) + len(arguments.kwonlyargs)
    return named - 1 if is_method else named


def test_file_stays_within_its_bound() -> None:
    """Above 600 lines one of its ideas leaves (house rule 8)."""
    lines = {str(file.path): len(file.text.splitlines()) for file in source_files(ALL_FOLDERS)}
    assert {path: count for path, count in lines.items() if count > FILE_LINES_MAX} == {}


def is_exhaustive_match(function: Function) -> bool:
    """Say whether a function is one `match` that names every case: `assert_never` ends it, and nothing comes behind."""
    body = [node for node in function.body if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))]
    return bool(body) and isinstance(body[-1], ast.Match) and "assert_never" in ast.dump(body[-1].cases[-1])


def test_function_stays_within_60_lines() -> None:
    """An exhaustive `match` may be longer, as cutting it would hide a case (house rule 8)."""
    lines = {
        f"{file.path}:{function.lineno} {function.name}": function_lines(function)
        for file in source_files(ALL_FOLDERS)
        for function in file.functions()
        if not is_exhaustive_match(function)
    }
    assert {place: count for place, count in lines.items() if count > FUNCTION_LINES_MAX} == {}


def test_function_takes_at_most_5_parameters() -> None:
    """What is given together belongs in a value (house rule 8)."""
    counts = {
        f"{file.path}:{function.lineno} {function.name}": parameter_count(function, is_method=function in held)
        for file in source_files(ALL_FOLDERS)
        for held in [methods(file)]
        for function in file.functions()
    }
    assert {place: count for place, count in counts.items() if count > PARAMETERS_MAX} == {}
