"""Requests that wait while their group is moved: as a whole until the end of its move, or member by member, each as
long as its broker certainly keeps the member's seat.
"""

from collections.abc import Callable, Mapping
from typing import Generic, Protocol, TypeVar

from bridge.coordinators.by_connection import Line
from bridge.coordinators.moving.requests import Held, Ways, is_farewell
from bridge.migration.moves.members import ClassicMember
from translators.dialects.classic import Heartbeat, HeartbeatReply, JoinGroup
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId, Via
from translators.dialects.messages import GroupRequest

CONSUMER_SESSION_MS = 45_000
"""Kafka's default of `group.consumer.session.timeout.ms`: no client says how long a consumer member's session is."""


class HeldRequest(Protocol):
    """A request as it came: by which connection, and when (monotonic milliseconds)."""

    @property
    def via(self) -> Via:
        """The connection that it came by."""
        ...

    @property
    def request(self) -> GroupRequest:
        """What is asked."""
        ...

    @property
    def at_ms(self) -> int:
        """When it came."""
        ...


HeldT = TypeVar("HeldT", bound=HeldRequest)


class HeldRequests(Generic[HeldT]):
    """What waits; a JoinGroup and a farewell wait for the end, anything else until it is excused."""

    def __init__(self, excuse: Callable[[HeldT], None]) -> None:
        """`excuse` answers one that has waited too long."""
        self._excuse = excuse
        self._held: Line[HeldT] = Line(lambda one: one.via.connection)

    def keep(self, held: HeldT) -> None:
        """Let a request wait."""
        self._held.append(held)

    def forget(self, connection: int) -> None:
        """A connection is gone, and nobody waits for its answers: only that somebody leaves still counts."""
        self._held.forget(connection, lambda one: is_farewell(one.request))

    def excuse(self, before_ms: int) -> None:
        """Answer what has waited since before then: its client's session goes on, and it can ask again.

        A farewell is not said twice.
        """

        def is_excused(one: HeldT) -> bool:
            return one.at_ms < before_ms and not (is_farewell(one.request) or isinstance(one.request, JoinGroup))

        for one in self._held.take(is_excused):
            self._excuse(one)

    def take(self) -> list[HeldT]:
        """Everything that waits, for whoever lets it go."""
        return self._held.take()


class Sessions:
    """Until when brokers certainly keep the seats of members that are being moved: a session from the last beat of each
    that its broker is known to have answered. A client whose seat may have been given to another must not be told that
    all is well.
    """

    def __init__(self, now_ms: Callable[[], int], members: Mapping[MemberId, ClassicMember]) -> None:
        """They are members now, as their broker said."""
        self._now_ms = now_ms
        self._session_ms = {one: min(member.session_timeout_ms, CONSUMER_SESSION_MS) for one, member in members.items()}
        self._kept_since_ms = dict.fromkeys(members, now_ms())
        self._sent: dict[MemberId, tuple[int, int]] = {}

    def beats(self, member_id: MemberId, via: Via, *, is_passed_on: bool) -> None:
        """A heartbeat came: by one connection clients send the next one when the one before was answered."""
        connection, sent_ms = self._sent.pop(member_id, (via.connection, 0))
        if connection == via.connection:
            self.answered(member_id, sent_ms)
        if is_passed_on:
            self._sent[member_id] = (via.connection, self._now_ms())

    def answered(self, member_id: MemberId, asked_ms: int) -> None:
        """Its broker answered what was asked then."""
        known_ms = self._kept_since_ms.get(member_id)
        if known_ms is not None:
            self._kept_since_ms[member_id] = max(known_ms, asked_ms)

    def may_have_ended(self, member_id: MemberId) -> bool:
        """Whether its broker may have given its partitions to others by now."""
        known_ms = self._kept_since_ms.get(member_id)
        return known_ms is not None and self._now_ms() >= known_ms + self._session_ms[member_id]


