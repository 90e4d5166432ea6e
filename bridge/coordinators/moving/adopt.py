"""An adoption while it is made: Heartbeats in the members' place, the broker's word, the engine's, and one farewell."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never

import trio

from bridge.coordinators.embedded.groups import EmbeddedGroups
from bridge.coordinators.embedded.handover import Handover
from bridge.coordinators.mapped.seats import MappedSeat
from bridge.coordinators.moving.course import course
from bridge.coordinators.moving.descriptions import undescribed
from bridge.coordinators.moving.held_requests import HeldT
from bridge.coordinators.moving.resting import RestingGroup, RestingWays
from bridge.coordinators.moving.survey import lets_go
from bridge.coordinators.rounds import leave_seats
from bridge.engine.outcome import Converted
from bridge.migration.moves.adopt import (
    Adopted,
    AdoptEffect,
    AdoptEvent,
    AdoptState,
    AdoptStep,
    GivenUp,
    GiveUp,
    LeaveSeats,
    LeavingRefused,
    LeavingUnanswered,
    SeatsLeft,
    TakeIn,
    TakenIn,
    begin,
    resume,
    step,
)
from bridge.migration.moves.members import ClassicMember
from bridge.migration.moves.rest import Compare, Compared, Gather, Gathered, Kept, Prove, Proved
from bridge.migration.orders import MemberStage, Obstacle
from bridge.ports import Broker, BrokerUnreachable, Coordinators
from translators.dialects.admin import DescribedGroup
from translators.dialects.classic import Heartbeat
from translators.dialects.consumer import DescribedConsumerGroup
from translators.dialects.consumer_protocol import CONSUMER, MalformedBlob, decode_assignment
from translators.dialects.coordinator import ClassicSeat, Refused
from translators.dialects.counts import counted
from translators.dialects.errors import quote
from translators.dialects.ids import GroupId, MemberId, TopicPartition

AGAIN_S = 0.25
"""How soon a farewell is said again that was not answered."""
STABLE = "Stable"
STOPPED = "EB-MOVE-222"
"""The move was stopped before the group was taken in; order it again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopting(RestingWays[HeldT]):
    """Who is asked on the way from the broker to the engine."""

    embedded: EmbeddedGroups
    broker: Broker
    coordinators: Coordinators


