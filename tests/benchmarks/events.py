"""What the event log and traces cost: events a second, CPU per member that moves, and heartbeats with and without them.

It must not know how an event is made.
"""

import json
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import cast

from bridge.app.process import calm_collector
from bridge.engine.settings import EngineSettings
from bridge.engine.state import Shard
from bridge.session.contracts import PassingRequest
from bridge.telemetry.cause.explain import explain
from bridge.telemetry.event_log.files import FileLimits, FileSink
from bridge.telemetry.event_log.recorder import Clocks, Recorder
from bridge.telemetry.following.follower import Follower
from bridge.telemetry.following.topic_names import TopicBook
from bridge.telemetry.observing import Guard
from bridge.telemetry.otel.exporting import HTTP, Collector, open_takers
from bridge.telemetry.passing import ObservedPassing
from bridge.telemetry.rebalance_metrics import RebalanceMetrics
from bridge.telemetry.rebalances.gathering import RebalanceSink, Taker
from bridge.telemetry.schema.terms import Road
from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import encode_reply, encode_request
from bridge.wire.frames import read_request_header
from tests.benchmarks.bridge_child import bridge_child
from tests.benchmarks.broker import SMALL_TOPIC, BenchBroker, make_topics
from tests.benchmarks.figures import Baseline, Figure, Target, middle, spread
from tests.benchmarks.processes import BenchmarkError, Child, program
from tests.support.owned_group import CLIENT
from tests.support.passing_words import beat, beaten, join, joined, named, sync, synced
from tests.support.sample_facts import sample_facts
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import RequestRef
from translators.dialects.messages import GroupReply, GroupRequest

EVENTS = 200_000
MEMBERS = 1_000
BEATS = 100_000
BEATING_MEMBERS = 900
ROUNDS = 5
BEATING_ROUNDS = 10
FAST = "fast 2"
MICROS = 1e6
BOOT = "0"
EVENTS_PER_S = Target(bound=50_000, at_least=True)
MOVED_US = Target(bound=100)
COST_SHARE = 0.05
INTERVAL_S = 0.3
ROUND_S = 5


def measure_events(broker: BenchBroker, directory: Path) -> list[Figure]:
    """The log alone, the follower alone, and a bridge with the log against one without."""
    calm_collector()
    alone = [_log_alone(directory / f"alone-{number}") for number in range(ROUNDS)]
    with program("tests.benchmarks.collector", [], directory) as collector:
        moved = [_moved_member_us(directory / f"moved-{number}") for number in range(ROUNDS)]
        traced = [_traced_member_us(directory / f"traced-{number}", collector) for number in range(ROUNDS)]
        beating = _heartbeat_cost(broker, directory, collector.ready_line)
    return [
        Figure(
            name="events written, per CPU second",
            value=middle(alone),
            unit="/s",
            target=EVENTS_PER_S,
            note=spread(alone),
        ),
        *_moved_figures("event log", moved),
        *_moved_figures("event log, metrics and tracing", traced),
        Figure(
            name="CPU per ordinary heartbeat on road pass", value=_overheard_beat_us(directory / "beats"), unit="µs"
        ),
        *beating,
    ]


def _moved_figures(what: str, moved: Sequence[tuple[float, float]]) -> list[Figure]:
    own, beside = [own for own, _ in moved], [beside for _, beside in moved]
    name = f"{what}: CPU per member that moves, of"
    return [
        Figure(name=f"{name} the thread that serves", value=middle(own), unit="µs", target=MOVED_US, note=spread(own)),
        Figure(name=f"{name} threads beside it", value=middle(beside), unit="µs", note=spread(beside)),
    ]