class Waiting:
    """Requests of members that are being asked for, and those of newcomers, which wait for the end.

    How many there can be the connections limit: each has so many unanswered requests at most.
    """

    def __init__(self, ways: Ways, sessions: Sessions, told_gone: Callable[[MemberId], None]) -> None:
        """`told_gone` hears of a member whose client was told that it is none any more (25)."""
        self._told_gone = told_gone
        self._ways = ways
        self._sessions = sessions
        self._of_members: dict[MemberId, list[Held]] = {}
        self._members_of: dict[int, set[MemberId]] = {}
        """Of which members something came by each connection that is there; it may have gone on since."""
        self._joins: Line[Held] = Line(lambda held: held.ref.connection)

    def hold(self, member_id: MemberId, held: Held) -> None:
        """Keep a request until `take` asks for those of its member."""
        self._of_members.setdefault(member_id, []).append(held)
        self._members_of.setdefault(held.ref.connection, set()).add(member_id)

    def hold_join(self, held: Held) -> None:
        """Keep the request of a newcomer until the end."""
        self._joins.append(held)

    def members(self) -> tuple[MemberId, ...]:
        """The members of which anything is kept."""
        return tuple(self._of_members)

    def take(self, member_id: MemberId) -> list[Held]:
        """What is kept of a member, in the order it came; it is somebody else's from now on."""
        return self._of_members.pop(member_id, [])

    def take_joins(self) -> list[Held]:
        """What newcomers asked and waited for the end."""
        return self._joins.take()

    def excuse(self, before_ms: int) -> None:
        """Answer what was kept since before then: a client's session goes on, whatever becomes of its request, as long
        as its broker certainly keeps its seat; heartbeats behind that are told at once that it is no member (25).
        """
        for held in self._joins.take(lambda held: held.at_ms < before_ms):
            self._ways.excuse(held)
        for member_id in self.members():
            self._answer(member_id, self._take_impatient(member_id, before_ms), self._ways.excuse)

    def excuse_all(self, member_id: MemberId, word: ErrorCode | None = None) -> None:
        """Answer what is kept of a member of which nothing will be known soon; `word` is what its broker said to what
        it was asked in its place. By the connection of a broker that coordinates no more nothing ever will be: were its
        client told that all is well, it would ask there until its session is over.
        """
        answer = self._ways.send_on if word is ErrorCode.NOT_COORDINATOR else self._ways.excuse
        self._answer(member_id, self._take_impatient(member_id, None), answer)

    def _answer(self, member_id: MemberId, late: list[Held], answer: Callable[[Held], None]) -> None:
        has_ended, is_told = self._sessions.may_have_ended(member_id), False
        for held in late:
            if has_ended and isinstance(held.request, Heartbeat):
                self._ways.deliver(held.ref, HeartbeatReply(ErrorCode.UNKNOWN_MEMBER_ID))
                is_told = True
            else:
                answer(held)
        if is_told:
            self._told_gone(member_id)

    def forget(self, connection: int) -> None:
        """A connection is gone, and nobody waits for its answers: only that somebody leaves still counts."""
        self._joins.forget(connection)
        for member_id in self._members_of.pop(connection, ()):
            kept = self._of_members.get(member_id, ())
            self._keep(member_id, [one for one in kept if one.ref.connection != connection or is_farewell(one.request)])

    def _take_impatient(self, member_id: MemberId, before_ms: int | None) -> list[Held]:
        """A farewell is not said twice: it waits for as long as it takes."""
        kept = self._of_members.get(member_id, [])
        late, left = list[Held](), list[Held]()
        has_ended = self._sessions.may_have_ended(member_id)
        for one in kept:
            is_late = before_ms is None or one.at_ms < before_ms or (has_ended and isinstance(one.request, Heartbeat))
            is_late = is_late and not is_farewell(one.request)
            (late if is_late else left).append(one)
        self._keep(member_id, left)
        return late

    def _keep(self, member_id: MemberId, kept: list[Held]) -> None:
        if kept:
            self._of_members[member_id] = kept
        else:
            self._of_members.pop(member_id, None)
