"""A reseat while it is made: Heartbeats in the members' place, a scout that comes and goes, and a round for all; the
round alone where a classic group is to lose its user data.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import assert_never

import trio

from bridge.coordinators.mapped.groups import MappedGroups
from bridge.coordinators.mapped.seats import MappedSeat
from bridge.coordinators.moving.adopt import find_difference
from bridge.coordinators.moving.course import course
from bridge.coordinators.moving.descriptions import describe, undescribed
from bridge.coordinators.moving.held_requests import HeldT
from bridge.coordinators.moving.resting import RestingGroup, RestingWays
from bridge.coordinators.moving.surroundings import SCOUT_ID
from bridge.coordinators.moving.survey import SHARE_OF_SESSION
from bridge.coordinators.rounds import OWN, Lines, play
from bridge.migration.moves.members import ClassicMember
from bridge.migration.moves.reseat import (
    Called,
    CallScoutBack,
    ComparedClassic,
    Look,
    Looked,
    Looking,
    PlayRound,
    Reseated,
    ReseatEffect,
    ReseatEvent,
    ReseatState,
    ReseatStep,
    RoundEnded,
    ScoutGone,
    ScoutJoined,
    ScoutUnanswered,
    SendScout,
    begin,
    resume,
    step,
)
from bridge.migration.moves.rest import (
    Compare,
    Compared,
    Comparing,
    Gather,
    Gathered,
    Gathering,
    Kept,
    Prove,
    Proved,
    Proving,
)
from bridge.migration.moves.round_values import Failed, Played, Round, RoundFailure, RoundPlayer
from bridge.migration.orders import MemberStage, Obstacle
from bridge.ports import Broker, BrokerUnreachable, Clock, Coordinators
from translators.dialects.admin import DescribedGroup
from translators.dialects.consumer import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply, DescribedConsumerGroup
from translators.dialects.consumer_protocol import encode_assignment, version_of
from translators.dialects.coordinator import Refused
from translators.dialects.errors import ErrorCode, quote
from translators.dialects.ids import JOIN_EPOCH, LEAVE_EPOCH, GroupId, MemberId, TopicPartition, Via

SCOUT_REBALANCE_MS = 60_000
"""What a scout says of itself: it has nothing to give up."""
AGAIN_S = 0.25
"""How soon a scout says again what was not answered."""
SCOUT_HOLDS = 2
"""Until so many holds, two thirds of the shortest session, behind the last beat a scout says again what was not
answered: later the broker ends whoever waits here, and others get what they have.
"""
SCOUT_TRIES = 6
"""So often a broker that answers nothing at all is asked in that time: it is asked once more behind it, which ends
before the session does.
"""
AT_REST = "Stable"
STOPPED = "EB-MOVE-240"
"""The move was stopped before a scout was sent; order it again."""
CLASSIC_MEMBER = 0
_COME_AGAIN = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.REQUEST_TIMED_OUT,
    }
)
_NO_MEMBER = frozenset({ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.GROUP_ID_NOT_FOUND})
"""What a farewell is answered behind which there is no scout; the last is said where the group is classic already."""
_NO_MORE = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID})
"""Whom the broker has no more is left out of the next round."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reseating(RestingWays[HeldT]):
    """Who is asked meanwhile.

    `write` puts down where mapped members are,
    `begin` that the scout is about to be sent, with the members as they are then, which is true once it is written.
    `reconverts` tells whether brokers make a classic group of a consumer group, None where that is not known.
    """

    write: Callable[[GroupId], None]
    begin: Callable[[Iterable[ClassicMember]], Awaitable[bool]]
    reconverts: Callable[[], Awaitable[bool | None]]
    mapped: MappedGroups
    broker: Broker
    coordinators: Coordinators
    clock: Clock


