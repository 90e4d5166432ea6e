"""A member process that is slow where a story wants it, and that does one more thing when it gets SIGUSR1."""

import argparse
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from types import FrameType

import kafka
from kafka.coordinator.assignors.range import RangePartitionAssignor

from bridge.demo.events import EventWriter, Partition, now_ns
from bridge.demo.members import confluent, kafka_python
from bridge.demo.members.process import MemberOptions, StopSignal, parse_member_options
from bridge.demo.members.recorder import Recorder

LOOK_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """How a member plays: the library, seconds in its revoked callback, and what it does on SIGUSR1 ("" nothing).

    As a leader it takes `assign_s` to assign, or until there is a file `assign_until`.
    """

    library: str
    revoke_s: float
    assign_s: float
    assign_until: str
    rest_s: float
    subscribe: str
    rejoins: bool


class SlowRecorder(Recorder):
    """Writes down that something is to be given up, and takes its time then, as an application's callback would: it
    blocks the library's thread.
    """

    revoke_s = 0.0

    def revoke(self, partitions: Iterable[Partition]) -> Mapping[Partition, int]:
        """See `Recorder.revoke`."""
        offsets = super().revoke(partitions)
        time.sleep(self.revoke_s)
        return offsets


class ConfluentActor(confluent.ConfluentMember):
    """librdkafka's member."""

    def __init__(self, options: MemberOptions, recorder: Recorder, role: Role) -> None:
        super().__init__(options, recorder)
        self._role = role
        self._topics = list(options.topics)

    def act(self) -> None:
        """What SIGUSR1 asks for."""
        time.sleep(self._role.rest_s)
        if self._role.subscribe:
            self._topics.append(self._role.subscribe)
            self._consumer.subscribe(
                self._topics, on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost
            )


def assign_late(wait_s: float, until: str) -> None:
    """Let kafka-python's range assignor, which runs in the leader, take so long, or until this file is there."""
    assign = RangePartitionAssignor.assign

    def assign_then(cluster: object, members: object) -> object:
        time.sleep(wait_s)
        while until and members and not Path(until).exists():
            time.sleep(LOOK_S)
        return assign(cluster, members)

    RangePartitionAssignor.assign = staticmethod(assign_then)


class KafkaPythonActor(kafka_python.KafkaPythonMember):
    """kafka-python's member."""

    def __init__(self, options: MemberOptions, recorder: Recorder, role: Role) -> None:
        super().__init__(options, recorder)
        assign_late(role.assign_s, role.assign_until)
        self._role = role
        self._topics = list(options.topics)

    def act(self) -> None:
        """What SIGUSR1 asks for."""
        time.sleep(self._role.rest_s)
        if self._role.subscribe:
            self._topics.append(self._role.subscribe)
            self._consumer.subscribe(topics=self._topics, listener=self)
        if self._role.rejoins:
            # Java's enforceRebalance (KIP-568); the library has the same, one floor below its consumer.
            self._consumer._coordinator.request_rejoin()


Actor = ConfluentActor | KafkaPythonActor
LIBRARIES: Mapping[str, tuple[Callable[[MemberOptions, Recorder, Role], Actor], str]] = {
    "confluent-kafka": (ConfluentActor, version("confluent-kafka")),
    "kafka-python": (KafkaPythonActor, kafka.__version__),
}


def parse_role(arguments: list[str]) -> tuple[Role, list[str]]:
    """The role, and the arguments that are the member's."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--library", choices=tuple(LIBRARIES), default="confluent-kafka")
    parser.add_argument("--revoke-s", type=float, default=0.0)
    parser.add_argument("--assign-s", type=float, default=0.0)
    parser.add_argument("--assign-until", default="")
    parser.add_argument("--rest-s", type=float, default=0.0)
    parser.add_argument("--subscribe", default="")
    parser.add_argument("--rejoins", action="store_true")
    parsed, rest = parser.parse_known_args(arguments)
    role = Role(
        library=parsed.library,
        revoke_s=parsed.revoke_s,
        assign_s=parsed.assign_s,
        assign_until=parsed.assign_until,
        rest_s=parsed.rest_s,
        subscribe=parsed.subscribe,
        rejoins=parsed.rejoins,
    )
    return role, rest


def main(arguments: list[str]) -> None:
    """Run one member until SIGTERM."""
    role, rest = parse_role(arguments)
    options = parse_member_options(rest)
    stop, nudged = StopSignal(), threading.Event()

    def nudge(_number: int, _frame: FrameType | None) -> None:
        nudged.set()

    signal.signal(signal.SIGUSR1, nudge)
    recorder = SlowRecorder(options, EventWriter(sys.stdout), now_ns)
    recorder.revoke_s = role.revoke_s
    make, library_version = LIBRARIES[role.library]
    recorder.start(role.library, library_version)
    member = make(options, recorder, role)
    while not stop.is_set():
        member.take()
        member.commit(recorder.due_commit())
        if nudged.is_set():
            nudged.clear()
            member.act()
    member.commit(recorder.due_commit(now=True))
    member.close()
    recorder.end()


if __name__ == "__main__":
    main(sys.argv[1:])
