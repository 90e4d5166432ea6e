"""Clients that were members before the bridge started, where no journal tells of them: their brokers may still have
their seats.
"""

from collections import OrderedDict

from translators.dialects.ids import MemberRef

REMEMBERED_MAX = 100_000
"""Members that were called, and members that are gone; of the oldest ones it is forgotten."""


class LeftOvers:
    """Who may be one: for a broker's session after the start (`until_ms`) whoever has not been a member since."""

    def __init__(self, until_ms: int) -> None:
        self._until_ms = until_ms
        # By what their names come to, which takes as much for a name of 32 kB as for any other.
        self._called: OrderedDict[int, None] = OrderedDict()
        self._gone: OrderedDict[int, None] = OrderedDict()

    def may_have(self, member: MemberRef, now_ms: int) -> bool:
        """Whether a member without a machine may still have its seat."""
        return now_ms < self._until_ms and _mark(member) not in self._gone

    def call(self, member: MemberRef, now_ms: int) -> bool:
        """Whether to tell it to join again, which is done once: its JoinGroup says what it has, no heartbeat does."""
        if _mark(member) in self._called or not self.may_have(member, now_ms):
            return False
        _remember(self._called, member)
        return True

    def note_gone(self, member: MemberRef) -> None:
        """A member is gone: what its client still thinks to have may be somebody else's by now."""
        _remember(self._gone, member)


def _mark(member: MemberRef) -> int:
    return hash((member.group_id, member.member_id))


def _remember(where: "OrderedDict[int, None]", member: MemberRef) -> None:
    where[_mark(member)] = None
    if len(where) > REMEMBERED_MAX:
        where.popitem(last=False)
