"""Requests on their way into the owner's turn: a join may wait for the broker's word, what follows waits behind it, and
those that no client sent are answered to the task that asked, and to no connection.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count

import trio

from bridge.coordinators.arrivals import Arrival, request_fields, seats_named
from bridge.coordinators.embedded.join_checks import JoinChecks, Questions, is_join
from bridge.coordinators.embedded.owner import EmbeddedOwner
from bridge.coordinators.embedded.regular_expressions import Look
from bridge.engine.outcome import Converted, NotConverted
from bridge.session.contracts import Deliver
from bridge.supervision import LOOK_UP, Failures, start_guarded
from translators.dialects.classic import Heartbeat, JoinGroup
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.errors import ErrorCode, Refusal
from translators.dialects.ids import JOIN_EPOCH, ClientIdentity, GroupId, MemberRef, RequestRef
from translators.dialects.messages import GroupReply, GroupRequest

WAITING_MAX = 10_000
"""How many requests may wait for the broker's word at once; further ones are refused."""

Seat = tuple[GroupId, str]


class WaitingRequests:
    """Requests by what they wait for; a member's requests are given back in the order they came."""

    def __init__(self, waiting_max: int = WAITING_MAX) -> None:
        self._lines: dict[RequestRef, list[Arrival]] = {}
        self._first_of: dict[Seat, RequestRef] = {}
        self._seats: dict[RequestRef, list[Seat]] = {}
        self._lines_of: dict[int, dict[RequestRef, None]] = {}
        """In which lines each connection has requests: to look through all of them for each of 10,000 clients that hang
        up at once took a quarter of a minute.
        """
        self._held_max = waiting_max
        self._count = 0

    def __len__(self) -> int:
        """How many requests wait."""
        return self._count

    @property
    def is_full(self) -> bool:
        """Whether no further request may wait."""
        return self._count >= self._held_max

    def begin(self, arrival: Arrival) -> None:
        """A request waits for a look of its own."""
        self._lines[arrival.ref] = []
        self.follow(arrival.ref, arrival)

    def leader_of(self, arrival: Arrival) -> RequestRef | None:
        """The waiting request behind which this one belongs, None if it need not wait."""
        firsts = (self._first_of.get(seat) for seat in seats_named(arrival.request))
        return next((first for first in firsts if first is not None), None)

    def follow(self, leader: RequestRef, arrival: Arrival) -> None:
        """A request waits behind another of the same member."""
        self._lines[leader].append(arrival)
        self._lines_of.setdefault(arrival.ref.connection, {})[leader] = None
        self._count += 1
        self._claim(arrival, leader)

    def end(self, leader: RequestRef) -> Iterator[Arrival]:
        """The look is done: what waited, in order; the first is the one that began it unless its client is gone."""
        line = self._lines.pop(leader, [])
        self._count -= len(line)
        for connection in {arrival.ref.connection for arrival in line}:
            lines = self._lines_of[connection]
            del lines[leader]
            if not lines:
                del self._lines_of[connection]
        for seat in self._seats.pop(leader, ()):
            del self._first_of[seat]
        yield from line

    def forget(self, connection: int) -> None:
        """A connection is gone, and nobody waits for its requests; those of others stay."""
        for leader in self._lines_of.pop(connection, ()):
            line = self._lines[leader]
            kept = [arrival for arrival in line if arrival.ref.connection != connection]
            self._count -= len(line) - len(kept)
            line[:] = kept

    def _claim(self, arrival: Arrival, leader: RequestRef) -> None:
        for seat in seats_named(arrival.request):
            if seat not in self._first_of:
                self._first_of[seat] = leader
                self._seats.setdefault(leader, []).append(seat)


LOG = logging.getLogger("epochbridge.coordinators")
STARTING = Refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE, "the bridge is still starting")
_CUT_OFF = Refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE, "the look at the broker failed")
_FULL = Refusal(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "too many requests wait for the broker's word already")
_NO_TOPIC_IDS = Refusal(
    ErrorCode.UNSUPPORTED_VERSION,
    "the brokers' Metadata names no topic ids, which the consumer protocol needs; use group.protocol=classic",
)
Admit = Callable[[Arrival], None]
Refuse = Callable[[RequestRef, ClientIdentity, GroupRequest, Refusal], None]


