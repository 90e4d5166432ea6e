"""One run of the demo from the first process to the verdict: cluster, bridge, fleet and story put together.
It must not know the command line; all its processes end with it, however it ends.
"""

import os
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from pathlib import Path

import trio

from bridge.demo.bridge_service import BridgePlace, free_place, serve_command
from bridge.demo.cluster import borrow_topic, run_kafka, run_mock
from bridge.demo.demo_error import DemoError
from bridge.demo.events_clock import now_ns
from bridge.demo.fleet import Fleet
from bridge.demo.fleet_specs import ProducerSpec, Target
from bridge.demo.fleet_topics import partitions_of, read_committed
from bridge.demo.group_view import Views, ask_views
from bridge.demo.judge import Verdict, judge
from bridge.demo.programme import Programme
from bridge.demo.service_process import Service, run_service
from bridge.demo.stage import Snapshot, Stage
from bridge.demo.story_plan import Chapter, Kill, Start, Stop, plan_story
from bridge.demo.table_rows import rows_of, totals_of

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


def perform(programme: Programme, stage: Stage, directory: Path) -> Verdict:
    """Run it all and judge it. Raises DemoError, FleetError, KafkaLaunchError or Interrupted, maybe in groups."""
    with ExitStack() as stack:
        upstream = programme.bootstrap
        if programme.kafka is not None:
            stage.say(f"Starting Apache Kafka {programme.kafka}; the first time it is fetched, which may take minutes.")
            upstream = stack.enter_context(run_kafka(programme.kafka, directory))
        return trio.run(_perform, programme, upstream, stage, directory)


async def _perform(programme: Programme, upstream: str | None, stage: Stage, directory: Path) -> Verdict:
    async with trio.open_nursery() as nursery:
        await nursery.start(_watch_signals)
        verdict = await _with_bridge(programme, upstream, stage, directory)
        nursery.cancel_scope.cancel()
    return verdict


async def _with_bridge(programme: Programme, upstream: str | None, stage: Stage, directory: Path) -> Verdict:
    name = programme.group or f"{GROUP_PREFIX}-{os.getpid()}"
    stage.say(INTRODUCTION)
    async with AsyncExitStack() as stack:
        if upstream is None:
            upstream = await stack.enter_async_context(run_mock(name, programme.partitions, directory))
            stage.say(f"A Kafka cluster runs at {upstream} (librdkafka's mock: no Java, nothing on disk).")
        else:
            await stack.enter_async_context(borrow_topic(upstream, name, programme.partitions))
            stage.say(f"Kafka is at {upstream}.")
        place = await stack.enter_async_context(run_bridge(upstream, name, directory, programme.events))
        stage.say(
            f"The bridge runs in front of it at {place.listen}, where all clients connect; it coordinates the group "
            f"{name!r} itself, all else goes through to Kafka. Its view: http://{place.admin}/groups/{name}"
        )
        target = Target(bootstrap=place.listen, group=name, topics=(name,))
        evening = Evening(programme, target, stage)
        return await evening.play(directory, place.admin, upstream)


@asynccontextmanager
async def run_bridge(
    upstream: str, group: str, directory: Path, events: str | None = None
) -> AsyncIterator[BridgePlace]:
    """Run `epochbridge serve` in front of a cluster, with one embedded group; its log is in `directory`."""
    place = free_place()
    command = serve_command(upstream, group, place, events)
    async with run_service(Service(name="the bridge", command=command, log=directory / "bridge.log")):
        yield place


class Evening:
    """The fleet's part: members and producer through the bridge, chapter by chapter."""

    def __init__(self, programme: Programme, target: Target, stage: Stage) -> None:
        self._programme = programme
        self._target = target
        self._stage = stage
        self._views: Views = {}

    async def play(self, directory: Path, admin: str, upstream: str) -> Verdict:
        """Tell the whole story, let everything be read, and judge what the clients wrote."""
        partitions = partitions_of(self._target.topics, self._programme.partitions)
        with self._stage.open():
            async with trio.open_nursery() as nursery:
                fleet = Fleet(nursery, self._target, partitions, directory)
                nursery.start_soon(self._keep_showing, fleet, admin)
                await fleet.start_producer(ProducerSpec(partitions=self._programme.partitions, rate=RATE))
                await self._tell(fleet)
                self._stage.say("The producer stops, the members read what is left and leave the group.")
                await fleet.stop_producers()
                await fleet.wait_read()
                await fleet.stop_all()
                self._stage.show(lambda: self._look(fleet))
                nursery.cancel_scope.cancel()
        offsets = await trio.to_thread.run_sync(
            read_committed, upstream, self._target.group, partitions, abandon_on_cancel=True
        )
        return judge(fleet.evidence(offsets))

    async def _tell(self, fleet: Fleet) -> None:
        chapters = plan_story(self._programme.members)
        began_s = trio.current_time()
        for number, chapter in enumerate(chapters):
            # `seconds` spreads the steps, so that each can be watched; they take longer if the fleet needs longer.
            await trio.sleep_until(began_s + self._programme.seconds * number / len(chapters))
            await self._tell_one(fleet, chapter, number + 1, chapters)

    async def _tell_one(self, fleet: Fleet, chapter: Chapter, number: int, chapters: Sequence[Chapter]) -> None:
        self._stage.begin(number, len(chapters), chapter.sentence)
        for change in chapter.changes:
            async with fleet.step(change.name):
                await _do(fleet, change.action)
                await fleet.wait_settled(stable_ms=STABLE_MS, timeout_s=SETTLE_TIMEOUT_S)
        self._stage.settle(self._look(fleet))

    async def _keep_showing(self, fleet: Fleet, admin: str) -> None:
        while True:
            self._views = await trio.to_thread.run_sync(ask_views, admin, self._target.group, abandon_on_cancel=True)
            self._stage.show(lambda: self._look(fleet))
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
