"""What is done again until something holds has a bound with a name, or a reason here why it has none.

A wait that nobody bounds holds whoever stands behind it for ever: a move, a client, the end of the process.
"""

import ast
from collections.abc import Iterator

from tests.architecture.source_tree import SourceFile
from tests.architecture.test_supervision import running_files

BOUNDS = {"move_on_after", "fail_after", "move_on_at", "fail_at"}
WAITS = {"sleep", "wait", "receive", "written"}
JOB = "a job: goes on until the bridge ends"
UNBOUNDED = {
    "bridge/app/events.py: run": JOB,
    "bridge/app/service_notices.py: announce": "a service manager that hangs hears READY=1 once it listens again",
    "bridge/app/plans.py: run": JOB,
    "bridge/app/reloading.py: run": JOB,
    "bridge/coordinators/catalog.py: look": "each look that is waited for is bounded; the second begins late enough",
    "bridge/coordinators/catalog.py: watch": JOB,
    "bridge/coordinators/embedded/offset_watch.py: run": JOB,
    "bridge/coordinators/embedded/join_checks.py: _ask_members": "`ask` bounds it",
    "bridge/coordinators/embedded/other_bridges.py: run": JOB,
    "bridge/coordinators/embedded/pattern_rights.py: look": "`JoinChecks` bounds it, and each question",
    "bridge/coordinators/embedded/recommit.py: run": JOB,
    "bridge/coordinators/embedded/regular_expressions.py: run": JOB,
    "bridge/coordinators/embedded/retention.py: run": JOB,
    "bridge/coordinators/embedded/time_away.py: note_serving": JOB,
    "bridge/coordinators/ledger.py: run": JOB,
    "bridge/coordinators/ledger.py: _fail": "while nothing can be written nothing may be answered; tried every 30 s",
    "bridge/coordinators/ledger.py: _return_to_written": "the same while the journal can't be read",
    "bridge/coordinators/ledger.py: written": "an append ends, or the journal has failed",
    "bridge/coordinators/moving/adopt.py: _give_up": "the broker keeps the group: two have it until the journal works "
    "again, and what is held is answered meanwhile",
    "bridge/coordinators/moving/moves.py: _look_after": JOB,
    "bridge/coordinators/moving/moves.py: _write_end": "the move is over; that is noted once the journal works again",
    "bridge/coordinators/moving/places.py: keep_writing": JOB,
    "bridge/coordinators/moving/silent_members.py: keep_looking": JOB,
    "bridge/coordinators/owner_task.py: _own": JOB,
    "bridge/coordinators/placement.py: place": "each look is bounded; behind one that was cut short the first looks",
    "bridge/net/broker_side.py: _read_answers": "as long as the connection, which the sweep ends where it stands still",
    "bridge/net/client_connection.py: wait_until": "the same",
    "bridge/net/client_handshakes.py: _carry_through": "whoever takes a client in bounds its TLS",
    "bridge/net/client_hello.py: peek": "the same",
    "bridge/net/listener.py: accept_from": JOB,
    "bridge/net/proxy.py: keep_refreshing": JOB,
    "bridge/net/proxy.py: sweep": JOB,
    "bridge/net/tls.py: keep_looking": JOB,
    "bridge/supervision.py: keep_running": JOB,
}
"""Loops that end with the process, or that somebody else bounds."""


