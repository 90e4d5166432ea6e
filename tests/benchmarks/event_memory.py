"""Whether the event log holds on to memory: ten million events of groups and members that come and go.

It must not know what is in an event; a group that is gone must cost nothing any more.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

import psutil

from bridge.engine.settings import EngineSettings
from bridge.engine.state import Shard
from bridge.telemetry.cause.explain import explain
from bridge.telemetry.event_log.files import FileLimits, FileSink
from bridge.telemetry.event_log.recorder import Clocks, Recorder
from bridge.telemetry.following.follower import Follower
from bridge.telemetry.following.topic_names import TopicBook
from bridge.telemetry.rebalance_metrics import RebalanceMetrics
from bridge.telemetry.rebalances.gathering import RebalanceSink
from bridge.telemetry.schema.terms import Road
from tests.benchmarks.figures import Baseline, Figure, Target
from tests.benchmarks.processes import BenchmarkError
from tests.support.passing_words import beat, beaten, join, joined, leave, left, named, sync, synced
from translators.dialects.classic import Heartbeat, JoinGroup, LeaveGroup, SyncGroup
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import ClientIdentity, GroupId, MemberId, RequestRef
from translators.dialects.messages import GroupReply
from translators.dialects.offsets import OffsetCommit, OffsetCommitReply

EVENTS = 10_000_000
WARM = 1_000_000
MEMBERS = 20
GENERATIONS = 5
"""So many groups in the first million events that everything with a limit on groups has come to it, metrics too."""
WAITING_MAX = 2_000
"""What waits to be written takes memory, too; here nearly nothing waits, so that only what stays is seen."""
QUEUE_MAX = 100_000
"""More than the one rebalance that may come on top of what waits."""
GROWTH_MAX = 1.05
MIB = 1 << 20
Asked = JoinGroup | SyncGroup | Heartbeat | LeaveGroup | OffsetCommit
LIMITS = FileLimits(file_bytes_max=32 * MIB, total_bytes_max=128 * MIB)


def measure_event_memory(directory: Path, events: int = EVENTS, warm: int = WARM) -> list[Figure]:
    """Memory after so many events, against that after the first; files are kept up to a limit, as by default."""
    clocks = Clocks(mono_us=_fast_us, wall_us=lambda: time.time_ns() // 1000)
    sinks = (
        FileSink(directory / "events", "0", LIMITS, clocks.wall_us),
        RebalanceSink([RebalanceMetrics()], clocks.mono_us),
    )
    recorder = Recorder("0", clocks, sinks, QUEUE_MAX)
    shard = Shard(settings=EngineSettings(), assignors={})
    world = _World(Follower("0", recorder, explain, TopicBook(), shard), recorder)
    sizes: list[int] = []
    for number in count():
        world.live(f"group-{number}")
        if recorder.written >= warm * (len(sizes) + 1):
            sizes.append(psutil.Process().memory_info().rss)
        if recorder.written >= events:
            break
    recorder.close()
    if recorder.dropped or recorder.lost or world.follower.groups:
        raise BenchmarkError(f"{recorder.dropped} events were dropped, {recorder.lost} lost, groups were left over")
    first, last = sizes[0] / MIB, sizes[-1] / MIB
    return [
        Figure(
            name=f"memory after {recorder.written / 1e6:.1f} million events",
            value=last,
            unit="MB",
            target=Target(bound=first * GROWTH_MAX),
            baseline=Baseline(name=f"after {warm / 1e6:g} million", value=first),
            note=f"most {max(sizes) / MIB:.0f} MB; {recorder.written:,} events of {world.members:,} members",
        )
    ]


class _World:
    """Groups of classic members on road `pass`, one after the other, each under names of its own."""

    def __init__(self, follower: Follower, recorder: Recorder) -> None:
        self.follower = follower
        self.members = 0
        self._recorder = recorder
        self._numbers = count(1)

    def live(self, group: str) -> None:
        """A group comes, rebalances, loses the connections of some members, and ends."""
        names = [f"{group}-member-{number}" for number in range(MEMBERS)]
        self.members += len(names)
        for generation in range(1, GENERATIONS + 1):
            self._rebalance(group, names, generation)
            while self._recorder.waiting > WAITING_MAX:
                time.sleep(0.001)
        for connection, name in enumerate(names, start=self.members):
            self._pass(group, name, leave(name), left(name))
            self.follower.lost(connection, self._recorder.now_us())

    def _rebalance(self, group: str, names: Sequence[str], generation: int) -> None:
        shares = {name: (number + generation,) for number, name in enumerate(names)}
        if generation > 1:
            for name in names:
                self._pass(group, name, beat(name, generation - 1), beaten(ErrorCode.REBALANCE_IN_PROGRESS))
        asked = [(name, self._ask(group, name, join(name))) for name in names]
        for name, ref in asked:
            members = tuple(names) if name == names[0] else ()
            self._answer(ref, joined(name, generation, leader=names[0], members=members))
        for name in names:
            self._pass(group, name, sync(name, generation, shares if name == names[0] else None), synced(*shares[name]))
        for name in names:
            self.follower.fetched(_client(name), named(*shares[name]), False, self._recorder.now_us())
            # A rebalance is kept until the first commit of every member.
            self._pass(group, name, _commit(name, generation), OffsetCommitReply(topics=()))

    def _pass(self, group: str, name: str, request: Asked, reply: GroupReply) -> None:
        self._answer(self._ask(group, name, request), reply)

    def _ask(self, group: str, name: str, request: Asked) -> RequestRef:
        connection = self.members + int(name.rpartition("-")[2])
        ref = RequestRef(0, connection, next(self._numbers))
        named_so = replace(request, group_id=GroupId(group))
        self.follower.asked(ref, _client(name), named_so, Road.PASSING, self._recorder.now_us())
        return ref

    def _answer(self, ref: RequestRef, reply: GroupReply) -> None:
        self.follower.answered(ref, reply, self._recorder.now_us())


def _commit(name: str, generation: int) -> OffsetCommit:
    return OffsetCommit(
        group_id=GroupId(""), generation=generation, member_id=MemberId(name), instance_id=None, topics=()
    )


def _fast_us() -> int:
    """A clock on which minutes pass in seconds: what is kept for 15 s is time times speed, and none of what stays."""
    return time.monotonic_ns() // 10


def _client(name: str) -> ClientIdentity:
    return ClientIdentity(client_id=MemberId(name), client_host="10.0.0.7")
