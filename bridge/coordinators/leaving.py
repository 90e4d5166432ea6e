"""LeaveGroup requests that concern machines and members of the engine alike: which entry is whose, and the one answer.

It must not know how a member leaves.
"""

from collections.abc import Sequence
from dataclasses import replace

from translators.dialects.classic import LeaveGroup, LeaveGroupReply, LeavingMember, LeftMember
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import RequestRef


class Departures:
    """The LeaveGroup requests of one turn that wait for the engine's part of their answer."""

    def __init__(self) -> None:
        self._begun: dict[RequestRef, tuple[LeaveGroup, tuple[int, ...]]] = {}

    def begin(self, ref: RequestRef, request: LeaveGroup, others: Sequence[int]) -> LeaveGroupReply | None:
        """The answer if no entry is left for the engine, else None; `others` are the positions of its entries."""
        if not others and request.members:
            return LeaveGroupReply(error=ErrorCode.NONE, members=tuple(map(_left, request.members)))
        self._begun[ref] = (request, tuple(others))
        return None

    def remainder(self, ref: RequestRef) -> LeaveGroup:
        """What the engine has to do of the request."""
        request, others = self._begun[ref]
        return replace(request, members=tuple(request.members[position] for position in others))

    def end(self, ref: RequestRef, reply: LeaveGroupReply) -> LeaveGroupReply:
        """The whole answer in the order asked, with the engine's part in its places."""
        request, others = self._begun.pop(ref)
        if reply.error is not ErrorCode.NONE:
            return reply
        answers = iter(reply.members)
        members = tuple(
            next(answers) if position in others else _left(entry) for position, entry in enumerate(request.members)
        )
        return replace(reply, members=members)


def _left(entry: LeavingMember) -> LeftMember:
    return LeftMember(member_id=entry.member_id, instance_id=entry.instance_id, error=ErrorCode.NONE)
