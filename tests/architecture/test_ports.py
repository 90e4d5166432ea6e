"""Ports are drawn at one place, `bridge.demo.free_ports`: who looks for one alone may be given what another was."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.source_tree import ALL_FOLDERS, SourceFile, source_files

ASKED = "getsockname"


def let_go(file: SourceFile) -> Iterator[str]:
    """Blocks that hold a socket for one thing, its port's number, which outlives it."""
    for node in ast.walk(file.tree):
        if not isinstance(node, ast.With) or len(node.body) != 1 or len(node.items) != 1:
            continue
        opened, (only,) = ast.unparse(node.items[0].context_expr), node.body
        if "socket" in opened and isinstance(only, (ast.Assign, ast.Return)) and ASKED in ast.unparse(only):
            yield f"{file.path}:{node.lineno}"


def test_nobody_draws_a_port_alone() -> None:
    """Five tests had a broker's port, or nobody's, from the kernel, which gives it to the next who connects."""
    found = [each for file in source_files(ALL_FOLDERS) for each in let_go(file)]
    assert found == [], "take it from tests.support.ports, or hold the socket as long as the port is needed"


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ('with socket.create_server(("127.0.0.1", 0)) as closed:\n    port = closed.getsockname()[1]', 1),
        ('def f():\n    with socket.create_server(("h", 0)) as s:\n        return int(s.getsockname()[1])', 1),
        ('with socket.create_server(("h", 0)) as held:\n    port = held.getsockname()[1]\n    serve(port)', 0),
    ],
)
def test_what_counts_as_drawing_alone(body: str, count: int) -> None:
    """A port that is used while its socket is held is nobody else's."""
    file = SourceFile(path=Path("a.py"), text=body, tree=ast.parse(body))
    assert len(list(let_go(file))) == count
