"""The pure engine with the bridge's own follower at its side: what it decides is logged as a bridge would."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bridge.engine.advance import advance
from bridge.engine.apply import apply
from bridge.engine.assignors.registry import registry
from bridge.engine.commands import (
    ClassicHeartbeat,
    ClassicJoin,
    ClassicLeave,
    ClassicSync,
    Command,
    MemberHeartbeat,
    PassDeadlines,
)
from bridge.engine.model import DeadlineKey, DeadlineKind
from bridge.engine.outcome import MemberAnswer, Message, Outcome
from bridge.engine.queries import next_deadline
from bridge.engine.records import DeadlineSet
from bridge.engine.settings import EngineSettings
from bridge.engine.state import Shard
from bridge.telemetry.cause.explain import explain
from bridge.telemetry.following.follower import Follower
from bridge.telemetry.following.topic_names import TopicBook
from bridge.telemetry.schema.facts import Event, Fact, Stamp
from bridge.telemetry.schema.terms import Road
from translators.dialects.classic import ClassicReply
from translators.dialects.consumer import ConsumerGroupHeartbeatReply
from translators.dialects.ids import ClientIdentity, GroupId, MemberId, RequestRef, TopicPartition
from translators.dialects.messages import GroupRequest

FAR_MS = 2**62
"""Later than anything: the session of a member that lives."""
SESSIONS = frozenset((DeadlineKind.SESSION, DeadlineKind.CLASSIC_SESSION))
Reply = ClassicReply | ConsumerGroupHeartbeatReply
ClientCommand = MemberHeartbeat | ClassicJoin | ClassicSync | ClassicHeartbeat | ClassicLeave
"""Commands that a client's request is."""
OnReply = Callable[[Reply], None]


@dataclass(slots=True)
class Log:
    """The facts told so far, as one run of a bridge would stamp them."""

    boot: str
    began_us: int
    events: list[Event] = field(default_factory=list)

    def say(self, fact: Fact, at_us: int) -> Event:
        """Take a fact (`following.fact_writer.Log`)."""
        event = Event(Stamp(self.boot, len(self.events) + 1, at_us, at_us - self.began_us), fact)
        self.events.append(event)
        return event

    def say_later(self, make: Callable[[], Fact | None], at_us: int) -> None:
        """Take a fact that somebody else could make."""
        fact = make()
        if fact is not None:
            self.say(fact, at_us)


@dataclass(frozen=True, slots=True)
class Request:
    """A request with the command that it is for the engine, and who waits for its answer."""

    identity: ClientIdentity
    request: GroupRequest
    command: ClientCommand
    on_reply: OnReply


class Coordinator:
    """One group's engine."""

    def __init__(self, group_id: GroupId, settings: EngineSettings, began_us: int) -> None:
        self.shard = Shard(settings=settings, assignors=registry)
        self.log = Log(f"replay-{group_id}", began_us)
        self.living: set[MemberId] = set()
        """Members that heartbeat in time, whatever else happens."""
        self.on_turn: Callable[[Outcome], None] = lambda _outcome: None
        """Hears of every turn, after its answers."""
        self._follower = Follower(self.log.boot, self.log, explain, TopicBook(), self.shard)
        self._open: dict[RequestRef, OnReply] = {}
        self._sequence = 0

    def ref(self, connection: int) -> RequestRef:
        """A new place for an answer."""
        self._sequence += 1
        return RequestRef(0, connection, self._sequence)

    def ask(self, requests: Sequence[Request], at_us: int) -> None:
        """Carry requests out in one turn; their answers come now or in a later one."""
        for one in requests:
            ref = one.command.ref
            assert isinstance(ref, RequestRef), "a play has clients only, and no machines that ask"
            self._open[ref] = one.on_reply
            self._follower.asked(ref, one.identity, one.request, Road.EMBEDDED, at_us)
        self.turn([one.command for one in requests], at_us)

    def turn(self, commands: Sequence[Command], at_us: int) -> None:
        """One turn of the engine."""
        outcome = advance(self.shard, commands, at_us // 1_000)
        if outcome.notices or any(record.durable for record in outcome.records):
            self._follower.advanced(outcome, at_us)
        self._keep_alive(outcome)
        for ref, message in outcome.replies:
            self._answer(ref, message, at_us)
        self.on_turn(outcome)

    def fetched(self, identity: ClientIdentity, partitions: frozenset[TopicPartition], at_us: int) -> None:
        """A client fetched from these."""
        self._follower.fetched(identity, partitions, is_incremental=False, at_us=at_us)

    def lost(self, connection: int, at_us: int) -> None:
        """A client's connection is gone."""
        self._follower.lost(connection, at_us)

    def next_deadline_us(self) -> int | None:
        """When something is due by itself, None for nothing."""
        at_ms = next_deadline(self.shard)
        return None if at_ms is None or at_ms >= FAR_MS else at_ms * 1_000

    def pass_deadlines(self, at_us: int) -> None:
        """Do what is due."""
        self.turn([PassDeadlines()], at_us)

    def expire_at(self, key: DeadlineKey, at_ms: int) -> None:
        """A member lives no more: its session ends then."""
        self.living.discard(key.member_id)
        if key in self.shard.deadlines.due:
            apply(self.shard, DeadlineSet(key, at_ms))

    def _keep_alive(self, outcome: Outcome) -> None:
        """The heartbeats that change nothing need not be played if sessions can't end for want of them."""
        for record in outcome.records:
            if isinstance(record, DeadlineSet) and record.key.kind in SESSIONS and record.key.member_id in self.living:
                apply(self.shard, DeadlineSet(record.key, FAR_MS))

    def _answer(self, ref: object, message: Message, at_us: int) -> None:
        reply = message.reply if isinstance(message, MemberAnswer) else message
        assert isinstance(ref, RequestRef), "a play has clients only, and no machines that ask"
        assert isinstance(reply, Reply), "so nobody is answered but them"
        self._follower.answered(ref, reply, at_us)
        self._open.pop(ref)(reply)
