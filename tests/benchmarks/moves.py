"""What it costs a live group to become a consumer group and a classic one again: by the bridge's moves, and by Kafka's
own migration, for which one member has to restart with the other protocol; also to go to the bridge itself and back.

It must not know how either of them does it.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import trio

from bridge.admin.client import (
    NoAnswer,
    NobodyThere,
    Unanswered,
    ask_move,
    give_order,
    group_path,
    kept_connection,
    parse,
)
from bridge.coordinators.rounds import play
from bridge.demo.services import BridgePlace, free_place
from bridge.migration.moves.round_values import Played, Round
from bridge.net.bridge_questions import BridgeQuestions
from bridge.net.clock import TrioClock
from bridge.net.cluster import UpstreamCluster
from bridge.session.broker_addresses import Advertised, Directory
from tests.benchmarks.bridge_child import bridge_words
from tests.benchmarks.broker import BenchBroker, await_partitions, make_topics
from tests.benchmarks.classic_client import ClassicClient
from tests.benchmarks.figures import Baseline, Figure, Target, middle, spread
from tests.benchmarks.fleet import Fleet
from tests.benchmarks.gaps import Gaps
from tests.benchmarks.native_client import NativeClient
from tests.benchmarks.processes import BenchmarkError, command
from tests.support.proxy import settings_for
from tests.support.round_table import player
from translators.dialects.ids import GroupId

SIZES: Mapping[int, int] = {10: 40, 50: 100, 200: 400}
"""Members compared with Kafka, and the partitions of their topic."""
GIANT = (1_000, 1_000)
INTERVAL_S = 1.0
WAYS: Mapping[str, tuple[str, str]] = {
    "upstream": ("to the broker's consumer group", "and back"),
    "embedded": ("to the bridge", "and back to the broker"),
}
"""By the road of the bridge: there, and back to `pass`."""
QUIET_S = 6.0
"""Longer than the interval of 5 s in which the broker hears its own members: what it had to say it has said."""
LOOK_S = 0.005
ASK_S = 0.02
TIMEOUT_S = 180.0
SECONDS: Mapping[tuple[str, int], Target] = {
    (WAYS["upstream"][0], 200): Target(bound=3.0),
    (WAYS["upstream"][0], 1_000): Target(bound=15.0),
    (WAYS["embedded"][0], 200): Target(bound=0.5),
}
"""By way and members."""
ROUND_MEMBERS, ROUNDS, ROUND_BOUND_MS = 200, 5, 30_000
A_ROUND = Target(bound=1.0)
UNDISTURBED = Target(bound=0)
ENDED = frozenset({"done", "stopped", "refused"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one way cost those who were not restarted: JoinGroups, members called, partition-seconds without an owner,
    the longest time that one partition had none, the time until all was as it should be, and the slowest answer to a
    heartbeat on the way, which is how long a request was held at most.
    """

    joins: int
    called: int
    unowned_s: float
    gap_s: float
    converged_s: float
    slowest_s: float


class Watch:
    """Looks at a fleet while something is done to it."""

    def __init__(self, fleet: Fleet, topic: str, partitions: int) -> None:
        self._fleet = fleet
        # Members that beat in step would hear of a change all at once, or all as late as can be.
        fleet.spread()
        self._before = {client.name: (client, client.joins, client.times_called) for client in fleet.clients}
        self._began = self._looked = self._changed = time.monotonic()
        self._calls = sum(client.joins + client.times_called for client in fleet.clients)
        self._gaps = Gaps(fleet, topic, partitions)
        fleet.slowest_s = 0.0

    def look(self) -> None:
        """What is so at this moment, at most every 5 ms."""
        now = time.monotonic()
        if now - self._looked < LOOK_S:
            return
        unowned = self._gaps.look(now)
        calls = sum(client.joins + client.times_called for client in self._fleet.clients)
        if unowned or calls != self._calls or not self._fleet.is_settled():
            self._changed, self._calls = now, calls
        self._looked = now

    def is_quiet(self) -> bool:
        """Whether nothing has changed for long enough."""
        self.look()
        return self._looked - self._changed > QUIET_S

    def cost(self, *restarted: str) -> Cost:
        """The cost so far for all but these."""
        stayed = [entry for name, entry in self._before.items() if name not in restarted]
        return Cost(
            joins=sum(client.joins - joins for client, joins, _ in stayed),
            called=sum((client.joins, client.times_called) != (joins, calls) for client, joins, calls in stayed),
            unowned_s=self._gaps.unowned_s,
            gap_s=self._gaps.longest_s,
            converged_s=self._changed - self._began,
            slowest_s=self._fleet.slowest_s,
        )


