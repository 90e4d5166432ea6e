"""What stands in two places word for word stands in one, or says here why not: who mends the one forgets the other.

Looked at are runs of so many lines that hold anything, imports left out. What is alike in shape and not in its words,
as the records of a journal or the fields of two messages, is not found by this, and is rarely the same.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping

from tests.architecture.source_tree import ALL_FOLDERS, SourceFile, source_files

RUN_LINES = 12
TWICE: Mapping[tuple[str, str], str] = {
    (
        "bridge/demo/members/kafka_python.py",
        "tests/support/clients/aiokafka_member.py",
    ): "settings of two libraries, of which one took the names of the other",
    (
        "translators/classic_member/completing.py",
        "translators/classic_member/stable.py",
    ): "each phase says what it does with every event, and two of them do the same with some",
}
"""Pairs of files, and why what they share stands in both."""


def lines_of(file: SourceFile) -> Iterator[str]:
    """Its lines without margins, but for empty ones and imports."""
    imports = (node for node in ast.walk(file.tree) if isinstance(node, ast.Import | ast.ImportFrom))
    left_out = {line for node in imports for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
    for number, line in enumerate(file.text.splitlines(), 1):
        if number not in left_out and line.strip():
            yield line.strip()


def written_twice(files: Mapping[str, list[str]]) -> set[tuple[str, str]]:
    """Each pair of files that share a run; a file with itself if it has one twice."""
    places = defaultdict[int, list[tuple[str, int]]](list)
    for name, lines in files.items():
        numbers = [hash(line) for line in lines]
        for begin in range(len(numbers) - RUN_LINES + 1):
            places[hash(tuple(numbers[begin : begin + RUN_LINES]))].append((name, begin))
    return {
        (one, other)
        for found in places.values()
        for place, (one, _) in enumerate(found)
        for other, _ in found[place + 1 :]
    }


def test_nothing_is_written_twice() -> None:
    """Take-over and give-back took their events in turn by twenty lines each, the same ones."""
    files = {str(file.path): list(lines_of(file)) for file in source_files(ALL_FOLDERS)}
    found = written_twice(files)
    assert found - TWICE.keys() == set(), "put it in one place, or say above why it stands in both"
    assert TWICE.keys() - found == set(), "gone: take it from the list"


def test_run_is_found_in_another_file_and_in_its_own() -> None:
    """One line less is no run."""
    run = [f"line {number}" for number in range(RUN_LINES)]
    assert written_twice({"a": ["x", *run], "b": [*run, "y"]}) == {("a", "b")}
    assert written_twice({"a": [*run, "x", *run]}) == {("a", "a")}
    assert written_twice({"a": run[1:], "b": run[1:]}) == set()
