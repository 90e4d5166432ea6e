"""A run of the demo: cluster, bridge, fleet and story put together, then the report, the figures as JSON, one sentence
for a failure, and the exit status. All its processes end with it, however it ends.
"""

import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import TextIO, assert_never

import trio
from rich.console import Console

from bridge.demo.cluster import borrow_topic, partitions_of, read_committed, run_kafka, run_mock
from bridge.demo.errors import DemoError, KafkaLaunchError
from bridge.demo.events import now_ns
from bridge.demo.fleet import Fleet, FleetError
from bridge.demo.fleet_specs import ProducerSpec, Target
from bridge.demo.judge import Verdict, judge
from bridge.demo.rows import Views, ask_progress, ask_roads, ask_views, rows_of, totals_of, unmoved_views
from bridge.demo.screen import Report, Screen, Snapshot, conclusion, draw_report, make_screen, verdict_report
from bridge.demo.services import BridgePlace, Service, free_place, run_service, serve_command
from bridge.demo.story import Action, Chapter, DemoOptions, Depart, Kill, Move, Start, Stop, plan

GROUP_PREFIX = "epochbridge-demo"
INTRODUCTION = (
    "A group of Kafka consumers moves to the new group protocol (KIP-848) and back, one member at a time, while records"
    " flow. In the end the clients' own logs are searched for lost records and for partitions with two owners at once."
)
MOVE_INTRODUCTION = (
    "A live group of Kafka consumers is taken over: while records flow its broker makes KIP-848 members of them, and"
    " none of them hears of it. Then they are upgraded one by one, and the bridge leaves. In the end the clients' own"
    " logs are searched for callbacks during the move, for lost records and for partitions with two owners at once."
)
RATE = 400.0
STABLE_MS = 1000
UNNOTICED_S = 4.0
"""How long after it nobody may hear of a move: longer than any client's interval of heartbeats, and the broker's."""
SETTLE_TIMEOUT_S = 60.0
MOVE_TIMEOUT_S = 120.0
PROGRESS_S = 5.0
"""How often it is told how far a move is that takes longer than this."""
LOOK_S = 0.4


class Interrupted(Exception):
    """Somebody asked the demo to end (Ctrl-C, SIGTERM); carries the signal's number."""

    def __init__(self, number: int) -> None:
        super().__init__(f"{signal.Signals(number).name} received")
        self.number = number


def perform(options: DemoOptions, screen: Screen, directory: Path) -> Verdict:
    """Run it all and judge it. Raises DemoError, FleetError, KafkaLaunchError or Interrupted, maybe in groups."""
    with ExitStack() as stack:
        upstream = options.bootstrap
        if options.kafka is not None:
            screen.say(f"Starting Apache Kafka {options.kafka}; the first time it is fetched, which may take minutes.")
            upstream = stack.enter_context(run_kafka(options.kafka, directory))
        return trio.run(_perform, options, upstream, screen, directory)


async def _perform(options: DemoOptions, upstream: str | None, screen: Screen, directory: Path) -> Verdict:
    async with trio.open_nursery() as nursery:
        await nursery.start(_watch_signals)
        verdict = await _with_bridge(options, upstream, screen, directory)
        nursery.cancel_scope.cancel()
    return verdict


async def _with_bridge(options: DemoOptions, upstream: str | None, screen: Screen, directory: Path) -> Verdict:
    name = options.group or f"{GROUP_PREFIX}-{os.getpid()}"
    screen.say(MOVE_INTRODUCTION if options.is_move else INTRODUCTION)
    async with AsyncExitStack() as stack:
        if upstream is None:
            upstream = await stack.enter_async_context(run_mock(name, options.partitions, directory))
            screen.say(f"A Kafka cluster runs at {upstream} (librdkafka's mock: no Java, nothing on disk).")
        else:
            await stack.enter_async_context(borrow_topic(upstream, name, options.partitions))
            screen.say(f"Kafka is at {upstream}.")
        nursery = await stack.enter_async_context(trio.open_nursery())
        embedded = None if options.is_move else name
        bridge = Bridge(run_bridge(upstream, embedded, directory, options.events))
        await nursery.start(bridge.host)
        screen.say(_describe(bridge.place, name, options))
        verdict = await StoryRun(options, name, upstream, bridge, screen).play(directory)
        await bridge.depart()
    return verdict


def _describe(place: BridgePlace, group: str, options: DemoOptions) -> str:
    if options.is_move:
        return (
            f"The bridge runs in front of it at {place.listen}, where all clients connect; the group {group!r} passes "
            f"through to Kafka, which coordinates it. Moves: http://{place.admin}/moves"
        )
    return (
        f"The bridge runs in front of it at {place.listen}, where all clients connect; it coordinates the group "
        f"{group!r} itself, all else goes through to Kafka. Its view: http://{place.admin}/groups/{group}"
    )