class Group:
    """A group of raw classic members on sockets of their own; `size` is how many members and partitions."""

    def __init__(self, address: str, name: str, size: tuple[int, int], *, cooperative: bool) -> None:
        members, partitions = size
        host, _, port = address.rpartition(":")
        self.name, self.topic, self.partitions = name, f"bench-{partitions}", partitions
        self._is_cooperative = cooperative
        self.fleet = Fleet((host, int(port)), interval_s=INTERVAL_S)
        self.fleet.add([self.classic(f"m{number}") for number in range(members)])
        self.fleet.run_until(Watch(self.fleet, self.topic, partitions).is_quiet, TIMEOUT_S)

    def classic(self, name: str) -> ClassicClient:
        """A classic member."""
        cooperative, partitions = self._is_cooperative, self.partitions
        return ClassicClient(self.name, self.topic, name, cooperative=cooperative, partitions=partitions)

    def restart(self, name: str, successor: ClassicClient) -> Cost:
        """A member leaves and its successor comes at once: what it costs all others."""
        watch = Watch(self.fleet, self.topic, self.partitions)
        line = next(line for line in self.fleet.lines if line.client.name == name)
        self.fleet.dismiss(line, line.client.leave())
        self.fleet.add([successor])
        self.fleet.run_until(watch.is_quiet, TIMEOUT_S)
        return watch.cost(name)

    def move(self, admin: str, to: str) -> Cost:
        """The bridge is ordered to move it: what it costs all members. Raises BenchmarkError."""
        watch = Watch(self.fleet, self.topic, self.partitions)
        with ThreadPoolExecutor(1) as beside:
            ordered = beside.submit(_move, admin, self.name, to)
            self.fleet.run_until(_looking(watch, ordered.done), TIMEOUT_S)
        took_s = ordered.result()
        slowest_s = self.fleet.slowest_s
        self.fleet.run_until(watch.is_quiet, TIMEOUT_S)
        cost = watch.cost()
        return Cost(
            joins=cost.joins,
            called=cost.called,
            unowned_s=cost.unowned_s,
            gap_s=cost.gap_s,
            converged_s=max(took_s, cost.converged_s),
            slowest_s=slowest_s,
        )


def _looking(watch: Watch, holds: Callable[[], bool]) -> Callable[[], bool]:
    def look() -> bool:
        watch.look()
        return holds()

    return look


def _move(admin: str, group: str, to: str) -> float:
    """Order a move and wait for its end; how long it took by the bridge's own clock, in seconds. Raises BenchmarkError.

    A bridge that plays a round of 1,000 members on a busy machine may not answer in time now and then.
    """
    try:
        with kept_connection():
            with suppress(NobodyThere, Unanswered):
                give_order(admin, group_path(group) + "/move", {"to": to})
            move = _await_end(admin, group)
    except NoAnswer as problem:
        raise BenchmarkError(f"{group} to {to}: {problem}") from problem
    began_ms, ended_ms = move["started_ms"], move["ended_ms"]
    if move["stage"] != "done" or not isinstance(began_ms, int) or not isinstance(ended_ms, int):
        raise BenchmarkError(f"{group} to {to}: {move['stage']}: {move['verdict']} {move['obstacles']}")
    return (ended_ms - began_ms) / 1_000


def _await_end(admin: str, group: str) -> Mapping[str, object]:
    """The move once it has ended, or has taken too long; raises NoAnswer where nobody answers any more."""
    until = time.monotonic() + TIMEOUT_S
    while True:
        try:
            move = parse(ask_move(admin, group), admin)
        except (NobodyThere, Unanswered):
            if time.monotonic() > until:
                raise
        else:
            if move["stage"] in ENDED or time.monotonic() > until:
                return move
        time.sleep(ASK_S)


def measure_moves(broker: BenchBroker, directory: Path) -> list[Figure]:
    """Every size and kind at Kafka and at the bridge in turn, then rounds. Raises BenchmarkError."""
    make_topics(broker, *(f"bench-{partitions}" for partitions in SIZES.values()))
    figures: list[Figure] = []
    place = free_place()
    with command(bridge_words(broker.bootstrap, place, ()), directory, {}):
        for members, partitions in SIZES.items():
            for kind in ("eager", "cooperative"):
                name, size = f"moves-{members}-{kind}", (members, partitions)
                direct = Group(broker.bootstrap, f"{name}-kafka", size, cooperative=kind == "cooperative")
                figures += _by_moves(place, name, size, "upstream", _at_kafka(direct))
                figures += _by_moves(place, name, size, "embedded", (None, None))
    return [*figures, _rounds(broker)]


