"""What the bridge does at a coordinator in the place of members: it plays a round for them, or sees them off.

Their requests go by connections of the bridge's own: a parked JoinGroup keeps the one that it came by, so none of a
client's own is ever held up by it.
"""

from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from math import inf
from typing import assert_never

import trio

from bridge.migration.moves.round import REASON, begin, next_deadline, step
from bridge.migration.moves.round_values import (
    AnswerLost,
    AskInPlace,
    DeadlinePassed,
    Failed,
    JoinAnswered,
    Played,
    RemovalAnswered,
    RemoveMembers,
    Round,
    RoundEffect,
    RoundEvent,
    SyncAnswered,
)
from bridge.migration.orders import Obstacle
from bridge.ports import BrokerUnreachable, Clock, CoordinatorConnection, Coordinators
from translators.dialects.classic import JoinGroupReply, LeaveGroup, LeaveGroupReply, LeavingMember, SyncGroupReply
from translators.dialects.consumer import ConsumerGroupHeartbeatReply
from translators.dialects.counts import counted
from translators.dialects.errors import ErrorCode, quote
from translators.dialects.ids import GroupId, MemberId
from translators.dialects.messages import GroupReply, GroupRequest

OPEN_S = 10.0
"""How long connections are opened ahead of a round, while nobody's requests wait for it."""
OPENING_MAX = 32
"""So many at once: each may have to shake hands and log in."""
FAREWELL_S = 5.0
"""How long a round that failed waits for the answer to its LeaveGroup: what it leaves behind ends with its session."""
ANSWER_S = 10.0
"""How long a coordinator's word is waited for outside of rounds, which have an end of their own: a broker that stands
still, or whose host is gone, keeps its connection and answers nothing.
"""
OWN = "epochbridge"
"""In whose name members are removed."""
_COME_AGAIN = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NETWORK_EXCEPTION,
    }
)
_ELSEWHERE = frozenset({ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE})
_TELLING = (JoinGroupReply, SyncGroupReply, LeaveGroupReply, ConsumerGroupHeartbeatReply)


async def play(
    coordinators: Coordinators, clock: Clock, played: Round, ahead: "Lines | None" = None
) -> Played | Failed:
    """Play a round to its end, which comes at its deadline at the latest, and a moment later if it failed.

    It goes by the connections that were opened `ahead`, as far as they are there. All are closed in the end, also those
    on which something is still open: the coordinator takes whatever their clients ask next.
    """
    lines = Lines(coordinators, played.group_id) if ahead is None else ahead
    sender, receiver = trio.open_memory_channel[RoundEvent](inf)
    tell = sender.send_nowait
    client_ids = {player.member_id: player.client_id for player in played.players}
    async with trio.open_nursery() as nursery:
        try:
            taken = begin(played)
            while True:
                for effect in taken.effects:
                    client_id = client_ids[effect.member_id] if isinstance(effect, AskInPlace) else OWN
                    nursery.start_soon(_carry_out, lines, client_id, effect, tell)
                state = taken.state
                if isinstance(state, Played):
                    return state
                if isinstance(state, Failed):
                    await _await_removal(taken.effects, receiver)
                    return state
                due_ms = next_deadline(state)
                if clock.now_ms() < played.deadline_ms and receiver.statistics().current_buffer_used:
                    # What has come counts before what was to be asked anew without it.
                    due_ms = played.deadline_ms
                event = await _next_event(receiver, clock, due_ms)
                taken = step(state, event, clock.now_ms())
        finally:
            nursery.cancel_scope.cancel()
            lines.close()


async def _next_event(
    receiver: "trio.MemoryReceiveChannel[RoundEvent]", clock: Clock, due_ms: int | None
) -> RoundEvent:
    within_s = inf if due_ms is None else max(due_ms - clock.now_ms(), 0) / 1000
    with trio.move_on_after(within_s):
        return await receiver.receive()
    return DeadlinePassed()


async def _await_removal(effects: tuple[RoundEffect, ...], receiver: "trio.MemoryReceiveChannel[RoundEvent]") -> None:
    if any(isinstance(effect, RemoveMembers) for effect in effects):
        with trio.move_on_after(FAREWELL_S):
            while not isinstance(await receiver.receive(), RemovalAnswered):
                pass


async def _carry_out(lines: "Lines", client_id: str, effect: RoundEffect, tell: Callable[[RoundEvent], None]) -> None:
    match effect:
        case AskInPlace(member_id, request):
            reply = await lines.ask(member_id, request, client_id)
            match reply:
                case JoinGroupReply():
                    tell(JoinAnswered(member_id, reply))
                case SyncGroupReply():
                    tell(SyncAnswered(member_id, reply))
                case _:
                    tell(AnswerLost(member_id))
        case RemoveMembers(request):
            left = await lines.ask(None, request, client_id)
            tell(RemovalAnswered(left if isinstance(left, LeaveGroupReply) else None))
        case _:
            assert_never(effect)


