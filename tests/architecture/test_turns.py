"""Who reads what strangers send gives others their turn.

A peer that sends faster than it is read never makes a read wait, and what never waits is never interrupted.
"""

import ast
from collections.abc import Iterator

from tests.architecture.source_tree import Function, SourceFile, source_files

READS = {"recv_into", "_fill", "_read_into", "_feed"}
"""What gives bytes of a peer without waiting where some are there."""
WAITS_ELSEWHERE = {
    "bridge/net/tls_socket.py: recv_into": "one buffer's worth, or less behind a piece that holds little",
    "bridge/net/tls_socket.py: _step": "OpenSSL ends a handshake that has more messages than there are, or empty ones",
}


def calls(node: ast.AST) -> Iterator[str]:
    """The names of all that is called below."""
    for each in ast.walk(node):
        if isinstance(each, ast.Call):
            yield ast.unparse(each.func).rpartition(".")[2]


def reads_in_a_loop(function: Function) -> bool:
    """Whether it reads again and again."""
    loops = (each for each in ast.walk(function) if isinstance(each, ast.While | ast.For | ast.AsyncFor))
    return any(READS & set(calls(loop)) for loop in loops)


def greedy(file: SourceFile) -> Iterator[str]:
    """Its functions that read in a loop without a checkpoint."""
    for function in file.functions():
        if reads_in_a_loop(function) and "checkpoint" not in set(calls(function)):
            yield f"{file.path}: {function.name}"


def test_loops_that_read_have_a_checkpoint() -> None:
    """Three did not: for what a client left behind, for answers to the bridge itself, and for what the kernel moves."""
    found = {each for file in source_files(["bridge/net"]) for each in greedy(file)}
    assert found - WAITS_ELSEWHERE.keys() == set(), "call trio.lowlevel.checkpoint() every now and then"
    assert WAITS_ELSEWHERE.keys() - found == set(), "gone: take it from the list"
