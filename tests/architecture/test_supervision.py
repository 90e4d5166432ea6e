"""Every task of a running bridge is guarded: no file starts one any other way, and the table of tasks is whole.

The demo and the jobs on Spark are processes of their own.
"""

import ast
from collections.abc import Iterator

from bridge import supervision
from bridge.supervision import TASKS, Task
from tests.architecture.source_tree import SourceFile, source_files

OTHER_PROCESSES = ("bridge/demo", "bridge/analytics", "bridge/whatif")
STARTERS = {"start_soon", "start_system_task", "spawn_system_task", "start_thread_soon", "Thread", "Timer", "submit_to"}
NURSERY_START = {"nursery.start"}
GUARDED_ELSEWHERE = {
    "bridge/app/composition.py: nursery.start(serve_proxy, settings, services)": "starts guarded tasks, then sleeps",
    "bridge/app/composition.py: nursery.start(groups.run)": "starts guarded tasks, then is done",
    "bridge/app/composition.py: nursery.start(upstream.run)": "the same for groups that brokers coordinate",
    "bridge/app/composition.py: nursery.start(serve_admin, address, sources, failures, shake_hands)": "keeps the web "
    "server running",
    "bridge/coordinators/rounds.py: nursery.start_soon(_carry_out, lines, client_id, effect, tell)": "ends "
    "the round, of which the guarded move hears that plays it",
    "bridge/coordinators/rounds.py: nursery.start_soon(self._open_in_turn, limiter, member_id)": "ends before the "
    "guarded move goes on that asked for it, and so does an exception in it",
    "bridge/coordinators/moving/release.py: nursery.start_soon(open_ahead)": "the same",
    "bridge/coordinators/moving/preflight.py: nursery.start_soon(ask)": "ends before the move that asked begins",
    "bridge/coordinators/moving/sight.py: nursery.start_soon(look_at_topics)": "the same",
    "bridge/coordinators/moving/sight.py: nursery.start_soon(look_at_commits)": "the same",
    "bridge/net/cluster.py: nursery.start_soon(self._hold_on, self._doubt)": "ends before the guarded job that waits "
    "looks again",
    "bridge/net/cluster_survey.py: nursery.start_soon(ask_one, node_id)": "ends before the page that asked is answered",
    "bridge/net/client_connection.py: self._nursery.start_soon(self._guarded, task, work, name=task.name)": "a guard",
    "bridge/net/host_lookups.py: trio.lowlevel.start_thread_soon(look_up, lambda given: tell(given.unwrap()), "
    "name='epochbridge-names')": "hands what a look-up raises to those who wait for it",
    "bridge/telemetry/log_writer.py: threading.Thread(target=self._run, name='epochbridge-log', daemon=True)": "takes "
    "whatever a write comes to for lines that were dropped",
    "bridge/telemetry/event_log/recorder.py: threading.Thread(target=self._run, name='epochbridge-events', "
    "daemon=True)": "guards every batch and every place",
}
"""What is started without `start_job` or `start_guarded`, and why nothing escapes from it."""


def running_files() -> list[SourceFile]:
    """Everything that may run in the bridge's own process."""
    return [file for file in source_files(["bridge"]) if not file.is_in(OTHER_PROCESSES)]


def starts(file: SourceFile) -> Iterator[str]:
    """Every call that begins a task or a thread."""
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called.rpartition(".")[2] in STARTERS or called in NURSERY_START:
                yield f"{file.path}: {ast.unparse(node)}"


def test_tasks_are_started_under_guard_and_nowhere_else() -> None:
    """One exception in a task without a guard ended the whole process, four times over."""
    found = {each for file in running_files() if file.path.name != "supervision.py" for each in starts(file)}
    assert found - GUARDED_ELSEWHERE.keys() == set(), "start it by bridge.supervision, with a row of its table"
    assert GUARDED_ELSEWHERE.keys() - found == set(), "gone: take it from the list"


def test_table_of_tasks_is_whole() -> None:
    """Each kind has a row, and each row something that runs."""
    kinds = {name: value for name, value in vars(supervision).items() if isinstance(value, Task)}
    assert set(TASKS.values()) == set(kinds.values())
    used = {
        node.id
        for file in running_files()
        if file.path.name != "supervision.py"
        for node in ast.walk(file.tree)
        if isinstance(node, ast.Name) and node.id in kinds
    }
    assert used == set(kinds)
