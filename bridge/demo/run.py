"""A run of the demo: cluster, bridge, fleet and story put together, then the report, the figures as JSON, one sentence
for a failure, and the exit status. All its processes end with it, however it ends.
"""

import json
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import TextIO

import trio
from rich.console import Console

from bridge.demo.cluster import borrow_topic, partitions_of, read_committed, run_kafka, run_mock
from bridge.demo.errors import DemoError, KafkaLaunchError
from bridge.demo.events import now_ns
from bridge.demo.fleet import Fleet, FleetError
from bridge.demo.fleet_specs import ProducerSpec, Target
from bridge.demo.judge import Verdict, judge
from bridge.demo.rows import Views, ask_views, rows_of, totals_of
from bridge.demo.screen import Report, Screen, Snapshot, conclusion, draw_report, make_screen, verdict_report
from bridge.demo.services import BridgePlace, Service, free_place, run_service, serve_command
from bridge.demo.story import Chapter, DemoOptions, Kill, Start, Stop, plan_story

GROUP_PREFIX = "epochbridge-demo"
INTRODUCTION = (
    "A group of Kafka consumers moves to the new group protocol (KIP-848) and back, one member at a time, while records"
    " flow. In the end the clients' own logs are searched for lost records and for partitions with two owners at once."
)
RATE = 400.0
STABLE_MS = 1000
SETTLE_TIMEOUT_S = 60.0
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
    screen.say(INTRODUCTION)
    async with AsyncExitStack() as stack:
        if upstream is None:
            upstream = await stack.enter_async_context(run_mock(name, options.partitions, directory))
            screen.say(f"A Kafka cluster runs at {upstream} (librdkafka's mock: no Java, nothing on disk).")
        else:
            await stack.enter_async_context(borrow_topic(upstream, name, options.partitions))
            screen.say(f"Kafka is at {upstream}.")
        place = await stack.enter_async_context(run_bridge(upstream, name, directory, options.events))
        screen.say(
            f"The bridge runs in front of it at {place.listen}, where all clients connect; it coordinates the group "
            f"{name!r} itself, all else goes through to Kafka. Its view: http://{place.admin}/groups/{name}"
        )
        target = Target(bootstrap=place.listen, group=name, topics=(name,))
        story_run = StoryRun(options, target, screen)
        return await story_run.play(directory, place.admin, upstream)


@asynccontextmanager
async def run_bridge(
    upstream: str, group: str, directory: Path, events: str | None = None
) -> AsyncIterator[BridgePlace]:
    """Run `epochbridge serve` in front of a cluster, with one embedded group; its log is in `directory`."""
    place = free_place()
    command = serve_command(upstream, group, place, events)
    async with run_service(Service(name="the bridge", command=command, log=directory / "bridge.log")):
        yield place


class StoryRun:
    """The fleet's part: members and producer through the bridge, chapter by chapter."""

    def __init__(self, options: DemoOptions, target: Target, screen: Screen) -> None:
        self._options = options
        self._target = target
        self._screen = screen
        self._views: Views = {}

    async def play(self, directory: Path, admin: str, upstream: str) -> Verdict:
        """Tell the whole story, let everything be read, and judge what the clients wrote."""
        partitions = partitions_of(self._target.topics, self._options.partitions)
        with self._screen.open():
            async with trio.open_nursery() as nursery:
                fleet = Fleet(nursery, self._target, partitions, directory)
                nursery.start_soon(self._keep_showing, fleet, admin)
                await fleet.start_producer(ProducerSpec(partitions=self._options.partitions, rate=RATE))
                await self._tell(fleet)
                self._screen.say("The producer stops, the members read what is left and leave the group.")
                await fleet.stop_producers()
                await fleet.wait_read()
                await fleet.stop_all()
                self._screen.show(lambda: self._look(fleet))
                nursery.cancel_scope.cancel()
        offsets = await trio.to_thread.run_sync(
            read_committed, upstream, self._target.group, partitions, abandon_on_cancel=True
        )
        return judge(fleet.evidence(offsets))

    async def _tell(self, fleet: Fleet) -> None:
        chapters = plan_story(self._options.members)
        began_s = trio.current_time()
        for number, chapter in enumerate(chapters):
            # `seconds` spreads the steps, so that each can be watched; they take longer if the fleet needs longer.
            await trio.sleep_until(began_s + self._options.seconds * number / len(chapters))
            await self._tell_one(fleet, chapter, number + 1, chapters)

    async def _tell_one(self, fleet: Fleet, chapter: Chapter, number: int, chapters: Sequence[Chapter]) -> None:
        self._screen.begin(number, len(chapters), chapter.sentence)
        for change in chapter.changes:
            async with fleet.step(change.name):
                await _do(fleet, change.action)
                await fleet.wait_settled(stable_ms=STABLE_MS, timeout_s=SETTLE_TIMEOUT_S)
        self._screen.settle(self._look(fleet))

    async def _keep_showing(self, fleet: Fleet, admin: str) -> None:
        while True:
            self._views = await trio.to_thread.run_sync(ask_views, admin, self._target.group, abandon_on_cancel=True)
            self._screen.show(lambda: self._look(fleet))
            await trio.sleep(LOOK_S)

    def _look(self, fleet: Fleet) -> Snapshot:
        evidence = fleet.evidence()
        return Snapshot(
            rows=rows_of(evidence.members, self._views, now_ns()),
            totals=totals_of(evidence.producers, evidence.members),
        )


async def _do(fleet: Fleet, action: Start | Stop | Kill) -> None:
    match action:
        case Start(specs=specs):
            for spec in specs:
                await fleet.start(spec)
        case Stop(seat=seat):
            await fleet.stop(seat)
        case Kill(seat=seat):
            await fleet.kill(seat)


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
