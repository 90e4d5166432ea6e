"""LeaveGroup requests that concern machines and members of the engine alike: which entry is whose, and the one answer.

It must not know how a member leaves.
"""

from collections.abc import Sequence
from dataclasses import replace

from translators.dialects.classic import LeaveGroup, LeaveGroupReply, LeavingMember, LeftMember
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberRef, RequestRef

Verdicts = Sequence[ErrorCode | None]
"""One per entry of a request: what becomes of it, None where the engine is to say."""


class Departures:
    """The LeaveGroup requests of one turn that wait for the engine's part of their answer."""

    def __init__(self) -> None:
        self._begun: dict[RequestRef, tuple[LeaveGroup, Verdicts]] = {}

    def begin(self, ref: RequestRef, request: LeaveGroup, verdicts: Verdicts) -> LeaveGroupReply | None:
        """The answer if no entry is left for the engine, else None."""
        if None not in verdicts:
            return LeaveGroupReply(error=ErrorCode.NONE, members=_answers(request, verdicts))
        self._begun[ref] = (request, verdicts)
        return None

    def remainder(self, ref: RequestRef) -> LeaveGroup:
        """What the engine has to do of the request."""
        request, verdicts = self._begun[ref]
        entries = (entry for entry, code in zip(request.members, verdicts, strict=True) if code is None)
        return replace(request, members=tuple(entries))

    def end(self, ref: RequestRef, reply: LeaveGroupReply) -> LeaveGroupReply:
        """The whole answer in the order asked, with the engine's part in its places; whole already if not begun."""
        request, verdicts = self._begun.pop(ref, (None, ()))
        if request is None or reply.error is not ErrorCode.NONE:
            return reply
        theirs = iter(reply.members)
        codes = tuple(next(theirs).error if code is None else code for code in verdicts)
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
