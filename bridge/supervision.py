"""Every task of a running bridge: what it does, what its failure ends, and how that is told and counted.

A task that is started any other way fails a test
(`tests/architecture/test_supervision.py`); docs/explanation/failures.md has the table.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial

import trio

from bridge.log_lines import Line, RateLimitedLog, bare, origin_of

LOG = logging.getLogger("epochbridge.supervision")
PAUSE_S = 0.25
"""How soon a job that failed is started again; twice as long each time that it fails again soon."""
PAUSE_MAX_S = 30.0
SOUND_AFTER_S = 60.0
"""A job that ran so long before it failed begins with the short pause again."""

Work = Callable[[], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Task:
    """One kind of task: its name in metrics and logs, what it does, and what its failure ends."""

    name: str
    runs: str
    ends: str


_CONNECTION_ENDS = "that connection, told as a bug; its client connects again"
ACCEPT = Task("accept", "takes new connections of one listener", "nothing: started again, connections wait meanwhile")
POLLER = Task("poller", "wakes connections that have something to read", "nothing: started again")
SWEEP = Task("sweep", "closes connections that stand still", "nothing: started again")
REFRESH = Task("refresh", "asks the cluster for its brokers", "nothing: started again, the brokers known count on")
CERTIFICATES = Task("certificates", "reads files of TLS again that have changed", "nothing: started again")
CONNECTION = Task("connection", "serves one client from its first byte to its last answer", _CONNECTION_ENDS)
CLIENT_READER = Task("client-reader", "reads what one client sends", _CONNECTION_ENDS)
BROKER_READER = Task("broker-reader", "reads what the broker answers one client", _CONNECTION_ENDS)
SENDER = Task("sender", "sends what the other end did not take at once", _CONNECTION_ENDS)
BROKER_OPENER = Task("broker-opener", "opens one client's connection to its broker for a question", _CONNECTION_ENDS)
DELIVERY = Task("delivery", "writes one answer for the connection that waits for it", _CONNECTION_ENDS)
BROKER_ANSWER = Task("broker-answer", "hands on that a broker will not answer", _CONNECTION_ENDS)
OWNER = Task("owner", "moves the embedded groups when something is due", "nothing: started again")
TURN = Task("turn", "carries out what clients and deadlines want of groups", "that turn: see below")
LEDGER = Task(
    "ledger", "lets answers go once the journal has what they tell", "what waited: as if the journal had failed"
)
COMPACTION = Task("compaction", "condenses the journal", "nothing: tried again when the journal has grown further")
TOPICS = Task("topics", "looks at the cluster's topics", "nothing: started again")
PATTERNS = Task("patterns", "learns anew what patterns match when topics change", "nothing: started again")
RECOMMIT = Task("recommit", "commits the offsets of live groups again", "nothing: started again")
BRIDGES = Task("bridges", "notices other bridges before the same cluster", "nothing: started again")
OFFSETS = Task("offsets", "compares committed offsets with what came through the bridge", "nothing: started again")
SERVING = Task("serving", "keeps until when members were served", "nothing: started again")
RETENTION = Task("retention", "forgets groups without members and offsets", "nothing: started again")
LOOK_UP = Task("look-up", "asks the broker before somebody new is let in", "that request: its client is to try again")
EVENTS = Task("events", "sees to the topics of groups that pass", "nothing: started again")
PLANS = Task("plans", "drives plans of moves", "nothing: started again, and the plans go on")
MOVE = Task("move", "makes one move of a group", "that move; once begun it goes on as after a restart")
MOVES = Task("moves", "looks after the moves under way, and for moved members that are gone", "nothing: started again")
RELOAD = Task("reload", "reads the configuration again on SIGHUP", "nothing: started again, the configuration stays")
ANNOUNCEMENT = Task("announcement", "says when clients may come, and until then why not", "nothing: started again")
ADMIN = Task("admin", "serves the admin API", "requests under way there: started again at the same address")

TASKS: Mapping[str, Task] = {
    task.name: task
    for task in (
        *(ACCEPT, POLLER, SWEEP, REFRESH, CERTIFICATES),
        *(CONNECTION, CLIENT_READER, BROKER_READER, SENDER, BROKER_OPENER, DELIVERY, BROKER_ANSWER),
        *(OWNER, TURN, LEDGER, COMPACTION, TOPICS, PATTERNS, RECOMMIT, BRIDGES, OFFSETS, SERVING, RETENTION, LOOK_UP),
        *(EVENTS, MOVE, MOVES, RELOAD, ANNOUNCEMENT, ADMIN, PLANS),
    )
}
"""Every kind of task by its name."""


class Failures:
    """How often tasks of each kind failed, since the start."""

    def __init__(self) -> None:
        self.counts = dict.fromkeys(TASKS, 0)
        self.log = RateLimitedLog(LOG)
        """Tells them, once a minute for each place that fails."""

    def count(self, task: Task) -> None:
        """One failed, and whoever guards it tells so."""
        self.counts[task.name] += 1

    def note(self, task: Task, problem: BaseException) -> None:
        """Count and tell a failure that ends nothing but what the task's own table row says."""
        self.count(task)
        message = "EB-TASK-001: %s failed, which %s; ends %s; please report this: %r"
        line = Line(logging.ERROR, message, (task.name, task.runs, task.ends, bare(problem)), problem=problem)
        self.log.write(int(trio.current_time() * 1000), (task.name, *origin_of(problem)), line)

    def spare(self, task: Task, act: Callable[[], object]) -> None:
        """Do something at once whose failure is no business of the caller."""
        try:
            act()
        except Exception as problem:  # noqa: BLE001 - told and counted, see `note`
            self.note(task, problem)


