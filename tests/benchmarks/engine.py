"""What heartbeats cost in process, without sockets: translated members, classic groups and consumer groups of 2,000.

It must not know frames, nor how anybody is reached.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bridge.engine.advance import advance
from bridge.engine.commands import ClassicHeartbeat, Command
from bridge.engine.outcome import MemberAnswer
from bridge.engine.state import Shard
from tests.benchmarks.figures import Baseline, Figure, Target, middle, spread
from tests.benchmarks.processes import BenchmarkError
from tests.support.classic_bench import ClassicBench
from tests.support.engine_bench import GROUP as ENGINE_GROUP
from tests.support.engine_bench import Bench, beat_request, join_request, topic
from tests.support.owned_group import GROUP, ClassicClient, OwnedGroup
from translators.dialects.classic import Heartbeat, HeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import RequestRef

MEMBERS = 2_000
PARTITIONS = 400
ROUNDS = 5
TIMES = 20
SETTLE_ROUNDS_MAX = 20
INTERVAL_MS = 3_000
CLASSIC_PER_S = Target(bound=60_000, at_least=True)
CONSUMER_PER_S = Target(bound=40_000, at_least=True)
SOMEWHERE = RequestRef(0, 1, 1)


@dataclass(frozen=True, slots=True)
class Note:
    """What the baseline makes and keeps for each heartbeat."""

    member_id: str
    at_ms: int


@dataclass(slots=True)
class Contender:
    """Something that takes every member's heartbeat once when it is called; what each round gave, per CPU second."""

    name: str
    beat_all: Callable[[], None]
    target: Target | None = None
    per_s: list[float] = field(default_factory=list)

    def run(self) -> None:
        """One round."""
        begin = time.process_time()
        for _ in range(TIMES):
            self.beat_all()
        self.per_s.append(TIMES * MEMBERS / (time.process_time() - begin))


def measure_engine(directory: Path) -> list[Figure]:
    """All in turns, against the least that any heartbeat could cost in Python."""
    baseline = Contender("a frozen value made and kept per heartbeat", _notes())
    contenders = [
        Contender("classic heartbeats/s of translated members, nothing new", _calm_members(), CLASSIC_PER_S),
        Contender("the same, as a turn of machine and engine", _stepped_members(), CLASSIC_PER_S),
        Contender("heartbeats/s of a classic group", _classic_group(), CLASSIC_PER_S),
        Contender("ConsumerGroupHeartbeats/s of a consumer group", _consumer_group(), CONSUMER_PER_S),
    ]
    for _ in range(ROUNDS):
        for contender in (baseline, *contenders):
            contender.run()
    return [
        Figure(
            name=f"{contender.name}, {MEMBERS} members",
            value=middle(contender.per_s),
            unit="/CPU s",
            target=contender.target,
            baseline=Baseline(name=baseline.name, value=middle(baseline.per_s)),
            note=spread(contender.per_s),
        )
        for contender in contenders
    ]


def _notes() -> Callable[[], None]:
    kept: dict[str, Note] = {}
    names = [f"member-{number}" for number in range(MEMBERS)]

    def beat_all() -> None:
        for name in names:
            kept[name] = Note(name, len(name))

    return beat_all


def settled_group() -> tuple[OwnedGroup, list[Heartbeat]]:
    """A consumer group of translated members, none of which is to hear anything, and their heartbeats."""
    group = OwnedGroup(partitions=PARTITIONS)
    clients = [ClassicClient(group, "cooperative-sticky") for _ in range(MEMBERS)]
    for client in clients:
        client.begin_join()
    for _ in range(SETTLE_ROUNDS_MAX):
        if not sum(_go_on(client) for client in clients):
            return group, [Heartbeat(GROUP, one.generation, one.member_id, None) for one in clients]
        group.wait(INTERVAL_MS)
    raise BenchmarkError(f"{MEMBERS} members are not at rest after {SETTLE_ROUNDS_MAX} heartbeats")


def _go_on(client: ClassicClient) -> bool:
    """What a client does in one heartbeat interval; whether anything happened to it."""
    if client.parked is not None:
        if client.is_joined:
            client.end_join()
        return True
    if client.beat() is ErrorCode.REBALANCE_IN_PROGRESS:
        client.begin_join()
        return True
    return False


def _calm_members() -> Callable[[], None]:
    group, requests = settled_group()

    def beat_all() -> None:
        for request in requests:
            if not group.owner.beat_calmly(request, group.now_ms):
                raise BenchmarkError("a member at rest had something to hear")

    return beat_all


def _stepped_members() -> Callable[[], None]:
    group, requests = settled_group()

    def beat_all() -> None:
        for request in requests:
            ((_, reply),) = group.owner.beat(SOMEWHERE, request, group.now_ms).replies
            _check(isinstance(reply, HeartbeatReply) and reply.error is ErrorCode.NONE)

    return beat_all


def _classic_group() -> Callable[[], None]:
    bench = ClassicBench()
    members = bench.form(*[None] * MEMBERS)
    commands = [
        ClassicHeartbeat(SOMEWHERE, Heartbeat(ENGINE_GROUP, bench.generation, member_id, None)) for member_id in members
    ]
    return _engine_alone(bench.bench.state, commands, bench.bench.now_ms)


def _consumer_group() -> Callable[[], None]:
    bench = Bench(topics=(topic("foo", PARTITIONS),))
    names = [f"member-{number}" for number in range(MEMBERS)]
    bench.tell(*(bench.command(join_request(name)) for name in names))
    bench.settle(*names)
    commands = [bench.command(beat_request(name, bench.current(name).epoch)) for name in names]
    return _engine_alone(bench.state, commands, bench.now_ms)


def _engine_alone(state: Shard, commands: Sequence[Command], now_ms: int) -> Callable[[], None]:
    def beat_all() -> None:
        for command in commands:
            ((_, message),) = advance(state, (command,), now_ms).replies
            reply = message.reply if isinstance(message, MemberAnswer) else message
            _check(getattr(reply, "error", None) is ErrorCode.NONE)

    return beat_all


def _check(is_accepted: bool) -> None:
    if not is_accepted:
        raise BenchmarkError("a heartbeat of a settled member was refused")
