"""The proof that a whole group is at rest at its broker: every member was heard, and its Heartbeat is answered so."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

import trio

from bridge.coordinators.by_connection import OfConnections
from bridge.coordinators.mapped.seats import MappedSeat
from bridge.migration.moves.members import ClassicMember
from bridge.migration.orders import MemberStage, Obstacle
from bridge.migration.roster import Roster
from bridge.session.contracts import Access
from translators.dialects.classic import Heartbeat, HeartbeatReply, SyncGroup
from translators.dialects.coordinator import Refused
from translators.dialects.counts import counted
from translators.dialects.errors import ErrorCode, quote
from translators.dialects.ids import GroupId, MemberId, Via
from translators.dialects.messages import GroupReply, GroupRequest
from translators.dialects.offsets import OffsetCommit, TxnOffsetCommit

GATHER_S = 15.0
"""How long every member may take to be heard: longer than the heartbeat interval of any client that is set up well."""


@dataclass(frozen=True, slots=True)
class Heard:
    """Where a member was heard last, and in which generation its broker has it."""

    via: Via
    generation: int


class ProofOfRest:
    """Of these members, by the ids that their clients know; `seats` are those that their broker knows otherwise."""

    def __init__(
        self,
        group_id: GroupId,
        members: Mapping[MemberId, ClassicMember],
        seats: Mapping[MemberId, MappedSeat],
        access: Access,
    ) -> None:
        self.members = members
        self.heard: OfConnections[MemberId, Heard] = OfConnections(lambda heard: heard.via.connection)
        self.stopped: Obstacle | None = None
        self._group_id = group_id
        self._seats = seats
        self._access = access
        self._beside: OfConnections[Via, Via] = OfConnections(lambda via: via.connection)
        """Other connections by which something of these members came: offsets of transactions by their producers', and
        commits of clients that beat by one and commit by another.
        """
        self._news = trio.Event()
        """Everybody was heard, or the move was stopped."""
        self._is_proved = False

    # ------------------------------------------------------------------ what is heard

    def meet(self, roster: Roster) -> None:
        """Begin with what was heard of the members before; mapped ones are to be heard anew."""
        for member_id, said in roster.members_of(self._group_id).items():
            known = member_id in self.members and member_id not in self._seats
            if known and said.generation is not None:
                self.know(member_id, said.via, said.generation)

    def comes_by(self, vias: Iterable[Via]) -> None:
        """Something of the group came by these connections while it was looked at, and may be on its way still.

        A client that joins by one and beats and commits by another (franz-go) was at rest by the first: what it had
        committed just before the move was answered 25 behind its farewell, and it joined anew.
        """
        self._beside.update((via, via) for via in vias if self._access(via).connection >= 0)

    def know(self, member_id: MemberId, via: Via, generation: int) -> None:
        """By which connection a member can be asked, if that is there still; the generation is its client's."""
        if self._access(via).connection >= 0:
            self._note(member_id, via, generation)

    def hear(self, via: Via, request: GroupRequest) -> None:
        """A request that goes on to the broker."""
        if isinstance(request, TxnOffsetCommit):
            self._beside[via] = via
        elif isinstance(request, (Heartbeat, SyncGroup, OffsetCommit)):
            self._note(request.member_id, via, request.generation)

    def disconnected(self, connection: int) -> None:
        """A connection is gone: its members are to be heard by another; of who is proved to be at rest all is known."""
        if self._is_proved:
            return
        self._beside.lose(connection)
        self.heard.lose(connection)

    def stop(self, code: str, reason: Refused) -> None:
        """Nobody waits any longer."""
        self.stopped = Obstacle(code, f"the move was stopped: {reason.reason}", "order it again")
        self._news.set()

    def _note(self, member_id: MemberId, via: Via, generation: int) -> None:
        if member_id not in self.members or generation < 0:
            return
        seat = self._seats.get(member_id)
        if seat is not None:
            generation = seat.seat_generation if generation == seat.generation else generation
        before = self.heard.get(member_id)
        if before is not None and before.via != via:
            # What it said by that one may still be on its way.
            self._beside[before.via] = before.via
        if before is None or generation >= before.generation:
            self.heard[member_id] = Heard(via, generation)
        else:
            # A request of an older generation, long on its way: the member is in the newer one.
            self._beside[via] = via
        if self.members.keys() <= self.heard.keys():
            self._news.set()

    # ------------------------------------------------------------------ the proof

    async def gather(self) -> Obstacle | None:
        """Wait until everybody was heard; requests go on meanwhile."""
        with trio.move_on_after(GATHER_S):
            while self.stopped is None and not self.members.keys() <= self.heard.keys():
                # Who was heard may be lost again before the others come.
                self._news = trio.Event()
                await self._news.wait()
            return self.stopped
        silent = sorted(self.members.keys() - self.heard.keys())
        return Obstacle(
            "EB-MOVE-223",
            f"{counted(len(silent), 'member')} of {quote(self._group_id)} said nothing within {GATHER_S:.0f} s, "
            f"{quote(silent[0])} among them: who is not heard comes by another way, or not any more",
            "let all its clients use the bridge, and wait until those that are gone have left the group",
            silent[0],
        )

    async def prove(self, within_ms: int, note: Callable[[MemberId, MemberStage, str], None]) -> Obstacle | None:
        """A Heartbeat in each member's place, from whose answers on nothing is on its way; requests are held already.

        A broker answers what came by one connection in order, so there is one by each, also where only that matters.
        """
        beats = {one: self._beat(one, heard.generation) for one, heard in self.heard.items()}
        lines: list[tuple[MemberId | Via, Via, Heartbeat]] = [
            (one, self.heard[one].via, beat) for one, beat in beats.items()
        ]
        beside = self._beside.keys() - {via for _, via, _ in lines}
        lines += [(via, via, next(iter(beats.values()))) for via in beside if beats]
        answers: dict[MemberId | Via, ErrorCode] = {}
        done = trio.Event()

        def take(who: MemberId | Via, reply: GroupReply | None) -> None:
            answers[who] = reply.error if isinstance(reply, HeartbeatReply) else ErrorCode.NETWORK_EXCEPTION
            if len(answers) == len(lines):
                done.set()

        for who, via, beat in lines:
            self._access(via).ask(None, beat, partial(take, who))
        with trio.move_on_after(within_ms / 1000):
            await done.wait()
        for member_id in self.members:
            note(member_id, MemberStage.MOVING, "")
            code = answers.get(member_id, ErrorCode.REQUEST_TIMED_OUT)
            if code is not ErrorCode.NONE:
                return _restless(member_id, code)
        if any(via not in answers for via in beside):
            return Obstacle(
                "EB-MOVE-224",
                f"{quote(self._group_id)} is not at rest: by another connection of its clients, of commits perhaps, its"
                f" broker answers nothing within {within_ms / 1000:.1f} s, and something may be on its way by it",
                "order the move again",
            )
        self._is_proved = True
        return None

    def seat_id(self, member_id: MemberId) -> MemberId:
        """As whom its broker knows a member."""
        seat = self._seats.get(member_id)
        return member_id if seat is None else seat.seat_id

    def _beat(self, member_id: MemberId, generation: int) -> Heartbeat:
        instance_id = self.members[member_id].instance_id
        return Heartbeat(self._group_id, generation, self.seat_id(member_id), instance_id)


def _restless(member_id: MemberId, code: ErrorCode) -> Obstacle:
    return Obstacle(
        "EB-MOVE-224",
        f"{quote(member_id)} is not at rest: its broker answers a heartbeat with {code.name}",
        "order the move again when the group has settled",
        member_id,
    )