def carry_out(_task: Task, work: Work) -> Awaitable[object]:
    """The one place where the work of every guarded task begins: tests have one or the other fail here.

    It awaits nothing itself, since every connection would keep a frame of it.
    """
    return work()


async def guarded(failures: Failures, task: Task, work: Work, failed: Callable[[], object] | None = None) -> None:
    """Do it once; a failure is told, counted, and ends here. Cancellation goes on its way, alone or in company.

    `failed` is called after a failure, also one that came before the work began.
    """
    try:
        await carry_out(task, work)
    except* Exception as problem:  # noqa: BLE001 - told and counted, see `note`
        failures.note(task, problem)
        if failed is not None:
            failures.spare(task, failed)


async def keep_running(failures: Failures, task: Task, work: Work) -> None:
    """Do it until it is done, again after each failure, with longer and longer pauses while it keeps failing."""
    pause_s = PAUSE_S
    while True:
        began_s, failed = trio.current_time(), False
        try:
            await carry_out(task, work)
        except* Exception as problem:  # noqa: BLE001 - told and counted, see `note`
            failed = True
            failures.note(task, problem)
        if not failed:
            return
        pause_s = PAUSE_S if trio.current_time() - began_s >= SOUND_AFTER_S else pause_s
        await trio.sleep(pause_s)
        pause_s = min(2 * pause_s, PAUSE_MAX_S)


def start_job(nursery: trio.Nursery, failures: Failures, task: Task, work: Work) -> None:
    """Start what `keep_running` keeps up until the nursery is cancelled."""
    nursery.start_soon(partial(keep_running, failures, task, work), name=task.name)


def start_guarded(
    nursery: trio.Nursery, failures: Failures, task: Task, work: Work, failed: Callable[[], object] | None = None
) -> None:
    """Start what is done once; its failure does not reach the nursery, but `failed`, see `guarded`."""
    nursery.start_soon(partial(guarded, failures, task, work, failed), name=task.name)


class Single:
    """What is done once at a time: a start does nothing while the one before it goes on."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._goes_on = False

    def start(self, nursery: trio.Nursery, failures: Failures, work: Work) -> None:
        """Start it as `start_guarded` does; it may be started again once it is done or has failed."""
        if not self._goes_on:
            self._goes_on = True
            start_guarded(nursery, failures, self._task, partial(self._do, work), self._end)

    async def _do(self, work: Work) -> None:
        await work()
        self._end()

    def _end(self) -> None:
        self._goes_on = False