AWAITED = {
    "bridge/app/reloading.py: run": JOB,
    "bridge/coordinators/catalog.py: look": "the look that is waited for is bounded",
    "bridge/coordinators/embedded/join_checks.py: _ask_members": "`ask` bounds it",
    "bridge/coordinators/embedded/joins.py: _wait": "the owner's next turn answers, or the bridge ends",
    "bridge/coordinators/embedded/pattern_rights.py: look": "`JoinChecks` bounds it, and each question",
    "bridge/coordinators/embedded/recommit.py: _reserve": "commits before it end, each by its own time limit",
    "bridge/coordinators/embedded/regular_expressions.py: _try": "`JoinChecks` bounds it for who joins, else a job",
    "bridge/coordinators/embedded/regular_expressions.py: run": JOB,
    "bridge/coordinators/ledger.py: run": JOB,
    "bridge/coordinators/ledger.py: written": "an append ends, or the journal has failed",
    "bridge/coordinators/moving/moves.py: _look_after": JOB,
    "bridge/coordinators/moving/places.py: keep_writing": JOB,
    "bridge/coordinators/owner_task.py: _own": JOB,
    "bridge/coordinators/placement.py: place": "the look that is waited for is bounded",
    "bridge/net/broker_side.py: _read_answers": "as long as the connection, which the sweep ends where it stands still",
    "bridge/net/client_connection.py: _wait_for_more": "as long as the connection, which the sweep ends if it is idle",
    "bridge/net/client_connection.py: wait_until": "the same",
    "bridge/net/client_handshakes.py: _carry_through": "whoever takes a client in bounds its TLS",
    "bridge/net/client_questions.py: _ask": "`wait_for` bounds it",
    "bridge/net/cluster.py: next_look": "the cluster is asked for ever, each time with a time limit",
    "bridge/net/host_lookups.py: find": "whoever connects bounds it, as whoever asks the system itself",
    "bridge/net/shared.py: _wait": "room comes back with the end of others' requests, which make progress or end",
}
"""Waits for something that somebody else does, once, that somebody else bounds, too."""


def is_bound(node: ast.AST) -> bool:
    """Whether a block ends by itself after some time."""
    if not isinstance(node, ast.With):
        return False
    called = [item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call)]
    return any(ast.unparse(call.func).rpartition(".")[2] in BOUNDS for call in called)


def waits_in(loop: ast.While) -> bool:
    """Whether it waits for something in every round, or may."""
    awaited = (each.value for each in ast.walk(loop) if isinstance(each, ast.Await))
    return any(isinstance(each, ast.Call) and ast.unparse(each.func).rpartition(".")[2] in WAITS for each in awaited)


def single_waits(node: ast.AST) -> Iterator[ast.Call]:
    """Waits for an event below that are in no block that ends by itself."""
    for child in ast.iter_child_nodes(node):
        if is_bound(child) or isinstance(child, ast.AsyncFunctionDef):
            continue
        called = child.value if isinstance(child, ast.Await) else None
        if isinstance(called, ast.Call) and ast.unparse(called.func).rpartition(".")[2] == "wait":
            yield called
        yield from single_waits(child)


def unbounded(node: ast.AST) -> Iterator[ast.While]:
    """Loops below that wait, and are in no block that ends by itself."""
    for child in ast.iter_child_nodes(node):
        if is_bound(child) or isinstance(child, ast.AsyncFunctionDef):
            continue
        if isinstance(child, ast.While) and waits_in(child):
            yield child
        yield from unbounded(child)


def repeats(file: SourceFile) -> Iterator[str]:
    """Its functions that repeat a wait without a bound."""
    for function in file.functions():
        if isinstance(function, ast.AsyncFunctionDef) and any(unbounded(function)):
            yield f"{file.path}: {function.name}"


def test_waits_that_are_repeated_are_bounded_or_have_a_reason() -> None:
    """A farewell to a broker that never answered was said again and again, and its group held all the while."""
    found = {each for file in running_files() for each in repeats(file)}
    assert found - UNBOUNDED.keys() == set(), "bound it: `with trio.move_on_after(SOMETHING_S)`"
    assert UNBOUNDED.keys() - found == set(), "gone, or bounded by now: take it from the list"


def test_waits_for_what_others_do_are_bounded_or_have_a_reason() -> None:
    """A client's first group request waited for a frozen broker's word on its login as long as the client did."""
    found = {
        f"{file.path}: {function.name}"
        for file in running_files()
        for function in file.functions()
        if isinstance(function, ast.AsyncFunctionDef) and any(single_waits(function))
    }
    assert found - AWAITED.keys() == set(), "bound it: `with trio.move_on_after(SOMETHING_S)`"
    assert AWAITED.keys() - found == set(), "gone, or bounded by now: take it from the list"
