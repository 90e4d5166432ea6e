"""An adoption while it is made: Heartbeats in the members' place, the broker's word, the engine's, and one farewell."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Generic, assert_never

import trio

from bridge.coordinators.embedded.groups import EmbeddedGroups
from bridge.coordinators.embedded.handover import Handover
from bridge.coordinators.mapped.seats import MappedSeat
from bridge.coordinators.moving.held_requests import HeldRequests, HeldT, leave_seats
from bridge.engine.outcome import Converted
from bridge.migration.moves.adopt import (
    Adopted,
    AdoptEffect,
    AdoptEvent,
    AdoptState,
    AdoptStep,
    Compare,
    Compared,
    Gather,
    Gathered,
    GivenUp,
    GiveUp,
    Kept,
    LeaveSeats,
    LeavingRefused,
    LeavingUnanswered,
    Prove,
    Proved,
    SeatsLeft,
    TakeIn,
    TakenIn,
    begin,
    resume,
    step,
)
from bridge.migration.moves.members import ClassicMember
from bridge.migration.orders import MemberStage, Obstacle
from bridge.migration.roster import Roster
from bridge.ports import Broker, BrokerUnreachable, Coordinators
from bridge.session.contracts import Access
from translators.dialects.admin import DescribedGroup
from translators.dialects.classic import Heartbeat, HeartbeatReply, JoinGroup, SyncGroup
from translators.dialects.consumer import DescribedConsumerGroup
from translators.dialects.consumer_protocol import CONSUMER, MalformedBlob, decode_assignment
from translators.dialects.coordinator import ClassicSeat, Refused
from translators.dialects.errors import ErrorCode, quote
from translators.dialects.ids import GroupId, MemberId, TopicPartition, Via
from translators.dialects.messages import GroupReply
from translators.dialects.offsets import OffsetCommit, TxnOffsetCommit

GATHER_S = 15.0
"""How long every member may take to be heard: longer than the heartbeat interval of any client that is set up well."""
AGAIN_S = 0.25
"""How soon a farewell is said again that was not answered."""
STABLE = "Stable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopting(Generic[HeldT]):
    """Who is asked on the way from the broker to the engine.

    `pass_on` lets a request go to its broker, mapped if its member is; `excuse` answers one that has waited too long;
    `note` hears how far a member has come, with what its client sees of it.
    """

    pass_on: Callable[[HeldT], None]
    excuse: Callable[[HeldT], None]
    note: Callable[[MemberId, MemberStage, str], None]
    access: Access
    embedded: EmbeddedGroups
    broker: Broker
    coordinators: Coordinators
    now_ms: Callable[[], int]


@dataclass(frozen=True, slots=True)
class _Heard:
    """Where a member was heard last, and in which generation its broker has it."""

    via: Via
    generation: int


class AdoptMove(Generic[HeldT]):
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
        self._around = around
        self._group_id = group_id
        self._members = members
        self._seats = seats
        self._hold_ms = min((one.session_timeout_ms for one in members.values()), default=0) // 3
        self._heard: dict[MemberId, _Heard] = {}
        self._producers: set[Via] = set()
        """The connections by which offsets of transactions came."""
        self._waiting = HeldRequests(around.excuse)
        self._holds = False
        self._stopped: Obstacle | None = None
        self._news = trio.Event()
        """Everybody was heard, or the move was stopped."""
        self.state: AdoptState = begin().state

    # ------------------------------------------------------------------ what comes meanwhile

    def meet(self, roster: Roster) -> None:
        """Begin with what was heard of the members before; mapped ones are to be heard anew."""
        for member_id, said in roster.members_of(self._group_id).items():
            known = member_id in self._members and member_id not in self._seats
            if known and said.generation is not None and self._around.access(said.via).connection >= 0:
                self._note(member_id, said.via, said.generation)

    def take(self, held: HeldT) -> None:
        """See `groups.Underway`."""
        if self._holds or (isinstance(held.request, JoinGroup) and held.request.member_id not in self._members):
            # A newcomer would move the group under everybody's feet; who was called has to be heard to stay a member.
            self._waiting.keep(held)
            return
        if isinstance(held.request, TxnOffsetCommit):
            self._producers.add(held.via)
        elif isinstance(held.request, (Heartbeat, SyncGroup, OffsetCommit)):
            self._note(held.request.member_id, held.via, held.request.generation)
        self._around.pass_on(held)

    def _note(self, member_id: MemberId, via: Via, generation: int) -> None:
        if member_id not in self._members or generation < 0:
            return
        seat = self._seats.get(member_id)
        if seat is not None:
            generation = seat.seat_generation if generation == seat.generation else generation
        self._heard[member_id] = _Heard(via, generation)
        if self._members.keys() <= self._heard.keys():
            self._news.set()

    def disconnected(self, connection: int) -> None:
        """See `groups.Underway`: its members are to be heard by another."""
        self._waiting.forget(connection)
        self._producers = {via for via in self._producers if via.connection != connection}
        for member_id in [one for one, heard in self._heard.items() if heard.via.connection == connection]:
            del self._heard[member_id]

    def excuse(self, before_ms: int) -> None:
        """See `moves.Made`."""
        self._waiting.excuse(before_ms)

    def stop(self, reason: Refused) -> None:
        """See `moves.Made`: what the journal has of it already goes on to its end."""
        self._stopped = Obstacle("EB-MOVE-222", f"the move was stopped: {reason.reason}", "order it again")
        self._news.set()

    def take_joins(self) -> list[HeldT]:
        """See `moves.Made`: everything that waited."""
        return self._waiting.take()

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
        self._holds = True
        await self._run(resume(was_taken_in=self._around.embedded.holds(self._group_id)))

    async def _run(self, taken: AdoptStep) -> None:
        self.state = taken.state
        while taken.effects:
            (effect,) = taken.effects
            event = await self._carry_out(effect)
            taken = step(taken.state, event, self._around.now_ms())
            self.state = taken.state
        moved = isinstance(self.state, Adopted)
        detail = "" if not isinstance(self.state, Kept) else self.state.reason.sentence
        for member_id in self._members:
            self._around.note(member_id, MemberStage.MOVED if moved else MemberStage.STAYS, detail)

    async def _carry_out(self, effect: AdoptEffect) -> AdoptEvent:
        match effect:
            case Gather():
                return Gathered(await self._gather())
            case Prove():
                return Proved(self._stopped or await self._prove())
            case Compare():
                return Compared(await self._compare())
            case TakeIn():
                return TakenIn(self._stopped or await self._take_in())
            case LeaveSeats():
                return await self._leave_seats()
            case GiveUp():
                await self._around.embedded.give_up(self._group_id)
                return GivenUp()
            case _:
                assert_never(effect)

    async def _gather(self) -> Obstacle | None:
        with trio.move_on_after(GATHER_S):
            await self._news.wait()
            return self._stopped
        silent = sorted(self._members.keys() - self._heard.keys())
        return Obstacle(
            "EB-MOVE-223",
            f"{len(silent)} members of {quote(self._group_id)} were not heard within {GATHER_S:.0f} s, "
            f"{quote(silent[0])} among them: they come by another way, or not any more",
            "let all its clients use the bridge, and wait until those that are gone have left the group",
            silent[0],
        )

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
        self._holds = True
        beats = {one: self._beat(one, heard.generation) for one, heard in self._heard.items()}
        lines: list[tuple[MemberId | Via, Via, Heartbeat]] = [
            (one, self._heard[one].via, beat) for one, beat in beats.items()
        ]
        # Offsets of transactions come by the producers' connections: of those only the order matters.
        lines += [(via, via, next(iter(beats.values()))) for via in self._producers if beats]
        answers: dict[MemberId | Via, ErrorCode] = {}
        done = trio.Event()

        def take(who: MemberId | Via, reply: GroupReply | None) -> None:
            answers[who] = reply.error if isinstance(reply, HeartbeatReply) else ErrorCode.NETWORK_EXCEPTION
            if len(answers) == len(lines):
                done.set()

        for who, via, beat in lines:
            self._around.access(via).ask(None, beat, partial(take, who))
        with trio.move_on_after(self._hold_ms / 1000):
            await done.wait()
        for member_id in self._members:
            self._around.note(member_id, MemberStage.MOVING, "")
            code = answers.get(member_id, ErrorCode.REQUEST_TIMED_OUT)
            if code is not ErrorCode.NONE:
                return Obstacle(
                    "EB-MOVE-224",
                    f"{quote(member_id)} is not at rest: its broker answers a heartbeat with {code.name}",
                    "order the move again when the group has settled",
                    member_id,
                )
        return None

    def _beat(self, member_id: MemberId, generation: int) -> Heartbeat:
        instance_id = self._members[member_id].instance_id
        return Heartbeat(self._group_id, generation, self._seat_id(member_id), instance_id)

    async def _compare(self) -> Obstacle | None:
        try:
            described = await self._around.broker.describe_group(self._group_id)
        except BrokerUnreachable as problem:
            return Obstacle(
                "EB-MOVE-225",
                f"the broker can't describe {quote(self._group_id)}: {problem}",
                "give the bridge's own login DESCRIBE on the group",
            )
        expected = {self._seat_id(one): member.using for one, member in self._members.items()}
        return find_difference(self._group_id, described, expected)

    async def _take_in(self) -> Obstacle | None:
        embedded, group_id = self._around.embedded, self._group_id
        protocol_name = next(iter(self._members.values())).protocol_name
        seats = tuple(self._seat(member) for member in self._members.values())
        generation = max(seat.generation for seat in seats)
        try:
            claimed = await embedded.join_checks.claim(group_id)
        except BrokerUnreachable as problem:
            return Obstacle("EB-MOVE-226", f"other bridges can't be asked: {problem}", "order the move again")
        if claimed is not None:
            return Obstacle("EB-MOVE-226", claimed.reason, "move the group by the bridge that has it")
        verdict = await embedded.adopt(group_id, Handover(seats), generation, protocol_name)
        if isinstance(verdict, Converted):
            return None
        why = "nothing can be served at the moment" if verdict is None else verdict.text
        return Obstacle(
            "EB-MOVE-227", f"the bridge does not take {quote(group_id)} in: {why}", "see the log of the bridge"
        )

    async def _leave_seats(self) -> AdoptEvent:
        left = await leave_seats(
            self._around.coordinators, self._group_id, [self._seat_id(one) for one in self._members]
        )
        if left is None:
            return SeatsLeft()
        if isinstance(left, BrokerUnreachable):
            await trio.sleep(AGAIN_S)
            return LeavingUnanswered()
        return LeavingRefused(left)

    # ------------------------------------------------------------------ two identities

    def _seat_id(self, member_id: MemberId) -> MemberId:
        seat = self._seats.get(member_id)
        return member_id if seat is None else seat.seat_id

    def _seat(self, member: ClassicMember) -> ClassicSeat:
        mapped, heard = self._seats.get(member.member_id), self._heard[member.member_id]
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
            f"{len(foreign)} members of {quote(group_id)} talk to the broker directly, {quote(one.member_id)} "
            f"(client id {quote(one.client_id)!r}, {one.client_host}) among them",
            "let them use the bridge, too",
            one.member_id,
        )
    if described.group_state != STABLE or found_shares(described) != expected:
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