class Joins:
    """Takes the requests of members in the order they come and hands on those that nothing holds up."""

    def __init__(
        self,
        owner: EmbeddedOwner,
        checks: JoinChecks,
        supervised: Failures,
        admit: Admit,
        refuse: Refuse,
    ) -> None:
        self.waiting = WaitingRequests()
        self._owner = owner
        self._checks = checks
        self._supervised = supervised
        self._admit = admit
        self._refuse = refuse
        self._nursery: trio.Nursery | None = None
        self.waits: Callable[[], Refusal | None] = lambda: None
        """Says why nothing can be asked of the broker now; None where it can."""

    def begin(self, nursery: trio.Nursery) -> None:
        """Looks at the broker run here from now on."""
        self._nursery = nursery

    def take(self, arrival: Arrival) -> None:
        """Let a request wait for the broker's word if it has to, or behind one of the same member that does.

        A heartbeat waits for nothing: it must stay answerable while its member joins.
        """
        request = arrival.request
        leader = None if isinstance(request, Heartbeat) else self.waiting.leader_of(arrival)
        if leader is not None:
            if self._may_wait(arrival):
                self.waiting.follow(leader, arrival)
            return
        if isinstance(request, (JoinGroup, ConsumerGroupHeartbeat)) and is_join(request):
            waits = self.waits()
            if waits is not None:
                self._take_without_broker(arrival, request, waits)
                return
            key = MemberRef(request.group_id, request.member_id)
            is_uncalled = isinstance(request, JoinGroup) and self._owner.machines.is_at_rest(key)
            questions = self._checks.questions(request, is_uncalled=is_uncalled)
            if questions.pattern and self._owner.would_refuse(arrival.client, request):
                # What it matches is written down, and forgotten with the refusal: two entries for each that asks.
                questions = replace(questions, pattern="")
            questions = self._with_rights(arrival, questions)
            if questions and not (questions.worth_a_look and self.waiting.is_full):
                self._begin_look(arrival, questions)
                return
        elif isinstance(request, ConsumerGroupHeartbeat) and self.waits() is None:
            nothing = Questions(request.group_id, asks_members=False, asks_topics=False)
            if questions := self._with_rights(arrival, nothing):
                self._begin_look(arrival, questions)
                return
        self._let_in(arrival)

    def _with_rights(self, arrival: Arrival, questions: Questions) -> Questions:
        """The questions with that what of its pattern its member's group may see, where that is to be asked."""
        request = arrival.request
        if questions.pattern or not isinstance(request, ConsumerGroupHeartbeat) or self.waiting.is_full:
            # Who is a member already is not refused because too many wait.
            return questions
        due = self._checks.rights.due(arrival.ref, request)
        # Whose heartbeat is refused resolves nothing for others.
        return (
            replace(questions, pattern=due)
            if due and not self._owner.would_refuse(arrival.client, request)
            else questions
        )

    def _take_without_broker(
        self, arrival: Arrival, request: JoinGroup | ConsumerGroupHeartbeat, waits: Refusal
    ) -> None:
        """A client that lost its connection says all over again what it subscribes to (Java's): that is no join."""
        if isinstance(request, ConsumerGroupHeartbeat) and self._says_nothing_new(request):
            self._let_in(arrival)
        else:
            self._refuse(arrival.ref, arrival.client, arrival.request, waits)

    def _says_nothing_new(self, request: ConsumerGroupHeartbeat) -> bool:
        group = self._owner.shard.groups.get(request.group_id)
        member = None if group is None else group.members.get(request.member_id)
        if member is None or request.member_epoch <= JOIN_EPOCH:
            return False
        known, names = member.subscription, request.subscribed_topic_names
        has_same_names = names is None or frozenset(names) == known.names
        return has_same_names and (request.subscribed_topic_regex or None) in {None, known.pattern}

    def _begin_look(self, arrival: Arrival, questions: Questions) -> None:
        if self._nursery is None:
            self._refuse(arrival.ref, arrival.client, arrival.request, STARTING)
        elif self._may_wait(arrival):
            self.waiting.begin(arrival)
            start_guarded(self._nursery, self._supervised, LOOK_UP, partial(self._look_up, arrival, questions))

    def _may_wait(self, arrival: Arrival) -> bool:
        if self.waiting.is_full:
            self._refuse(arrival.ref, arrival.client, arrival.request, _FULL)
            return False
        return True

    async def _look_up(self, arrival: Arrival, questions: Questions) -> None:
        refusal: Refusal | None = _CUT_OFF
        try:
            judge = partial(self._owner.shares.foresee, arrival)
            refusal = await self._checks.ask(questions, judge, self._look_at_rights(arrival))
        except Exception as problem:
            self._supervised.count(LOOK_UP)
            fields = request_fields(arrival.request, arrival.client)
            LOG.exception("EB-GROUP-002: the broker could not be asked for group %r", questions.group_id, extra=fields)
            refusal = replace(_CUT_OFF, reason=f"{_CUT_OFF.reason}: {problem!r}")
        finally:
            for waiting in self.waiting.end(arrival.ref):
                verdict = refusal if waiting is arrival else None
                self._supervised.spare(LOOK_UP, partial(self._go_on, waiting, verdict, is_judged=waiting is arrival))

    def _look_at_rights(self, arrival: Arrival) -> Look | None:
        request = arrival.request
        if not isinstance(request, ConsumerGroupHeartbeat):
            return None
        return partial(self._checks.rights.look, arrival.ref, request)

    def _go_on(self, arrival: Arrival, refusal: Refusal | None, *, is_judged: bool) -> None:
        if not is_judged:
            self.take(arrival)
        elif refusal is None:
            self._let_in(arrival)
        else:
            self._refuse(arrival.ref, arrival.client, arrival.request, refusal)

    def _let_in(self, arrival: Arrival) -> None:
        request = arrival.request
        is_native = isinstance(request, ConsumerGroupHeartbeat) and request.member_epoch >= JOIN_EPOCH
        if is_native and not self._owner.catalog.has_ids:
            self._refuse(arrival.ref, arrival.client, request, _NO_TOPIC_IDS)
        elif isinstance(request, ConsumerGroupHeartbeat):
            self._admit(replace(arrival, request=self._checks.rights.with_hidden(request)))
        else:
            self._admit(arrival)


