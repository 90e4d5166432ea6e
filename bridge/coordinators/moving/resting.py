"""A group that stands at its broker and is moved as a whole: its requests pass on until it is proved to be at rest."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Generic

import trio

from bridge.coordinators.mapped.seats import MappedSeat
from bridge.coordinators.moving.descriptions import describe
from bridge.coordinators.moving.held_requests import HeldRequests, HeldT
from bridge.coordinators.moving.proof import ProofOfRest
from bridge.coordinators.moving.requests import joins_natively
from bridge.coordinators.moving.survey import hold_ms_of
from bridge.migration.moves.members import ClassicMember
from bridge.migration.orders import MemberStage, Obstacle
from bridge.migration.roster import Roster
from bridge.ports import Broker, BrokerUnreachable
from bridge.session.contracts import Access
from translators.dialects.admin import DescribedGroup
from translators.dialects.classic import JoinGroup
from translators.dialects.consumer import DescribedConsumerGroup
from translators.dialects.ids import GroupId, MemberId, Via


@dataclass(frozen=True, slots=True, kw_only=True)
class RestingWays(Generic[HeldT]):
    """Who is asked meanwhile, whatever the move is.

    `pass_on` lets a request go to its broker, mapped if its member is; `excuse` answers one that has waited too long;
    `note` hears how far a member has come, with what its client sees of it; `now_ms` is monotonic.
    """

    pass_on: Callable[[HeldT], None]
    excuse: Callable[[HeldT], None]
    note: Callable[[MemberId, MemberStage, str], None]
    access: Access
    now_ms: Callable[[], int]


class RestingGroup(Generic[HeldT]):
    """What every such move does with requests (`groups.Underway`); its course is the move's own.

    `seats` are the members that their broker knows by other words than their clients.
    """

    def __init__(
        self,
        group_id: GroupId,
        members: Mapping[MemberId, ClassicMember],
        seats: Mapping[MemberId, MappedSeat],
        ways: RestingWays[HeldT],
    ) -> None:
        self._group_id = group_id
        self._members = members
        self._hold_ms = hold_ms_of(members.values()) if members else 0
        self._proof = ProofOfRest(group_id, members, seats, ways.access)
        self._ways = ways
        self._waiting = HeldRequests(ways.excuse)
        self._holds_since_ms: int | None = None

    # ------------------------------------------------------------------ what comes meanwhile

    def meet(self, roster: Roster) -> None:
        """Begin with what was heard of the members before."""
        self._proof.meet(roster)

    def comes_by(self, vias: Iterable[Via]) -> None:
        """Something of the group came by these connections before, perhaps not that of its joins."""
        self._proof.comes_by(vias)

    def take(self, held: HeldT) -> None:
        """See `groups.Underway`."""
        is_newcomer = isinstance(held.request, JoinGroup) and held.request.member_id not in self._members
        if self._holds_since_ms is not None or is_newcomer or joins_natively(held.request):
            # A newcomer would move the group under everybody's feet; who was called has to be heard to stay a member.
            self._waiting.keep(held)
            return
        self._proof.hear(held.via, held.request)
        self._ways.pass_on(held)

    def disconnected(self, connection: int) -> None:
        """See `groups.Underway`: its members are to be heard by another."""
        self._waiting.forget(connection)
        self._proof.disconnected(connection)

    def excuse(self, before_ms: int) -> None:
        """Answer what has waited since before then."""
        self._waiting.excuse(before_ms)

    def take_joins(self) -> list[HeldT]:
        """Everything that waited, for whoever lets it go."""
        return self._waiting.take()

    def _hold(self) -> int:
        """From here on requests wait; since when they do."""
        if self._holds_since_ms is None:
            self._holds_since_ms = self._ways.now_ms()
        return self._holds_since_ms

    # ------------------------------------------------------------------ the proof

    async def _prove_rest(self) -> Obstacle | None:
        self._hold()
        return await self._proof.prove(self._hold_ms, self._ways.note)

    async def _described(self, broker: Broker) -> DescribedGroup | DescribedConsumerGroup:
        """The group as its broker has it. Raises BrokerUnreachable, also where that and the proof before it take longer
        than requests may wait: nobody beats for members meanwhile, and behind a session their broker gives what they
        have to others.
        """
        try:
            with trio.fail_after(self._patience_s()):
                return await describe(broker, self._group_id)
        except trio.TooSlowError as problem:
            raise BrokerUnreachable("its members' requests can't wait longer for that") from problem

    def _patience_s(self) -> float:
        if self._holds_since_ms is None:
            return inf
        return max(self._holds_since_ms + self._hold_ms - self._ways.now_ms(), 0) / 1000
