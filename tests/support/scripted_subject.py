"""A subject that notes what reaches it and answers only when told to."""

from collections.abc import Iterable, Sequence

from bridge.engine.settings import EngineSettings
from bridge.engine.state import Shard
from tests.support.simulation.subject import Delivery, Surroundings
from translators.dialects.ids import RequestRef, Topic
from translators.dialects.offsets import OffsetCommit, OffsetCommitReply


class ScriptedSubject:
    """Everything it is told, in order; its one deadline is set by hand."""

    def __init__(self, surroundings: Surroundings) -> None:
        self.surroundings = surroundings
        self.turns: list[tuple[Delivery, ...]] = []
        self.heard: list[str] = []
        self.broker_answers: list[OffsetCommitReply | None] = []
        self.deadline_ms: int | None = None

    @property
    def shard(self) -> Shard:
        """An empty one."""
        return Shard(settings=EngineSettings(), assignors={})

    def take_turn(self, deliveries: Sequence[Delivery]) -> None:
        """Note a turn."""
        self.turns.append(tuple(deliveries))
        self.heard.append("turn")

    def commit(self, ref: RequestRef, request: OffsetCommit) -> None:
        """Pass a commit on at once."""
        self.heard.append("commit")
        self.surroundings.ask_broker(ref, request, self.broker_answers.append)

    def change_topics(self, topics: Iterable[Topic]) -> None:
        """Note topics."""
        self.heard.append("topics " + " ".join(f"{topic.name}:{topic.partition_count}" for topic in topics))

    def lose_connection(self, connection: int) -> None:
        """Note a loss."""
        self.heard.append(f"lost {connection}")

    def next_deadline_ms(self) -> int | None:
        """The deadline."""
        return self.deadline_ms

    def pass_deadlines(self) -> None:
        """Note when, and have none any more."""
        self.heard.append(f"deadline {self.surroundings.now_ms()}")
        self.deadline_ms = None