OWN_CONNECTION = -1
"""The number of a connection that no client has."""


@dataclass(slots=True)
class _Open:
    replies: list[GroupReply] = field(default_factory=list)
    verdict: Converted | NotConverted | None = None
    answered: trio.Event = field(default_factory=trio.Event)


class OwnRequests:
    """Stands where answers go out, and keeps those that are its own."""

    def __init__(self, deliver: Deliver) -> None:
        self._deliver = deliver
        self._open: dict[RequestRef, _Open] = {}
        self._sequence = count(1)

    def __len__(self) -> int:
        """How many answers are waited for."""
        return len(self._open)

    def deliver(self, ref: RequestRef, reply: GroupReply) -> None:
        """Hand an answer on; one of our own that nobody waits for any more is dropped."""
        if ref.connection != OWN_CONNECTION:
            self._deliver(ref, reply)
            return
        waiting = self._open.get(ref)
        if waiting is not None:
            waiting.replies.append(reply)
            waiting.answered.set()

    def judge(self, ref: RequestRef, verdict: Converted | NotConverted) -> None:
        """Remember what became of an order, until the answer tells that it is durable."""
        waiting = self._open.get(ref)
        if waiting is not None:
            waiting.verdict = verdict

    async def ask(self, submit: Callable[[RequestRef], None]) -> GroupReply:
        """Give the answer to what `submit` sends on its way under the reference it gets."""
        return (await self._wait(submit)).replies[0]

    async def order(self, submit: Callable[[RequestRef], None]) -> Converted | NotConverted | None:
        """Give what became of an order, None if it was not carried out at all."""
        return (await self._wait(submit)).verdict

    async def _wait(self, submit: Callable[[RequestRef], None]) -> _Open:
        ref = RequestRef(0, OWN_CONNECTION, next(self._sequence))
        waiting = self._open[ref] = _Open()
        try:
            submit(ref)
            await waiting.answered.wait()
        finally:
            del self._open[ref]
        return waiting