class AdoptMove(RestingGroup[HeldT]):
    """A group on its way from its broker to the engine (`groups.Underway`).

    `seats` are the members that their broker knows by other words than their clients.
    """

    def __init__(
        self,
        around: Adopting[HeldT],
        group_id: GroupId,
        members: Mapping[MemberId, ClassicMember],
        seats: Mapping[MemberId, MappedSeat],
    ) -> None:
        super().__init__(group_id, members, seats, around)
        self._around = around
        self._seats = seats
        self.state: AdoptState = begin().state

    def take(self, held: HeldT) -> None:
        """See `groups.Underway`: what is held for long is answered as if all were well, so that it counts at the engine
        from the intake on.
        """
        super().take(held)
        if isinstance(held.request, Heartbeat) and self._around.embedded.holds(self._group_id):
            self._around.embedded.task.beat_calmly(held.request)

    def stop(self, reason: Refused) -> None:
        """Stopped by an operator: a group that the engine has taken in goes on to its end."""
        self._proof.stop(STOPPED, reason)

    # ------------------------------------------------------------------ its course

    async def make(self) -> None:
        """Go on until the group is adopted or kept."""
        await self._run(begin())

    @property
    def has_ended(self) -> bool:
        """Whether nothing is left to be done."""
        return isinstance(self.state, Adopted | Kept)

    async def go_on(self) -> None:
        """The same after a restart, or after a failure on the way."""
        self._hold()
        await self._run(resume(self._around.now_ms(), was_taken_in=self._around.embedded.holds(self._group_id)))

    async def _run(self, taken: AdoptStep) -> None:
        async for state in course(taken, step, self._carry_out, self._around.now_ms):
            self.state = state
        moved = isinstance(self.state, Adopted)
        detail = "" if not isinstance(self.state, Kept) else self.state.reason.sentence
        for member_id in self._members:
            self._around.note(member_id, MemberStage.MOVED if moved else MemberStage.STAYS, detail)

    async def _carry_out(self, effect: AdoptEffect) -> AdoptEvent:
        match effect:
            case Gather():
                # To meet other bridges for the first time takes seconds, in which nobody's request is to wait.
                return Gathered(await self._proof.gather() or await self._claim())
            case Prove():
                return Proved(self._proof.stopped or await self._prove())
            case Compare():
                return Compared(await self._compare())
            case TakeIn():
                return TakenIn(self._proof.stopped or await self._take_in())
            case LeaveSeats():
                return await self._leave_seats()
            case GiveUp():
                await self._give_up()
                return GivenUp()
            case _:
                assert_never(effect)

    async def _look_at_topics(self) -> Obstacle | None:
        """A bridge without groups of its own looks at no topics, and of those that it has not seen nobody would have
        anything.
        """
        topics = {one.topic for member in self._members.values() for one in member.using}
        embedded = self._around.embedded
        if not embedded.owner.catalog.knows(topics):
            try:
                await embedded.look_at_topics()
            except BrokerUnreachable as problem:
                return Obstacle("EB-MOVE-226", f"the cluster's topics can't be seen: {problem}", "order the move again")
        return None

    async def _prove(self) -> Obstacle | None:
        unseen = await self._look_at_topics()
        if unseen is not None:
            return unseen
        return await self._prove_rest()

    async def _compare(self) -> Obstacle | None:
        try:
            described = await self._described(self._around.broker)
        except BrokerUnreachable as problem:
            return undescribed(self._group_id, problem)
        expected = {self._proof.seat_id(one): member.using for one, member in self._members.items()}
        return find_difference(self._group_id, described, expected)

    async def _claim(self) -> Obstacle | None:
        try:
            claimed = await self._around.embedded.join_checks.claim(self._group_id)
        except BrokerUnreachable as problem:
            return Obstacle("EB-MOVE-226", f"other bridges can't be asked: {problem}", "order the move again")
        if claimed is not None:
            return Obstacle("EB-MOVE-226", claimed.reason, "move the group by the bridge that has it")
        return None

    async def _take_in(self) -> Obstacle | None:
        embedded, group_id = self._around.embedded, self._group_id
        protocol_name = next(iter(self._members.values())).protocol_name
        seats = tuple(self._seat(member) for member in self._members.values())
        generation = max(seat.generation for seat in seats)
        claimed = await self._claim()
        if claimed is not None:
            return claimed
        if self._patience_s() == 0:
            # Behind a session their broker gives what they have to others.
            why = "other bridges can't be asked as soon as its members' requests have to go on"
            return Obstacle("EB-MOVE-226", why, "order the move again")
        verdict = await embedded.adopt(group_id, Handover(seats), generation, protocol_name)
        if isinstance(verdict, Converted):
            return None
        why = "nothing can be served at the moment" if verdict is None else verdict.text
        return Obstacle(
            "EB-MOVE-227", f"the bridge does not take {quote(group_id)} in: {why}", "see the log of the bridge"
        )

    async def _leave_seats(self) -> AdoptEvent:
        left = await leave_seats(
            self._around.coordinators, self._group_id, [self._proof.seat_id(one) for one in self._members]
        )
        if left is None:
            return SeatsLeft()
        if isinstance(left, BrokerUnreachable):
            await trio.sleep(AGAIN_S)
            return LeavingUnanswered()
        return LeavingRefused(left)

    async def _give_up(self) -> None:
        """Until the engine has forgotten the group, which it can't while its journal takes nothing: two have it."""
        embedded = self._around.embedded
        while True:
            given_up = await embedded.give_up(self._group_id)
            if given_up is not None or not embedded.holds(self._group_id):
                return
            await trio.sleep(AGAIN_S)

    # ------------------------------------------------------------------ two identities

    def _seat(self, member: ClassicMember) -> ClassicSeat:
        mapped, heard = self._seats.get(member.member_id), self._proof.heard[member.member_id]
        return ClassicSeat(
            member_id=member.member_id,
            instance_id=member.instance_id,
            identity=member.client,
            session_timeout_ms=member.session_timeout_ms,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            protocols=member.protocols,
            generation=heard.generation if mapped is None else mapped.generation,
            using=member.using,
            session_deadline_ms=self._around.now_ms() + member.session_timeout_ms,
        )


def find_difference(
    group_id: GroupId,
    described: DescribedGroup | DescribedConsumerGroup,
    expected: Mapping[MemberId, frozenset[TopicPartition]],
) -> Obstacle | None:
    """What the broker knows of a classic group that the bridge does not, or otherwise; None if they agree.

    `expected` are the members that the bridge knows, by their ids at the broker, with what their clients have.
    """
    if not isinstance(described, DescribedGroup) or described.protocol_type != CONSUMER:
        return Obstacle(
            "EB-MOVE-228",
            f"{quote(group_id)} is no classic group of consumers at its broker",
            "move it to upstream, or leave it where it is",
        )
    found = {one.member_id: one for one in described.members}
    foreign = sorted(found.keys() - expected.keys())
    if foreign:
        one = found[foreign[0]]
        return Obstacle(
            "EB-MOVE-229",
            f"{counted(len(foreign), 'member talks', 'members talk')} to the broker of {quote(group_id)} directly, "
            f"{quote(one.member_id)} (client id {quote(one.client_id)!r}, {one.client_host}) among them",
            "let them use the bridge, too",
            one.member_id,
        )
    is_at_rest = described.group_state == STABLE and not any(map(lets_go, described.members))
    if not is_at_rest or found_shares(described) != expected:
        return Obstacle(
            "EB-MOVE-224",
            f"{quote(group_id)} is not at rest at its broker ({quote(described.group_state)})",
            "order the move again when the group has settled",
        )
    return None


def found_shares(described: DescribedGroup) -> Mapping[MemberId, frozenset[TopicPartition] | None]:
    """What each member has at the broker; None where that can't be read."""
    shares: dict[MemberId, frozenset[TopicPartition] | None] = {}
    for one in described.members:
        try:
            shares[one.member_id] = decode_assignment(one.assignment).partitions
        except MalformedBlob:
            shares[one.member_id] = None
    return shares
