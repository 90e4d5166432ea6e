"""What stands in the wheel is used there: a function, class, constant or word of a vocabulary that no line of ours but
its own and the tests names has gone dead, or belongs to the tests.

Names are compared as words: one that stands in two places is taken for used in both.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.source_tree import SOURCE_FOLDERS, SourceFile, source_files

BY_OTHERS = "called by the library whose class or protocol this is"
LAW = "what tests hold the rest against"
ALLOWED = {
    "bridge/analytics/spark/progress.py: max_refresh": "read by rich",
    "bridge/cli/main.py: format_commands": BY_OTHERS,
    "bridge/demo/fleet.py: wait_committed": "the fleet of the demo is that of the tests, too",
    "bridge/demo/fleet.py: wait_confirmed": "the same",
    "bridge/demo/members/kafka_python.py: on_partitions_assigned": BY_OTHERS,
    "bridge/demo/members/kafka_python.py: on_partitions_lost": BY_OTHERS,
    "bridge/demo/members/kafka_python.py: on_partitions_revoked": BY_OTHERS,
    "bridge/net/tls.py: REQUESTED": "made of its value, and not being REQUIRED or NONE",
    "bridge/net/tls_transport.py: selected_alpn_protocol": BY_OTHERS,
    "bridge/net/tls_transport.py: transport_stream": BY_OTHERS,
    "bridge/session/rights.py: NEEDS": LAW,
    "bridge/telemetry/logs.py: CONSOLE": "made of its value, and not being JSON",
    "bridge/telemetry/logs.py: MEANINGS": LAW,
    "bridge/telemetry/metric_names.py: SAMPLES": LAW,
    "bridge/telemetry/trace/selection.py: redirect_request": BY_OTHERS,
    "bridge/whatif/membership.py: CLASSIC_RETRIED": "for the clients of tests that are members by it",
    "bridge/wire/codec/registry.py: read_fields": "either direction without a header, as the oracle has it",
    "translators/dialects/errors.py: FIRST_CODE_UNKNOWN_TO_CLASSIC_CLIENTS": LAW,
}


def defined(file: SourceFile) -> Iterator[str]:
    """Functions, methods and classes; constants of the module; members of enumerations and constants of classes."""
    for node in ast.walk(file.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        if isinstance(node, ast.Module | ast.ClassDef):
            for line in node.body:
                targets = line.targets if isinstance(line, ast.Assign) else []
                if isinstance(line, ast.AnnAssign) and isinstance(node, ast.Module):
                    targets = [line.target]
                yield from (target.id for target in targets if isinstance(target, ast.Name))


def named(file: SourceFile) -> Iterator[str]:
    """Words that a line reads, in a string too: entry points and attributes may be named so."""
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def unused(files: tuple[SourceFile, ...], readers: tuple[SourceFile, ...]) -> set[str]:
    """What these files define and no reader names, with its place."""
    words = {word for file in readers for word in named(file)}
    return {
        f"{file.path}: {name}" for file in files for name in defined(file) if name not in words and name[:2] != "__"
    }


def test_what_is_shipped_is_used() -> None:
    """A predicate, a flag and a word of the event log had been written, documented and tested, and nobody asked."""
    found = unused((*source_files(SOURCE_FOLDERS),), (*source_files((*SOURCE_FOLDERS, "deploy")),))
    assert found - ALLOWED.keys() == set(), "remove it, move it to tests/support, or say here who uses it"
    assert ALLOWED.keys() - found == set(), "gone, or used by now: take it from the list"


def test_dead_function_and_word_are_found() -> None:
    """And neither a method that is called, nor a constant that is read."""
    source = "A = 1\nclass B:\n    C = A\n    D = 2\n    def e(self): return B.C\n    def f(self): return self.e()\n"
    file = SourceFile(path=Path("a.py"), text=source, tree=ast.parse(source))
    assert {one.partition(": ")[2] for one in unused((file,), (file,))} == {"D", "f"}
