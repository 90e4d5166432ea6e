"""A group whose members are moved one by one, there or back: what waits meanwhile, and what ends such a move."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Generic

from bridge.coordinators.by_connection import OfConnections
from bridge.coordinators.moving.course import InTurn
from bridge.coordinators.moving.held_requests import Sessions, Waiting
from bridge.coordinators.moving.progress import Progress
from bridge.coordinators.moving.requests import Held
from bridge.coordinators.moving.surroundings import Around
from bridge.migration.moves.members import ClassicMember
from bridge.migration.moves.one_by_one import TOLD_GONE, GaveUp, Stopped, ToldGone
from bridge.session.contracts import BrokerAccess
from translators.dialects.coordinator import Refused
from translators.dialects.ids import NOWHERE, GroupId, MemberId, Via
from translators.machine import EventT


class OneByOne(ABC, Generic[EventT]):
    """What every such move does with time and with what waits; `EventT` is what else can happen to its members.

    Where a request goes, and what a step asks for, is the move's own.
    """

    def __init__(
        self, around: Around, progress: Progress, group_id: GroupId, members: Mapping[MemberId, ClassicMember]
    ) -> None:
        self.is_over: Callable[[], None] = lambda: None
        """Called once everybody has come to an end."""
        self._around = around
        self._ways = around.ways
        self._upstream = around.upstream
        self._mapped = around.mapped
        self._progress = progress
        self._group_id = group_id
        self._members = dict(members)
        self._has_ended = False
        self._vias: OfConnections[MemberId, Via] = OfConnections(lambda via: via.connection)
        self._sessions = Sessions(around.now_ms, self._members)
        self._waiting = Waiting(around.ways, self._sessions, self._note_told_gone)
        self._in_turn: InTurn[EventT | ToldGone | Stopped | GaveUp] = InTurn(self._step)

    def stop(self, reason: Refused) -> None:
        """Move nobody else; who may have been moved already is waited for."""
        self._happen(Stopped(reason))
        self._end_if_over()

    def give_up(self) -> None:
        """Whoever was not heard, or is not answered, for so long is nobody's: its broker ends it by its session."""
        self._happen(GaveUp())
        self._end_if_over()

    def excuse(self, before_ms: int) -> None:
        """Answer what was held since before then (monotonic milliseconds)."""
        self._waiting.excuse(before_ms)

    def take_joins(self) -> list[Held]:
        """The JoinGroups that waited for the end; they are somebody else's to let go."""
        return self._waiting.take_joins()

    def via_of(self, member_id: MemberId) -> Via:
        """By which connection a member was heard last."""
        return self._vias.get(member_id, NOWHERE)

    def _access_of(self, member_id: MemberId) -> BrokerAccess:
        return self._ways.access(self.via_of(member_id))

    def _happen(self, event: EventT | ToldGone | Stopped | GaveUp) -> None:
        """Take a step; what happens meanwhile waits for its end."""
        if self._in_turn.take(event):
            self._let_go_where_known()

    def _note_told_gone(self, member_id: MemberId, reason: Refused = TOLD_GONE) -> None:
        """The move waited for such a member for two sessions, and as long the JoinGroup of its client."""
        self._happen(ToldGone(member_id, reason))
        self._end_if_over()

    def _end_if_over(self) -> None:
        if not self._has_ended and self._all_have_ended:
            self._has_ended = True
            self.is_over()

    @property
    @abstractmethod
    def _all_have_ended(self) -> bool:
        """Whether every member has come to an end."""

    @abstractmethod
    def _step(self, event: EventT | ToldGone | Stopped | GaveUp) -> None:
        """Have the machine take a step, and carry out what it asks for."""

    @abstractmethod
    def _let_go_where_known(self) -> None:
        """Let requests go on whose member's place is known by now."""