def _recorder(folder: Path, takers: Sequence[Taker] = ()) -> Recorder:
    clocks = Clocks(mono_us=lambda: time.monotonic_ns() // 1000, wall_us=lambda: time.time_ns() // 1000)
    sink = FileSink(folder, BOOT, FileLimits(), clocks.wall_us)
    return Recorder(BOOT, clocks, [sink, *([RebalanceSink(takers, clocks.mono_us)] if takers else [])], 2 * EVENTS)


def _log_alone(folder: Path) -> float:
    recorder, facts = _recorder(folder), list(sample_facts())
    begin = time.process_time()
    for number in range(EVENTS):
        recorder.say(facts[number % len(facts)])
    recorder.close()
    spent_s = time.process_time() - begin
    if recorder.written != EVENTS:
        raise BenchmarkError(f"{recorder.written} of {EVENTS} events were written, {recorder.dropped} were dropped")
    return EVENTS / spent_s


@dataclass(frozen=True, slots=True)
class Step:
    """A request or an answer that passes; `number` says which belong together."""

    number: int
    message: GroupRequest | GroupReply
    is_answer: bool


def _follower(recorder: Recorder, topics: TopicBook) -> Follower:
    return Follower(BOOT, recorder, explain, topics, Shard(settings=EngineSettings(), assignors={}))


def _traced_member_us(folder: Path, collector: Child) -> tuple[float, float]:
    """The same with all that can be made of a rebalance; raises BenchmarkError if no trace of it came."""
    known = int(collector.ask("count"))
    sent_to = Collector(endpoint=collector.ready_line, protocol=HTTP, headers={})
    spent = _moved_member_us(folder, (RebalanceMetrics(), *open_takers(sent_to, "0")))
    if int(collector.ask("count")) < known + MEMBERS:
        raise BenchmarkError("fewer spans came than members moved")
    return spent


def _moved_member_us(folder: Path, takers: Sequence[Taker] = ()) -> tuple[float, float]:
    """One rebalance of eager members, each of which gives everything up and gets something else: CPU per member of the
    bridge's own thread, and of those that explain, write and send.
    """
    recorder = _recorder(folder, takers)
    follower = _follower(recorder, TopicBook())
    names = [f"member-{number}" for number in range(MEMBERS)]
    _play(follower, recorder, _generation(names, 1))
    while recorder.waiting:
        time.sleep(0.01)
    called = [
        Step(number, beat(name, 1) if not is_answer else beaten(ErrorCode.REBALANCE_IN_PROGRESS), is_answer)
        for number, name in enumerate(names)
        for is_answer in (False, True)
    ]
    steps = [*called, *_generation(names, 2)]
    fetches = [named(number + 2) for number in range(MEMBERS)]
    begin_s, own_begin_s = time.process_time(), time.thread_time()
    _play(follower, recorder, steps)
    for partitions in fetches:
        follower.fetched(CLIENT, partitions, False, recorder.now_us())
    own_s = time.thread_time() - own_begin_s
    recorder.close()
    return MICROS * own_s / MEMBERS, MICROS * (time.process_time() - begin_s - own_s) / MEMBERS


def _play(follower: Follower, recorder: Recorder, steps: Sequence[Step]) -> None:
    for step in steps:
        ref = RequestRef(0, 1, step.number)
        if step.is_answer:
            follower.answered(ref, cast("GroupReply", step.message), recorder.now_us())
        else:
            follower.asked(ref, CLIENT, cast("GroupRequest", step.message), Road.PASSING, recorder.now_us())


def _generation(names: list[str], generation: int) -> list[Step]:
    shares = {name: (number + generation,) for number, name in enumerate(names)}
    leader = names[0]
    steps = [Step(number, join(name), False) for number, name in enumerate(names)]
    for number, name in enumerate(names):
        members = tuple(names) if name == leader else ()
        steps.append(Step(number, joined(name, generation, leader=leader, members=members), True))
    for number, name in enumerate(names):
        steps.append(Step(number, sync(name, generation, shares if name == leader else None), False))
    steps += [Step(number, synced(*shares[name]), True) for number, name in enumerate(names)]
    return steps


def _overheard_beat_us(folder: Path) -> float:
    """A heartbeat like the last one, with an answer like the last one."""
    recorder, topics = _recorder(folder), TopicBook()
    passing = ObservedPassing(_follower(recorder, topics), Guard(), topics, recorder.now_us, lambda: None)
    frame = encode_request(ApiKey.HEARTBEAT, 4, 1, CLIENT.client_id, beat("a", 1))
    answer = encode_reply(ApiKey.HEARTBEAT, 4, 1, beaten())
    header, ref = read_request_header(frame, len(frame)), RequestRef(0, 1, 1)
    assert header is not None
    begin = time.process_time()
    for _ in range(BEATS):
        hear = passing.overhear(ref, PassingRequest(header, frame), CLIENT, None)
        assert hear is not None
        hear(answer)
    spent_s = time.process_time() - begin
    recorder.close()
    return MICROS * spent_s / BEATS


def _heartbeat_cost(broker: BenchBroker, directory: Path, endpoint: str) -> list[Figure]:
    """What log and tracing take of a bridge's heartbeats: of as many as it can answer, and at 3,000 a second.

    In turns with two bridges without them, which show what the machine adds: at 3,000 a second a round of one and the
    same bridge takes half as much again as another, so of each the calmer half of the rounds counts.
    """
    make_topics(broker, SMALL_TOPIC)
    with ExitStack() as stack:

        def side(group: str, *settings: str) -> tuple[Child, Child]:
            address, bridge = stack.enter_context(bridge_child(broker.bootstrap, directory, settings))
            return bridge, _load(stack, address, group, directory)

        with_log = (f"events.path={directory / 'events'}", f"otel.endpoint={endpoint}")
        sides = side("bench-without"), side("bench-with", *with_log), side("bench-without-too")
        rounds = [[_spend(each) for each in sides] for _ in range(BEATING_ROUNDS)]
        most = [[_answered_per_cpu_s(each) for each in sides] for _ in range(BEATING_ROUNDS)]
    return [_share_figure(most), _spent_figure(rounds)]


def _share_figure(rounds: Sequence[Sequence[float]]) -> Figure:
    first, ours, second = (middle([one[place] for one in rounds]) for place in range(3))
    plain = (first + second) / 2
    return Figure(
        name="heartbeats per CPU second with log and tracing",
        value=ours,
        unit="/s",
        target=Target(bound=plain * (1 - COST_SHARE), at_least=True),
        baseline=Baseline(name="without them", value=plain),
        note=f"{BEATING_ROUNDS} rounds; the two without {first:,.0f} and {second:,.0f}",
    )


def _spent_figure(rounds: Sequence[Sequence[float]]) -> Figure:
    first, ours, second = (_calm([one[place] for one in rounds]) for place in range(3))
    plain = (first + second) / 2
    return Figure(
        name=f"CPU for {BEATING_MEMBERS / INTERVAL_S:.0f} heartbeats a second with log and tracing",
        value=ours,
        unit="% of a core",
        target=Target(bound=plain * (1 + COST_SHARE)),
        baseline=Baseline(name="without them", value=plain),
        note=f"{BEATING_ROUNDS} rounds; the two without {first:.2f} and {second:.2f} %",
    )


def _calm(spent: Sequence[float]) -> float:
    return fmean(sorted(spent)[: len(spent) // 2])


def _answered_per_cpu_s(side: tuple[Child, Child]) -> float:
    bridge, load = side
    before_s = bridge.cpu_s()
    beating: dict[str, float] = json.loads(load.ask(FAST))
    if beating["refused"]:
        raise BenchmarkError(f"{beating['refused']} heartbeats of settled members were refused")
    return beating["answered"] / (bridge.cpu_s() - before_s)


def _spend(side: tuple[Child, Child]) -> float:
    bridge, load = side
    before_s = bridge.cpu_s()
    beating: dict[str, float] = json.loads(load.ask(f"steady {INTERVAL_S} {ROUND_S}"))
    if beating["refused"]:
        raise BenchmarkError(f"{beating['refused']} heartbeats of settled members were refused")
    return 100 * (bridge.cpu_s() - before_s) / beating["seconds"]


def _load(stack: ExitStack, address: str, group: str, directory: Path) -> Child:
    words = [address, str(BEATING_MEMBERS), SMALL_TOPIC, group, "classic"]
    return stack.enter_context(program("tests.benchmarks.heartbeat_load", words, directory))
