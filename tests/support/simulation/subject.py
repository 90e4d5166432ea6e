"""What a world needs of the bridge it tests, and gives it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from bridge.engine.settings import EngineSettings
from bridge.engine.state import Shard
from translators.dialects.classic import Heartbeat, JoinGroup, LeaveGroup, SyncGroup
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.ids import ClientIdentity, RequestRef, Topic
from translators.dialects.messages import GroupReply
from translators.dialects.offsets import OffsetCommit, OffsetCommitReply

MembershipRequest = JoinGroup | SyncGroup | Heartbeat | LeaveGroup | ConsumerGroupHeartbeat
OnCommitted = Callable[[OffsetCommitReply | None], None]


@dataclass(frozen=True, slots=True)
class Delivery:
    """A request of a client that has reached the bridge."""

    ref: RequestRef
    client: ClientIdentity
    request: MembershipRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a subject is given: settings, the clock, a way for answers, and the broker, whose answer None is a lost
    connection.
    """

    settings: EngineSettings
    no_assignment_before_ms: int
    first_id: int
    now_ms: Callable[[], int]
    answer: Callable[[RequestRef, GroupReply], None]
    ask_broker: Callable[[RequestRef, OffsetCommit, OnCommitted], None]


class Subject(Protocol):
    """A bridge without its shell; the world is the shell and calls it."""

    @property
    def shard(self) -> Shard:
        """The engine's state, to look at."""
        ...

    def take_turn(self, deliveries: Sequence[Delivery]) -> None:
        """Carry out everything that is queued, as one batch."""
        ...

    def commit(self, ref: RequestRef, request: OffsetCommit) -> None:
        """Take a commit."""
        ...

    def change_topics(self, topics: Iterable[Topic]) -> None:
        """The cluster has these topics now."""
        ...

    def lose_connection(self, connection: int) -> None:
        """A connection is gone."""
        ...

    def next_deadline_ms(self) -> int | None:
        """When `pass_deadlines` has to be called."""
        ...

    def pass_deadlines(self) -> None:
        """Do what is due."""
        ...


MakeSubject = Callable[[Surroundings], Subject]