def measure_giant_moves(broker: BenchBroker, directory: Path) -> list[Figure]:
    """The biggest, at the bridge alone. Raises BenchmarkError."""
    make_topics(broker, f"bench-{GIANT[1]}")
    await_partitions(broker, f"bench-{GIANT[1]}", GIANT[1])
    place = free_place()
    with command(bridge_words(broker.bootstrap, place, ()), directory, {}):
        return [figure for road in WAYS for figure in _by_moves(place, "moves-giant", GIANT, road, (None, None))]


def _by_moves(
    place: BridgePlace, name: str, size: tuple[int, int], road: str, kafka: Sequence[Cost | None]
) -> list[Figure]:
    figures: list[Figure] = []
    group = Group(place.listen, f"{name}-{road}", size, cooperative="cooperative" in name)
    kind = "cooperative" if "cooperative" in name else "eager"
    for way, there, to in zip(WAYS[road], kafka, (road, "pass"), strict=False):
        cost = group.move(place.admin, to)
        target = SECONDS.get((way, size[0]))
        print(f"{group.name} {way}: {cost}", flush=True)
        figures += _compared(f"{size[0]:,} {kind} members {way}", target, cost, there)
    group.fleet.close()
    return figures


def _at_kafka(group: Group) -> Sequence[Cost]:
    there = group.restart("m0", NativeClient(group.name, group.topic, "m0"))
    back = group.restart("m0", group.classic("m0"))
    group.fleet.close()
    return there, back


def _rounds(broker: BenchBroker) -> Figure:
    """Rounds that are played for members which the broker has already: the first one only seats them."""
    took_s = trio.run(_play_rounds, broker.bootstrap)
    return Figure(
        name=f"a played round of {ROUND_MEMBERS} members",
        value=middle(took_s),
        unit="s",
        target=A_ROUND,
        note=spread(took_s),
    )


async def _play_rounds(bootstrap: str) -> list[float]:
    coordinators = BridgeQuestions()
    directory = Directory(Advertised(host="", first_port=0, ports={}))
    coordinators.attach(UpstreamCluster(settings_for(bootstrap), directory, lambda _: False))
    clock, group = TrioClock(), GroupId("moves-rounds")
    players = tuple(player(f"m{number}", number, "", None) for number in range(ROUND_MEMBERS))
    generation, took_s = -1, list[float]()
    # One member pays the broker's initial delay, the others join it, and from then on all are known.
    for count in (1, *[ROUND_MEMBERS] * (ROUNDS + 1)):
        # As whom the broker knows them since the round before: by no ids they would be newcomers each time.
        seated, began = players[:count], time.monotonic()
        deadline_ms = clock.now_ms() + ROUND_BOUND_MS
        ended = await play(
            coordinators, clock, Round(group_id=group, players=seated, deadline_ms=deadline_ms, generation=generation)
        )
        if not isinstance(ended, Played):
            raise BenchmarkError(f"a round of {len(seated)} members: {ended}")
        took_s.append(time.monotonic() - began)
        players = tuple(replace(one, broker_id=ended.ids.get(one.member_id, one.broker_id)) for one in players)
        generation = ended.generation
    return took_s[2:]


def _compared(name: str, target: Target | None, ours: Cost, kafka: Cost | None) -> list[Figure]:
    def baseline(take: Callable[[Cost], float]) -> Baseline | None:
        return None if kafka is None else Baseline(name="Kafka", value=take(kafka))

    return [
        Figure(
            name=f"{name}: called or joined again",
            value=ours.called,
            unit="members",
            target=UNDISTURBED,
            baseline=baseline(lambda cost: cost.called),
            note=f"{ours.joins} JoinGroups" + (f"; Kafka: {kafka.joins}" if kafka else ""),
        ),
        Figure(
            name=f"{name}: nobody's partitions",
            value=ours.unowned_s,
            unit="partition-s",
            target=UNDISTURBED,
            baseline=baseline(lambda cost: cost.unowned_s),
            note=f"longest gap {ours.gap_s:.2f} s" + (f"; Kafka: {kafka.gap_s:.2f} s" if kafka else ""),
        ),
        Figure(
            name=f"{name}: until all is done",
            value=ours.converged_s,
            unit="s",
            target=target,
            baseline=baseline(lambda cost: cost.converged_s),
            note=f"slowest answer to a heartbeat meanwhile {1_000 * ours.slowest_s:.0f} ms",
        ),
    ]
