"""A coordinator moves in the middle of a generation, and three members come to the new one at any pace."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from bridge.telemetry.schema.facts import MemberLeft, RebalanceExplained
from bridge.telemetry.schema.terms import Cause, Departure
from tests.support.heard import Ears
from tests.support.passing_words import beat, beaten, join, joined, sync, synced
from translators.dialects.classic import JoinGroupReply, SyncGroupReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import RequestRef

FORMING_MS = 10
PACES_MS = (10, 1_000, 8_000)
"""How long one step takes: on a busy machine a client may come to its new coordinator much later than the others."""
SHARES = {"a": (0,), "b": (1,), "c": (), "d": ()}
Answer = JoinGroupReply | SyncGroupReply


@dataclass(slots=True)
class NewCoordinator:
    """Kafka's coordinator of a classic group, as far as these members go: it has generation 2 of `a` and `b` only."""

    deliver: Callable[[RequestRef, Answer], None]
    generation: int = 2
    members: set[str] = field(default_factory=lambda: {"a", "b"})
    pending: set[str] = field(default_factory=set)
    is_preparing: bool = False
    is_synced: bool = True
    joins: dict[str, RequestRef] = field(default_factory=dict)
    syncs: dict[str, RequestRef] = field(default_factory=dict)

    def join(self, ref: RequestRef, member: str) -> None:
        """A JoinGroup; "" is a newcomer, which is given the id `d` to come again with (KIP-394)."""
        if not member:
            self.pending.add("d")
            self.deliver(ref, joined("d", -1, error=ErrorCode.MEMBER_ID_REQUIRED))
        elif member not in self.members | self.pending:
            self.deliver(ref, joined(member, -1, error=ErrorCode.UNKNOWN_MEMBER_ID))
        elif member in self.members and member != "a" and not self.is_preparing:
            # A follower that wants nothing new is let in again as it is, in the generation that stands.
            self.deliver(ref, joined(member, self.generation, leader="a"))
        else:
            self._prepare()
            self.pending.discard(member)
            self.members.add(member)
            self.joins[member] = ref
            self._complete()

    def sync(self, ref: RequestRef, member: str, generation: int) -> None:
        """A SyncGroup; the leader's brings the shares."""
        if self.is_preparing or generation != self.generation:
            error = ErrorCode.REBALANCE_IN_PROGRESS if self.is_preparing else ErrorCode.ILLEGAL_GENERATION
            self.deliver(ref, synced(error=error))
            return
        self.syncs[member] = ref
        self.is_synced = self.is_synced or member == "a"
        if self.is_synced:
            for one, waiting in self.syncs.items():
                self.deliver(waiting, synced(*SHARES[one]))
            self.syncs.clear()

    def beat(self, generation: int) -> ErrorCode:
        """The answer to a Heartbeat of a member."""
        if generation != self.generation:
            return ErrorCode.ILLEGAL_GENERATION
        return ErrorCode.REBALANCE_IN_PROGRESS if self.is_preparing else ErrorCode.NONE

    def _prepare(self) -> None:
        if not self.is_preparing:
            self.is_preparing, self.is_synced = True, False
            for ref in self.syncs.values():
                self.deliver(ref, synced(error=ErrorCode.REBALANCE_IN_PROGRESS))
            self.syncs.clear()

    def _complete(self) -> None:
        if self.joins.keys() == self.members and not self.pending:
            self.generation, self.is_preparing = self.generation + 1, False
            joins, self.joins = self.joins, {}
            for member, ref in joins.items():
                names = tuple(sorted(self.members)) if member == "a" else ()
                self.deliver(ref, joined(member, self.generation, leader="a", members=names))


