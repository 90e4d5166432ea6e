"""LeaveGroup requests on their way to their answer: the part of it that is the coordinator's, and the farewells of the
members, until which it waits where the coordinator is a broker.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import chain, repeat

from translators.dialects.classic import LeaveGroup, LeaveGroupReply, LeavingMember, LeftMember
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberRef, RequestRef

Verdicts = Sequence[ErrorCode | None]
"""One per entry of a request: what becomes of it, None where the coordinator is to say."""


class Departures:
    """The LeaveGroup requests of one turn that wait for the coordinator's part of their answer."""

    def __init__(self) -> None:
        self._begun: dict[RequestRef, tuple[LeaveGroup, Verdicts]] = {}

    def begin(self, ref: RequestRef, request: LeaveGroup, verdicts: Verdicts) -> LeaveGroupReply | None:
        """The answer if no entry is left for the coordinator, else None."""
        if None not in verdicts:
            return LeaveGroupReply(error=ErrorCode.NONE, members=_answers(request, verdicts))
        self._begun[ref] = (request, verdicts)
        return None

    def remainder(self, ref: RequestRef) -> LeaveGroup:
        """What the coordinator has to do of the request."""
        request, verdicts = self._begun[ref]
        entries = (entry for entry, code in zip(request.members, verdicts, strict=True) if code is None)
        return replace(request, members=tuple(entries))

    def end(self, ref: RequestRef, reply: LeaveGroupReply) -> LeaveGroupReply:
        """The answer in the order asked, with the coordinator's part in its places; whole already if not begun."""
        request, verdicts = self._begun.pop(ref, (None, ()))
        if request is None or reply.error is not ErrorCode.NONE:
            return reply
        # Whom a broker leaves out nobody has the word of.
        theirs = chain((one.error for one in reply.members), repeat(ErrorCode.COORDINATOR_NOT_AVAILABLE))
        codes = tuple(next(theirs) if code is None else code for code in verdicts)
        return replace(reply, members=_answers(request, codes))

    def clear(self) -> None:
        """Forget what was begun: the turn has failed."""
        self._begun.clear()


def once_each(leavers: Sequence[tuple[MemberRef, ErrorCode | None]]) -> list[tuple[MemberRef, ErrorCode | None]]:
    """The verdicts where a member that is named again is not there any more."""
    gone: set[MemberRef] = set()
    judged: list[tuple[MemberRef, ErrorCode | None]] = []
    for key, code in leavers:
        judged.append((key, ErrorCode.UNKNOWN_MEMBER_ID if key in gone else code))
        if code is None or code is ErrorCode.NONE:
            gone.add(key)
    return judged


def _answers(request: LeaveGroup, codes: Verdicts) -> tuple[LeftMember, ...]:
    return tuple(_left(entry, code) for entry, code in zip(request.members, codes, strict=True) if code is not None)


def _left(entry: LeavingMember, code: ErrorCode) -> LeftMember:
    return LeftMember(member_id=entry.member_id, instance_id=entry.instance_id, error=code)


@dataclass(slots=True)
class _Waiting:
    """One LeaveGroup; its answer waits for `members` until a time, or is not there itself yet."""

    members: set[MemberRef]
    until_ms: int
    reply: LeaveGroupReply | None = None


Ready = list[tuple[RequestRef, LeaveGroupReply]]
"""Answers that wait no more."""


class OpenFarewells:
    """The LeaveGroup requests whose members the coordinator has not heard out. Kafka answers one when the members are
    gone, and whoever knows that it was answered counts on it: an admin's DeleteGroups by another connection.
    """

    def __init__(self) -> None:
        self._waiting: dict[RequestRef, _Waiting] = {}
        """In the order in which they are due, as each waits for the same time."""
        self._of: dict[MemberRef, RequestRef] = {}

    def __contains__(self, member: MemberRef) -> bool:
        """Whether somebody waits for the farewell of a member."""
        return member in self._of

    def expect(self, ref: RequestRef, members: Collection[MemberRef], until_ms: int) -> None:
        """The answer of `ref` is to wait for these, if for anybody."""
        if members:
            self._waiting[ref] = _Waiting(set(members), until_ms)
            self._of.update(dict.fromkeys(members, ref))

    def keeps(self, ref: RequestRef, reply: LeaveGroupReply) -> bool:
        """Whether an answer has to wait; it is kept then."""
        waiting = self._waiting.get(ref)
        if waiting is not None:
            waiting.reply = reply
        return waiting is not None

    def end(self, member: MemberRef) -> Ready:
        """A member was heard out, or there is nothing to wait for; gives the answer that waited for no one else."""
        ref = self._of.pop(member)
        members = self._waiting[ref].members
        members.discard(member)
        return [] if members else self._take(ref)

    def next_due_ms(self) -> int | None:
        """When an answer has waited long enough."""
        return next((one.until_ms for one in self._waiting.values()), None)

    def take_due(self, now_ms: int) -> Ready:
        """Those that have."""
        ready: Ready = []
        while self._waiting:
            ref, waiting = next(iter(self._waiting.items()))
            if waiting.until_ms > now_ms:
                break
            ready += self._take(ref)
        return ready

    def take_all(self) -> Ready:
        """Every answer that waits; none waits any more."""
        return [one for ref in tuple(self._waiting) for one in self._take(ref)]

    def _take(self, ref: RequestRef) -> Ready:
        """Without an answer of its own yet, as while the coordinator has a part in it, it is answered as that comes."""
        waiting = self._waiting.pop(ref)
        for member in waiting.members:
            del self._of[member]
        return [] if waiting.reply is None else [(ref, waiting.reply)]