@asynccontextmanager
async def run_bridge(
    upstream: str, embedded: str | None, directory: Path, events: str | None = None
) -> AsyncIterator[BridgePlace]:
    """Run `epochbridge serve` in front of a cluster, with one embedded group or none; its log is in `directory`."""
    place = free_place()
    command = serve_command(upstream, embedded, place, events)
    async with run_service(Service(name="the bridge", command=command, log=directory / "bridge.log")):
        yield place


class Bridge:
    """A running bridge that can be stopped before the story ends; `place` is known once `host` has started."""

    def __init__(self, running: AbstractAsyncContextManager[BridgePlace]) -> None:
        self.place = BridgePlace(listen="", admin="")
        self._running = running
        self._leaves = trio.Event()
        self._is_gone = trio.Event()

    async def host(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Run it until `depart`. Raises DemoError, as `run_service`."""
        async with self._running as self.place:
            task_status.started()
            await self._leaves.wait()
        self._is_gone.set()

    async def depart(self) -> None:
        """Stop it, and return once its process is gone; nothing if it is gone already."""
        self._leaves.set()
        await self._is_gone.wait()

    async def move(self, group: str, road: str, say: Callable[[str], None]) -> None:
        """Let `epochbridge move` move a live group and wait for the end; one that takes its time is told of meanwhile.
        Raises DemoError if it is not made.
        """
        words = ["move", group, "--to", road, "--wait", "--json", "--admin", self.place.admin]
        command = [sys.executable, "-m", "bridge", *words]
        last = [""]
        with trio.move_on_after(MOVE_TIMEOUT_S) as limit:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._tell_progress, group, road, say, last)
                done = await trio.run_process(command, capture_stdout=True, capture_stderr=True, check=False)
                nursery.cancel_scope.cancel()
        shown = f"`epochbridge {' '.join(words)}`"
        if limit.cancelled_caught:
            raise DemoError(
                f"EB-DEMO-014: {shown} was not over within {MOVE_TIMEOUT_S:.0f} s; the move was last seen "
                f"{last[0] or 'nowhere: the bridge did not tell'}. A member may not come to rest, or the machine be "
                "too busy: see bridge.log among what is kept, and run the demo again"
            )
        if done.returncode != 0:
            said = (done.stdout + done.stderr).decode(errors="replace").strip()
            raise DemoError(f"EB-DEMO-013: {shown} ended with status {done.returncode}. It said: {said}")

    async def _tell_progress(self, group: str, road: str, say: Callable[[str], None], last: list[str]) -> None:
        began_s = trio.current_time()
        while True:
            await trio.sleep(PROGRESS_S)
            told = await trio.to_thread.run_sync(ask_progress, self.place.admin, group, abandon_on_cancel=True)
            last[0] = told or last[0]
            waited_s = trio.current_time() - began_s
            say(f"The move to {road} takes its time, {waited_s:.0f} s so far: {last[0] or 'the bridge does not tell'}.")


class StoryRun:
    """The fleet's part: members and producer through the bridge, chapter by chapter."""

    def __init__(self, options: DemoOptions, group: str, upstream: str, bridge: Bridge, screen: Screen) -> None:
        self._options = options
        self._upstream = upstream
        self._bridge = bridge
        self._target = Target(bootstrap=bridge.place.listen, group=group, topics=(group,))
        self._screen = screen
        self._views: Views = {}

    async def play(self, directory: Path) -> Verdict:
        """Tell the whole story, let everything be read, and judge what the clients wrote."""
        partitions = partitions_of(self._target.topics, self._options.partitions)
        with self._screen.open():
            async with trio.open_nursery() as nursery:
                fleet = Fleet(nursery, self._target, partitions, directory)
                nursery.start_soon(self._keep_showing, fleet)
                # A producer takes no part in a group: where the bridge leaves, it never came to it.
                address = self._upstream if self._options.is_move else None
                await fleet.start_producer(ProducerSpec(partitions=self._options.partitions, rate=RATE), address)
                await self._tell(fleet)
                self._screen.say("The producer stops, the members read what is left and leave the group.")
                await fleet.stop_producers()
                await fleet.wait_read()
                await fleet.stop_all()
                self._screen.show(lambda: self._look(fleet))
                nursery.cancel_scope.cancel()
        offsets = await trio.to_thread.run_sync(
            read_committed, self._upstream, self._target.group, partitions, abandon_on_cancel=True
        )
        return judge(fleet.evidence(offsets))

    async def _tell(self, fleet: Fleet) -> None:
        chapters = plan(self._options)
        began_s = trio.current_time()
        for number, chapter in enumerate(chapters):
            # `seconds` spreads the steps, so that each can be watched; they take longer if the fleet needs longer.
            await trio.sleep_until(began_s + self._options.seconds * number / len(chapters))
            await self._tell_one(fleet, chapter, number + 1, chapters)

    async def _tell_one(self, fleet: Fleet, chapter: Chapter, number: int, chapters: Sequence[Chapter]) -> None:
        self._screen.begin(number, len(chapters), chapter.sentence)
        for change in chapter.changes:
            async with fleet.step(change.name, is_unnoticed=change.is_unnoticed):
                await self._do(fleet, change.action)
                if change.is_unnoticed:
                    await trio.sleep(UNNOTICED_S)
                await fleet.wait_settled(stable_ms=STABLE_MS, timeout_s=SETTLE_TIMEOUT_S)
        self._screen.settle(self._look(fleet))

    async def _do(self, fleet: Fleet, action: Action) -> None:
        match action:
            case Start(specs=specs, is_direct=is_direct):
                for spec in specs:
                    await fleet.start(spec, self._upstream if is_direct else None)
            case Stop(seat=seat):
                await fleet.stop(seat)
            case Kill(seat=seat):
                await fleet.kill(seat)
            case Move(road=road):
                await self._bridge.move(self._target.group, road, self._screen.say)
            case Depart():
                await self._bridge.depart()
            case _:
                assert_never(action)

    async def _keep_showing(self, fleet: Fleet) -> None:
        ask = ask_roads if self._options.is_move else ask_views
        admin, group = self._bridge.place.admin, self._target.group
        while True:
            self._views = await trio.to_thread.run_sync(ask, admin, group, abandon_on_cancel=True)
            self._screen.show(lambda: self._look(fleet))
            await trio.sleep(LOOK_S)

    def _look(self, fleet: Fleet) -> Snapshot:
        evidence = fleet.evidence()
        views = self._views
        if self._options.is_move:
            views = {**unmoved_views(log.seat for log in evidence.members), **views}
        return Snapshot(
            rows=rows_of(evidence.members, views, now_ns()),
            totals=totals_of(evidence.producers, evidence.members),
        )


async def _watch_signals(task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for number in signals:
            raise Interrupted(number)


def first_cause(fault: BaseException) -> BaseException:
    """The first plain exception in nested groups, errors of the demo itself before the interruptions they cause."""
    if not isinstance(fault, BaseExceptionGroup):
        return fault
    causes = [first_cause(one) for one in fault.exceptions]
    return next((cause for cause in causes if isinstance(cause, (DemoError, Interrupted))), causes[0])


PROMISED_KEYS = (
    "records_produced",
    "records_lost",
    "records_duplicated",
    "double_ownership",
    "rebalances",
    "members_rolled",
    "members_disturbed",
    "max_stall_ms",
    "protocols_seen",
    "ok",
)
STATUS_OK, STATUS_FAILED, STATUS_SIGNAL = 0, 1, 128


def run_demo(options: DemoOptions, json_file: TextIO | None) -> int:
    """Run it; returns the exit status: 0 for an ok verdict, 1 for any failure, 128 + N when signal N ended it."""
    screen = make_screen(tui=options.tui)
    directory = Path(tempfile.mkdtemp(prefix="epochbridge-demo-"))
    status = STATUS_FAILED
    try:
        with _sigterm_as_interrupt():
            verdict = perform(options, screen, directory)
        _report(screen.console, verdict, json_file)
        status = STATUS_OK if verdict.ok else STATUS_FAILED
    except BaseException as fault:
        cause = first_cause(fault)
        sentence, status = explain(cause)
        if sentence is None:
            raise
        Console(stderr=True).print(sentence, style="red", highlight=False, markup=False, soft_wrap=True)
    finally:
        _tidy(directory, keep=status == STATUS_FAILED)
    return status


def explain(cause: BaseException) -> tuple[str | None, int]:
    """A sentence and the exit status for what ended a run; no sentence for what should not happen at all."""
    match cause:
        case DemoError() | FleetError() | KafkaLaunchError():
            return str(cause), STATUS_FAILED
        case Interrupted(number=number):
            return f"EB-DEMO-010: ended as asked ({cause}); all its processes are gone.", STATUS_SIGNAL + number
        case KeyboardInterrupt():
            sentence = "EB-DEMO-010: ended as asked; all its processes are gone."
            return sentence, STATUS_SIGNAL + signal.SIGINT
        case _:
            return None, STATUS_FAILED


def promised(report: Report) -> Report:
    """The figures that `--json` writes: exactly these keys, in this order."""
    return {key: report[key] for key in PROMISED_KEYS}


def _report(console: Console, verdict: Verdict, json_file: TextIO | None) -> None:
    console.print(draw_report(verdict))
    console.print(conclusion(verdict), highlight=False, markup=False, soft_wrap=not console.is_terminal)
    if json_file is not None:
        json_file.write(json.dumps(promised(verdict_report(verdict)), indent=2) + "\n")
        json_file.flush()


def _tidy(directory: Path, *, keep: bool) -> None:
    if keep:
        Console(stderr=True).print(f"What every process wrote is kept in {directory}.", highlight=False, soft_wrap=True)
    else:
        shutil.rmtree(directory, ignore_errors=True)


@contextmanager
def _sigterm_as_interrupt() -> Iterator[None]:
    # Only counts while a Kafka is fetched and started; later the run listens for signals itself.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