class Move:
    """Three clients after the move, each of which does what an answer makes it do when its turn comes."""

    def __init__(self, pace_ms: int) -> None:
        self.ears = Ears()
        self.coordinator = NewCoordinator(self._answer)
        self._pace_ms = pace_ms
        self._asked: dict[RequestRef, str] = {}
        self._heard: dict[str, Answer] = {}
        self._waiting: set[str] = set()
        self._ids = {"a": "a", "b": "b", "c": "c"}
        self._generation = dict.fromkeys(self._ids, 3)
        self._is_stable = dict.fromkeys(self._ids, False)
        self._form()

    def _form(self) -> None:
        """`a` and `b` have generation 2; then `c` comes, and nobody is answered in generation 3 any more."""
        ears = self.ears
        for generation, members in ((1, "a"), (2, "ab"), (3, "abc")):
            joins = {one: ears.ask(join(one)) for one in members}
            for one, ref in joins.items():
                names = tuple(members) if one == "a" else ()
                ears.answer_at(1, ref, joined(one, generation, leader="a", members=names))
            ears.now_ms += FORMING_MS
            if generation < 3:
                for one in members:
                    ears.answer_at(1, ears.ask(sync(one, generation)), synced(*SHARES[one]))
            ears.now_ms += FORMING_MS
        self.told_before = len(ears.log.events)

    def step(self, client: str) -> None:
        """One client acts, if it does not wait for an answer."""
        if client in self._waiting:
            return
        self.ears.now_ms += self._pace_ms
        if self._is_stable[client]:
            self._beat(client)
            return
        answer = self._heard.pop(client, None)
        match answer:
            case JoinGroupReply(error=ErrorCode.NONE):
                self._ids[client], self._generation[client] = str(answer.member_id), answer.generation
                self._sync(client)
            case SyncGroupReply(error=ErrorCode.NONE):
                self._is_stable[client] = True
            case JoinGroupReply(error=ErrorCode.UNKNOWN_MEMBER_ID):
                self._join(client, "")
            case JoinGroupReply(error=ErrorCode.MEMBER_ID_REQUIRED):
                self._join(client, str(answer.member_id))
            case _:
                self._join(client, self._ids[client])

    def finish(self) -> None:
        """All come to rest."""
        for client in "abc" * 12:
            self.step(client)
        assert all(self._is_stable.values())

    def causes(self) -> Iterator[Cause]:
        """What is said of the rebalances since the move."""
        for event in self.ears.log.events[self.told_before :]:
            if isinstance(event.fact, RebalanceExplained):
                yield event.fact.cause

    def departures(self) -> set[Departure]:
        """Why members are gone, as is said."""
        facts = [event.fact for event in self.ears.log.events]
        return {fact.departure for fact in facts if isinstance(fact, MemberLeft)}

    def _join(self, client: str, member: str) -> None:
        ref = self.ears.ask(join(member))
        self._asked[ref] = client
        self._waiting.add(client)
        self.coordinator.join(ref, member)

    def _sync(self, client: str) -> None:
        member, generation = self._ids[client], self._generation[client]
        shares = {one: SHARES[one] for one in self.coordinator.members} if member == "a" else {}
        ref = self.ears.ask(sync(member, generation, shares))
        self._asked[ref] = client
        self._waiting.add(client)
        self.coordinator.sync(ref, member, generation)

    def _beat(self, client: str) -> None:
        error = self.coordinator.beat(self._generation[client])
        self.ears.answer_at(2, self.ears.ask(beat(self._ids[client], self._generation[client])), beaten(error))
        self._is_stable[client] = error is ErrorCode.NONE

    def _answer(self, ref: RequestRef, answer: Answer) -> None:
        client = self._asked.pop(ref)
        self._waiting.discard(client)
        self._heard[client] = answer
        self.ears.answer_at(2, ref, answer)


def _told(causes: Sequence[Cause]) -> list[Cause]:
    """One for each that comes again at once."""
    return [one for place, one in enumerate(causes) if not place or causes[place - 1] is not one]


@given(st.lists(st.sampled_from("abc"), max_size=12), st.sampled_from(PACES_MS))
def test_nobody_expires_who_only_comes_late_to_a_new_coordinator(order: list[str], pace_ms: int) -> None:
    """The newcomer was in no generation that was written: it is forgotten, and what follows is a move and a join."""
    move = Move(pace_ms)
    for client in order:
        move.step(client)
    move.finish()
    assert move.departures() <= {Departure.VANISHED}
    assert _told([*move.causes()]) in (
        [Cause.JOIN, Cause.COORDINATOR_MOVED],
        [Cause.JOIN, Cause.COORDINATOR_MOVED, Cause.JOIN],
    )