class ReseatMove(RestingGroup[HeldT]):
    """A group of classic members on its way from a broker's consumer group to a classic one (`groups.Underway`); or
    one that is to be cleared of user data in its assignments, and stays a classic one.
    """

    def __init__(
        self,
        around: Reseating[HeldT],
        group_id: GroupId,
        members: Mapping[MemberId, ClassicMember],
        *,
        is_to_be_cleared: bool = False,
    ) -> None:
        seats = around.mapped.seats_of(group_id)
        super().__init__(group_id, members, seats, around)
        self._around = around
        self._is_to_be_cleared = is_to_be_cleared
        self._was_made = False
        self._lines = Lines(around.coordinators, group_id)
        self._called_back_ms: int | None = None
        """When the scout was first told to leave."""
        self.state: ReseatState = begin().state

    def stop(self, reason: Refused) -> None:
        """Stopped by an operator: once the scout was sent the group goes on to its end."""
        self._proof.stop(STOPPED, reason)

    def know(self, member_id: MemberId, via: Via, generation: int) -> None:
        """By which connection a member was heard last, and in which generation it is for its client."""
        self._proof.know(member_id, via, generation)

    # ------------------------------------------------------------------ its course

    async def make(self) -> None:
        """Go on until the group is reseated, kept or called."""
        self._was_made = True
        await self._run(begin())

    @property
    def has_ended(self) -> bool:
        """Whether nothing is left to be done."""
        return isinstance(self.state, Reseated | Kept | Called)

    async def go_on(self) -> None:
        """The same after a restart, or after a failure on the way."""
        if self._was_made and isinstance(self.state, (Looking, Gathering, Proving, Comparing)):
            why = "it failed before anything was changed, which is in the log"
            self.state = Kept(Obstacle("EB-MOVE-245", why, "order the move to pass again"))
            self._tell_of_members()
            return
        self._hold()
        await self._run(resume(is_to_be_cleared=self._is_to_be_cleared))

    async def _run(self, taken: ReseatStep) -> None:
        try:
            async for state in course(taken, step, self._carry_out, self._around.now_ms):
                self.state = state
        finally:
            self._lines.close()
            self._lines.give_back()
        self._tell_of_members()

    def _tell_of_members(self) -> None:
        detail = self.state.reason.sentence if isinstance(self.state, Called) else ""
        stage = MemberStage.STAYS if self._is_to_be_cleared else MemberStage.MOVED
        for member_id in self._members:
            self._around.note(member_id, stage, detail)
        if isinstance(self.state, Called):
            self._call()

    async def _carry_out(self, effect: ReseatEffect) -> ReseatEvent:
        match effect:
            case Look():
                return await self._look()
            case Gather():
                return Gathered(await self._gather())
            case Prove():
                return Proved(self._proof.stopped or await self._prove_rest())
            case Compare():
                obstacle = self._proof.stopped or await self._compare()
                is_classic = obstacle is None and self._is_to_be_cleared
                return ComparedClassic() if is_classic else Compared(obstacle)
            case SendScout():
                return await self._send_scout()
            case CallScoutBack():
                return await self._call_scout_back()
            case PlayRound():
                return RoundEnded(await self._play())
            case _:
                assert_never(effect)

    async def _gather(self) -> Obstacle | None:
        """From here on requests wait, until the round is over: what takes long and can be done before is done now."""
        obstacle = self._reserve() or await self._proof.gather()
        if obstacle is not None:
            return obstacle
        # None is the scout's.
        await self._lines.open((None, *self._members))
        # Somebody may have lost its connection meanwhile.
        return await self._proof.gather()

    def _reserve(self) -> Obstacle | None:
        """One for each member, and the scout's."""
        return self._lines.reserve(len(self._members) + 1)

    async def _look(self) -> Looked:
        described = await self._describe()
        if isinstance(described, DescribedGroup):
            return Looked(is_classic=True, is_to_be_cleared=self._is_to_be_cleared)
        if isinstance(described, Obstacle):
            return Looked(is_classic=False, obstacle=described)
        if self._is_to_be_cleared:
            return Looked(is_classic=False, obstacle=find_difference(self._group_id, described, {}))
        return Looked(
            is_classic=False,
            obstacle=None if await self._around.reconverts() else _not_made_classic(self._group_id),
        )

    async def _compare(self) -> Obstacle | None:
        described = await self._describe()
        if isinstance(described, Obstacle):
            return described
        expected = {self._seat_id(one): it.using for one, it in self._members.items()}
        if self._is_to_be_cleared:
            difference = find_difference(self._group_id, described, expected)
            if difference is not None:
                return difference
        elif classic_shares(described) != expected:
            return Obstacle(
                "EB-MOVE-241",
                f"{quote(self._group_id)} is no consumer group of these classic members alone, or not at rest",
                "let all its clients use the bridge, move to pass whoever is on upstream, and order the move again",
            )
        # As they are now: while all were waited for, some joined anew, and that is what their clients know.
        now = [replace(one, generation=self._client_generation(name)) for name, one in self._members.items()]
        if await self._around.begin(now) and self._patience_s() > 0:
            return None
        return Obstacle(
            "EB-MOVE-206",
            "that it is about to begin can't be written down, or not as soon as requests have to go on",
            "see to the journal, and order the move again",
        )

    async def _describe(self) -> DescribedGroup | DescribedConsumerGroup | Obstacle:
        try:
            return await self._described(self._around.broker)
        except BrokerUnreachable as problem:
            return undescribed(self._group_id, problem)

    # ------------------------------------------------------------------ the scout

    async def _send_scout(self) -> ReseatEvent:
        until_ms = self._around.now_ms() + self._answer_ms
        said = await self._ask_scout(JOIN_EPOCH, until_ms)
        if said is None:
            return await self._unanswered(until_ms)
        if said is ErrorCode.NONE or said is ErrorCode.FENCED_MEMBER_EPOCH:
            # It is in since an earlier move, and the group's epoch has moved on.
            return ScoutJoined()
        return ScoutJoined(_scout_refused(self._group_id, said))

    async def _call_scout_back(self) -> ReseatEvent:
        until_ms = self._around.now_ms() + self._answer_ms
        if self._called_back_ms is None:
            self._called_back_ms = self._around.now_ms()
        said = await self._ask_scout(LEAVE_EPOCH, until_ms)
        if said is None:
            return await self._unanswered(until_ms)
        if said not in _NO_MEMBER:
            return ScoutGone(_scout_refused(self._group_id, said))
        try:
            with trio.fail_after(self._left_s(until_ms)):
                described = await describe(self._around.broker, self._group_id)
        except (BrokerUnreachable, trio.TooSlowError):
            return await self._unanswered(until_ms)
        is_classic = isinstance(described, DescribedGroup)
        return ScoutGone(None if is_classic else _not_made_classic(self._group_id))

    async def _unanswered(self, until_ms: int) -> ScoutUnanswered:
        await trio.sleep(min(AGAIN_S, self._left_s(until_ms)))
        return ScoutUnanswered(self._hold() + SCOUT_HOLDS * self._hold_ms)

    @property
    def _answer_ms(self) -> int:
        return SCOUT_HOLDS * self._hold_ms // SCOUT_TRIES

    def _left_s(self, until_ms: int) -> float:
        return max(until_ms - self._around.now_ms(), 0) / 1000

    async def _ask_scout(self, epoch: int, until_ms: int) -> ErrorCode | None:
        """The coordinator's word on a heartbeat of the scout, None where it is not known whether it took it."""
        request = ConsumerGroupHeartbeat(
            group_id=self._group_id,
            member_id=SCOUT_ID,
            member_epoch=epoch,
            rebalance_timeout_ms=SCOUT_REBALANCE_MS,
            subscribed_topic_names=(),
            owned=frozenset(),
        )
        reply = await self._lines.ask(None, request, OWN, self._left_s(until_ms))
        if not isinstance(reply, ConsumerGroupHeartbeatReply) or reply.error in _COME_AGAIN:
            return None
        return reply.error

    # ------------------------------------------------------------------ the round

    async def _play(self) -> Obstacle | None:
        """Rounds until one is played, as long as the broker certainly keeps the members' seats: clients are told that
        all is well meanwhile. Who is gone there has no part in the next.
        """
        # After a restart nobody gathered. What was begun goes on with whatever descriptors there are.
        self._reserve()
        left, failed = dict(self._members), None
        while left and (failed is None or self._around.now_ms() < self._kept_until_ms):
            ended = await self._play_once(tuple(map(self._player, left.values())))
            if isinstance(ended, Played):
                self._map(left, ended)
                return None
            failed = ended
            if ended.code in _NO_MORE and ended.member_id is not None:
                del left[ended.member_id]
            elif ended.failure is not RoundFailure.OUT_OF_TIME:
                break
        return Obstacle(
            "EB-MOVE-244",
            f"the round of {quote(self._group_id)} at its broker {self._failure(left, failed)}; its members are told to"
            " join by themselves",
            "do nothing: the group is a classic one all the same",
        )

    @property
    def _kept_until_ms(self) -> int:
        """A session behind the last beat, less the time of an answer; but a broker that makes a classic group of it has
        all sessions begin anew (K3.25), which it did not before the scout was told to leave.
        """
        since_ms = self._hold() if self._called_back_ms is None else self._called_back_ms
        return since_ms + SHARE_OF_SESSION * self._hold_ms - self._answer_ms

    def _failure(self, left: Mapping[MemberId, ClassicMember], failed: Failed | None) -> str:
        if failed is None or not left:
            return "was never played, since all its members are gone"
        if failed.failure is RoundFailure.OUT_OF_TIME:
            return f"was not over within {self._hold_ms / 1000:.1f} s, for which members can be held"
        return f"failed: {failed.failure} ({failed.code.name})"

    async def _play_once(self, players: tuple[RoundPlayer, ...]) -> Played | Failed:
        around = self._around
        now_ms = around.now_ms()
        deadline_ms = min(now_ms + self._hold_ms, max(now_ms + self._answer_ms, self._kept_until_ms))
        generation = max((one.generation for one in self._proof.heard.values()), default=-1)
        seats = around.mapped.seats_of(self._group_id).values()
        generation = max((seat.seat_generation for seat in seats), default=generation)
        played = Round(group_id=self._group_id, players=players, deadline_ms=deadline_ms, generation=generation)
        return await play(around.coordinators, around.clock, played, self._lines)

    def _player(self, member: ClassicMember) -> RoundPlayer:
        version = max((version_of(one.metadata) for one in member.protocols), default=0)
        return RoundPlayer(
            member_id=member.member_id,
            client_id=member.client.client_id,
            broker_id=self._seat_id(member.member_id),
            instance_id=member.instance_id,
            protocols=member.protocols,
            session_timeout_ms=member.session_timeout_ms,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            owned=member.using,
            give=encode_assignment(member.using, version),
        )

    def _map(self, members: Mapping[MemberId, ClassicMember], played: Played) -> None:
        """Written at once: until it is, a bridge that is killed plays the round again."""
        for member_id in members:
            self._around.mapped.put(self._group_id, self._seat(member_id, played.generation))
        self._around.write(self._group_id)

    def _call(self) -> None:
        """Nobody knows in which generation the members are: each is told to join, under the seat that it has."""
        for member_id in self._members:
            seat = self._around.mapped.seat(self._group_id, member_id)
            if seat is not None:
                known = self._seat(member_id, seat.seat_generation, is_called=True)
                self._around.mapped.put(self._group_id, known)
        self._around.write(self._group_id)

    def _seat(self, member_id: MemberId, generation: int, *, is_called: bool = False) -> MappedSeat:
        seat = self._around.mapped.seat(self._group_id, member_id)
        return MappedSeat(
            member_id=member_id,
            generation=self._client_generation(member_id) if seat is None else seat.generation,
            seat_id=self._seat_id(member_id),
            seat_generation=generation,
            is_called=is_called,
            member=self._members[member_id],
        )

    def _client_generation(self, member_id: MemberId) -> int:
        heard = self._proof.heard.get(member_id)
        return self._members[member_id].generation if heard is None else heard.generation

    def _seat_id(self, member_id: MemberId) -> MemberId:
        return self._proof.seat_id(member_id)