class Lines:
    """A connection for each player, and one (None) for what the bridge asks for itself; one that failed is replaced at
    the next question.
    """

    def __init__(self, coordinators: Coordinators, group_id: GroupId) -> None:
        self._coordinators = coordinators
        self._group_id = group_id
        self._broker_id: int | None = None
        self._finding = trio.Lock()
        self._open: dict[MemberId | None, CoordinatorConnection] = {}
        self._reserved = 0

    def reserve(self, count: int) -> Obstacle | None:
        """Have room kept for so many at once, until it is given back; or why the round can't be played."""
        self.give_back()
        lacking = self._coordinators.reserve(count)
        if lacking:
            return Obstacle(
                "EB-MOVE-257",
                f"a round of {quote(self._group_id)} takes {counted(count, 'connection')} of the bridge's own, and"
                f" beside clients and other moves there are file descriptors for {count - lacking} of them",
                "raise the limit of open files (ulimit -n, LimitNOFILE of systemd), or wait for other moves to end, and"
                " order the move again",
            )
        self._reserved = count
        return None

    def give_back(self) -> None:
        """The room is others' again: no round is to be played any more."""
        kept, self._reserved = self._reserved, 0
        self._coordinators.give_back(kept)

    async def open(self, members: Iterable[MemberId | None]) -> None:
        """Have connections ready for these: a thousand of them, each with its handshakes, take seconds, and in
        a round all clients wait. Who has none in time, or whose can't be had, gets one when it is asked for.
        """
        limiter = trio.CapacityLimiter(OPENING_MAX)
        with trio.move_on_after(OPEN_S):
            async with trio.open_nursery() as nursery:
                for member_id in members:
                    nursery.start_soon(self._open_in_turn, limiter, member_id)

    async def _open_in_turn(self, limiter: trio.CapacityLimiter, member_id: MemberId | None) -> None:
        async with limiter:
            with suppress(BrokerUnreachable):
                await self._line(member_id)

    async def _line(self, member_id: MemberId | None) -> CoordinatorConnection:
        line = self._open.get(member_id)
        if line is None:
            line = self._open[member_id] = await self._coordinators.connect_coordinator(await self._find())
        return line

    async def ask(
        self, member_id: MemberId | None, request: GroupRequest, client_id: str, within_s: float = inf
    ) -> GroupReply | None:
        """The coordinator's answer by the line of a player, None if there is none."""
        try:
            with trio.fail_after(within_s):
                reply = await (await self._line(member_id)).ask(request, client_id)
        except (BrokerUnreachable, trio.TooSlowError):
            self._drop(member_id)
            return None
        if isinstance(reply, _TELLING) and reply.error in _ELSEWHERE:
            self._drop(member_id)
        return reply

    async def _find(self) -> int:
        async with self._finding:
            if self._broker_id is None:
                self._broker_id = await self._coordinators.find_coordinator(self._group_id)
            return self._broker_id

    def _drop(self, member_id: MemberId | None) -> None:
        """Also the coordinator is looked for anew: it may be the one that is gone."""
        self._broker_id = None
        line = self._open.pop(member_id, None)
        if line is not None:
            line.close()

    def close(self) -> None:
        """End all lines."""
        lines, self._open = self._open, {}
        for line in lines.values():
            line.close()


async def leave_seats(
    coordinators: Coordinators, group_id: GroupId, seats: Collection[MemberId]
) -> Obstacle | BrokerUnreachable | None:
    """Let these members leave their broker's group in one request: None when it has none of them any more.

    An obstacle if the broker does not let the bridge do that; BrokerUnreachable, not raised, if it is not known.
    """
    entries = tuple(LeavingMember(member_id=one, reason=REASON) for one in seats)
    if not entries:
        return None
    try:
        line = await coordinators.connect_coordinator(await coordinators.find_coordinator(group_id))
        try:
            with trio.fail_after(ANSWER_S):
                reply = await line.ask(LeaveGroup(group_id=group_id, members=entries), OWN)
        finally:
            line.close()
    except BrokerUnreachable as problem:
        return problem
    except trio.TooSlowError:
        return BrokerUnreachable(f"LeaveGroup got no answer within {ANSWER_S:.0f} s")
    assert isinstance(reply, LeaveGroupReply), reply
    if reply.error in _COME_AGAIN:
        return BrokerUnreachable(f"LeaveGroup got {reply.error.name}")
    return None if reply.error is ErrorCode.NONE else _refused(group_id, reply.error)


def _refused(group_id: GroupId, code: ErrorCode) -> Obstacle:
    return Obstacle(
        "EB-MOVE-221",
        f"the broker does not let the bridge speak for the members of {quote(group_id)}: {code.name}",
        "give the bridge's own login READ on the group",
    )
