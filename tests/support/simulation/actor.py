"""A client process, whatever it speaks: what it believes to own, processes and commits, its pauses and its end."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from random import Random

from tests.support.simulation.network import Network, Then
from tests.support.simulation.oracle import InvariantBroken, Oracle, Standing
from tests.support.simulation.profiles import ClientProfile
from tests.support.simulation.timeline import Timeline
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import ClientIdentity, GroupId, InstanceId, MemberId, TopicName, TopicPartition
from translators.dialects.messages import GroupReply, GroupRequest
from translators.dialects.offsets import OffsetCommit, OffsetCommitReply, PartitionCommit, TopicCommit

GROUP = GroupId("group")
RETRY_MS = 100
COMMIT_ROAD = 1
Partitions = frozenset[TopicPartition]


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """Who a client is: its place in the fleet, a number of its own among all processes there ever were."""

    number: int
    place: int
    profile: ClientProfile
    topics: tuple[TopicName, ...]
    instance_id: InstanceId | None
    session_ms: int

    @property
    def name(self) -> str:
        """What reports call it."""
        static = "" if self.instance_id is None else "/static"
        return f"{self.number}@{self.place} {self.profile.name}{static}"


@dataclass(frozen=True, slots=True)
class Outside:
    """What a client acts upon."""

    timeline: Timeline
    oracle: Oracle
    network: Network
    seed: int


class Actor(ABC):
    """The part of a client that all share."""

    def __init__(self, role: Role, outside: Outside) -> None:
        self.role, self.outside = role, outside
        self.is_alive = True
        self.wakes_ms = 0
        self.member_id = MemberId("")
        self.owned: Partitions = frozenset()
        self.commits_refused = 0
        self.failure: ErrorCode | None = None
        self.chance = Random(f"client {outside.seed} {role.number}")
        self._positions: dict[TopicPartition, int] = {}
        self._commit_every_ms = self.chance.choice((300, 1_000, 5_000))
        self.identity = ClientIdentity(client_id=f"place-{role.place}", client_host=f"/10.0.0.{role.place + 1}")
        outside.oracle.enter(role.number, role.name, role.session_ms)

    @property
    def standing(self) -> Standing:
        """How the world sees the client."""
        return self.outside.oracle.standings[self.role.number]

    @property
    @abstractmethod
    def epoch(self) -> int:
        """The generation or member epoch that the client commits under."""

    @property
    @abstractmethod
    def is_settled(self) -> bool:
        """Whether the client has nothing to do but process and heartbeat."""

    def start(self) -> None:
        """Begin to live."""
        self.later(self._commit_every_ms, self._commit_again)

    @abstractmethod
    def leave(self) -> None:
        """Close in good order."""

    def resubscribe(self, topics: Iterable[TopicName]) -> None:
        """Read these topics from now on."""
        self.role = replace(self.role, topics=tuple(topics))
        self.note(f"wants {' '.join(self.role.topics)}")

    @abstractmethod
    def on_commit_refused(self, code: ErrorCode) -> None:
        """Hear that a commit was refused."""

    def die(self) -> None:
        """End, without a word."""
        self.note("ends")
        self.is_alive = False
        self.outside.oracle.release(self.role.number, self.owned)
        self.owned = frozenset()
        self.outside.network.cut(self.role.number)

    def fail(self, code: ErrorCode) -> None:
        """End as a client does that meets an error it can't live with."""
        self.failure = code
        self.note(f"fails with {code.name}")
        if not self.outside.oracle.may_be_unknown(self.role.number):
            raise InvariantBroken("nobody is driven into a fatal error", f"{self.role.name} by {code.name}")
        self.die()

    def pause(self, duration_ms: int) -> None:
        """Stand still, with everything that is owned."""
        self.note(f"pauses {duration_ms} ms")
        self.wakes_ms = max(self.wakes_ms, self.outside.timeline.now_ms + duration_ms)

    def later(self, delay_ms: int, action: Callable[[], None]) -> None:
        """Do something after a while, if still alive, and not before a pause is over."""
        self.outside.timeline.after(delay_ms, lambda: self._wake(action))

    def send(self, request: GroupRequest, then: Then, road: int = 0) -> None:
        """Ask the bridge; `then` gets the answer when the client is awake."""
        self.outside.network.send(self.role.number, road, request, lambda reply: self._wake(lambda: then(reply)))

    def note(self, what: str) -> None:
        """Leave a trace."""
        self.outside.oracle.note(self.role.name, what)

    def take(self, partitions: Iterable[TopicPartition]) -> None:
        """Start to process."""
        taken = frozenset(partitions)
        self.owned |= taken
        self.outside.oracle.take(self.role.number, taken)

    def drop(self, partitions: Partitions) -> None:
        """Stop to process, at once."""
        self.standing.treatment.revocations += bool(partitions)
        self.outside.oracle.release(self.role.number, partitions)
        self.owned -= partitions

    def give_up(self, partitions: Partitions, then: Callable[[], None]) -> None:
        """Commit, stop to process, and go on; the patient wait for the commit's answer in between."""
        if not partitions:
            then()
            return

        def stop(_reply: GroupReply | None) -> None:
            self.drop(partitions & self.owned)
            then()

        if self.role.profile.waits_for_last_commit:
            self._commit(partitions, stop)
        else:
            self._commit(partitions, self._on_committed(self.epoch))
            stop(None)

    def _wake(self, action: Callable[[], None]) -> None:
        if not self.is_alive:
            return
        if self.outside.timeline.now_ms < self.wakes_ms:
            self.outside.timeline.at(self.wakes_ms, lambda: self._wake(action))
        else:
            action()

    def _commit_again(self) -> None:
        if self.owned and self.epoch > 0:
            self._commit(self.owned, self._on_committed(self.epoch))
        self.later(self._commit_every_ms, self._commit_again)

    def _commit(self, partitions: Partitions, then: Then) -> None:
        road = COMMIT_ROAD if self.role.profile.commits_on_own_connection else 0
        self.send(self._commit_request(partitions), then, road)

    def _commit_request(self, partitions: Partitions) -> OffsetCommit:
        by_topic: dict[TopicName, list[PartitionCommit]] = {}
        for partition in sorted(partitions):
            position = self._positions[partition] = self._positions.get(partition, 0) + 1
            entry = PartitionCommit(partition=partition.partition, offset=position)
            by_topic.setdefault(partition.topic, []).append(entry)
        return OffsetCommit(
            group_id=GROUP,
            generation=self.epoch,
            member_id=self.member_id,
            instance_id=self.role.instance_id,
            topics=tuple(TopicCommit(name=name, partitions=tuple(entries)) for name, entries in by_topic.items()),
            knows_member_epoch=self.role.profile.is_native,
        )

    def _on_committed(self, epoch: int) -> Then:
        member_id = self.member_id

        def judge(reply: GroupReply | None) -> None:
            if not isinstance(reply, OffsetCommitReply):
                return
            codes = {entry.error for topic in reply.topics for entry in topic.partitions} - {ErrorCode.NONE}
            if codes:
                self.commits_refused += 1
                self.note(f"commit at {epoch} refused: {sorted(code.name for code in codes)}")
                if (member_id, epoch) == (self.member_id, self.epoch):
                    self.on_commit_refused(min(codes))

        return judge