def _scout_refused(group_id: GroupId, code: ErrorCode) -> Obstacle:
    return Obstacle(
        "EB-MOVE-242",
        f"the broker does not let a scout of the bridge into {quote(group_id)} or out of it: {code.name}",
        "give the bridge's own login READ on the group, and order the move again, or leave it a consumer group of"
        " classic members",
    )


def _not_made_classic(group_id: GroupId) -> Obstacle:
    return Obstacle(
        "EB-MOVE-243",
        f"the brokers don't make a classic group of {quote(group_id)} again, or don't say that they do: a newcomer"
        " disturbs all its members",
        "set group.consumer.migration.policy=bidirectional on every broker, let the bridge's own login read it, and"
        " order the move again",
    )


def classic_shares(
    described: DescribedGroup | DescribedConsumerGroup,
) -> Mapping[MemberId, frozenset[TopicPartition]] | None:
    """What the members of a consumer group have if all are classic ones and at rest, by their ids at the broker.

    A scout may be among them that a bridge was killed over.
    """
    if not isinstance(described, DescribedConsumerGroup) or described.group_state != AT_REST:
        return None
    members = [one for one in described.members if one.member_id != SCOUT_ID]
    if any(one.member_type != CLASSIC_MEMBER for one in members):
        return None
    return {
        one.member_id: frozenset(
            TopicPartition(topic.topic_name, partition) for topic in one.assignment for partition in topic.partitions
        )
        for one in members
    }
