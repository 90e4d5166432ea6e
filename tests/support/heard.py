"""A follower with a log in memory, alone or at the ears of a group owner; what it says is told in short lines."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

from bridge.coordinators.arrivals import MembershipRequest
from bridge.coordinators.exchange import TurnResult
from bridge.engine.settings import EngineSettings
from bridge.engine.state import Shard
from bridge.telemetry.cause.explain import explain
from bridge.telemetry.following.follower import Follower
from bridge.telemetry.following.topic_names import TopicBook
from bridge.telemetry.observing import EngineWatcher, Guard
from bridge.telemetry.schema.facts import (
    CommitPassed,
    Event,
    Fact,
    MemberFact,
    MemberLeft,
    MemberTold,
    PartitionsAssigned,
    PartitionsFetched,
    PartitionsReleased,
    PartitionsTold,
    PhaseBegan,
    PhaseEnded,
    RebalanceEnded,
    Stamp,
)
from bridge.telemetry.schema.terms import Road
from tests.support.owned_group import CLIENT, OwnedGroup
from translators.dialects.ids import ClientIdentity, RequestRef
from translators.dialects.messages import GroupReply, GroupRequest

MS = 1_000


@dataclass(slots=True)
class MemoryLog:
    """Keeps events; what is to be made later is made at once."""

    events: list[Event] = field(default_factory=list)

    def say(self, fact: Fact, at_us: int) -> Event:
        """Keep a fact."""
        event = Event(Stamp("7f", len(self.events) + 1, at_us, at_us), fact)
        self.events.append(event)
        return event

    def say_later(self, make: Callable[[], Fact | None], at_us: int) -> None:
        """Make and keep a fact."""
        fact = make()
        if fact is not None:
            self.say(fact, at_us)

    def lines(self, member_id: str | None = None) -> list[str]:
        """The facts in short, of one member or all."""
        facts = [event.fact for event in self.events]
        if member_id is not None:
            facts = [fact for fact in facts if isinstance(fact, MemberFact) and fact.member_id == member_id]
        return [short(fact) for fact in facts]

    def of(self, kind: type[Fact]) -> list[Fact]:
        """The facts of one kind."""
        return [event.fact for event in self.events if isinstance(event.fact, kind)]


def short(fact: Fact) -> str:
    """A fact in a few words."""
    match fact:
        case PhaseBegan(phase=phase, waits_on=waits_on):
            return " ".join(["begins", phase.value, *waits_on])
        case PhaseEnded(phase=phase):
            return f"ends {phase.value}"
        case MemberTold(news=news, carrier=carrier):
            return f"told {news.value} by {carrier.value}"
        case MemberLeft(departure=departure):
            return f"left {departure.value}"
        case RebalanceEnded(outcome=outcome):
            return f"rebalance-ended {outcome.value}"
        case PartitionsAssigned() | PartitionsReleased() | PartitionsTold() | PartitionsFetched() | CommitPassed():
            return " ".join([fact.kind, *fact.partitions])
    return fact.kind


class Ears:
    """A follower and its log; time stands where `now_ms` says."""

    def __init__(self, shard: Shard | None = None) -> None:
        self.log = MemoryLog()
        self.now_ms = 0
        self.topics = TopicBook()
        shard = shard or Shard(settings=EngineSettings(), assignors={})
        self.follower = Follower("7f", self.log, explain, self.topics, shard)
        self._sequence = count(1)

    @property
    def now_us(self) -> int:
        """The time in microseconds."""
        return self.now_ms * MS

    def ask(self, request: GroupRequest, connection: int = 1, client: ClientIdentity = CLIENT) -> RequestRef:
        """A request passes on road `pass`."""
        ref = RequestRef(0, connection, next(self._sequence))
        self.follower.spoke(connection, self.now_us)
        self.follower.asked(ref, client, request, Road.PASSING, self.now_us)
        return ref

    def answer(self, ref: RequestRef, reply: GroupReply) -> None:
        """Its answer passes."""
        self.follower.answered(ref, reply, self.now_us)

    def answer_at(self, broker_id: int, ref: RequestRef, reply: GroupReply) -> None:
        """Its answer passes, from this broker."""
        self.follower.served(ref, reply, broker_id, self.now_us)
        self.answer(ref, reply)

    def pass_by(self, request: GroupRequest, reply: GroupReply) -> None:
        """A request passes, and its answer at once."""
        self.answer(self.ask(request), reply)


class HeardGroup(OwnedGroup):
    """A group owner that is overheard."""

    def __init__(self, partitions: int = 6, settings: EngineSettings | None = None) -> None:
        super().__init__(partitions, settings)
        self.ears = Ears(self.owner.shard)
        self.guard = Guard()
        self.ears.follower.revived(0)
        self.owner.watch(EngineWatcher(self.ears.follower, self.guard, lambda: self.now_ms * MS))
        self._numbers = count(1)

    @property
    def log(self) -> MemoryLog:
        """What was said."""
        return self.ears.log

    def send(self, *requests: MembershipRequest, client: ClientIdentity = CLIENT) -> list[RequestRef]:
        """See `OwnedGroup`; each request is heard first."""
        number = next(self._numbers)
        for request in requests:
            self.ears.follower.asked(RequestRef(0, number, number), client, request, Road.EMBEDDED, self.now_ms * MS)
            number = next(self._numbers) if request is not requests[-1] else number
        return super().send(*requests, client=client)

    def _keep(self, result: TurnResult) -> None:
        super()._keep(result)
        if hasattr(self, "ears"):
            for ref, reply in result.replies:
                self.ears.follower.answered(ref, reply, self.now_ms * MS)
