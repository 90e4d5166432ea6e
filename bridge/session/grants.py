"""What was found out of clients' rights, kept for a while: who may READ which group, and which topics it may see."""

from collections.abc import Hashable, Iterator
from typing import NamedTuple

from translators.dialects.ids import GroupId, TopicName

KEEP_MS = 60_000
GRANTS_MAX = 100_000
"""How long a right is believed before it is asked for again, and of how many it is remembered, unless the configuration
says otherwise (`authorization.cache.ms`, `authorization.cache.max`).
"""
TOPICS_MAX = 10_000
"""So many topics are kept for one grant; beyond that those of the latest question alone."""
VOID_AFTER = 2
"""So many times the time after which a right is asked for again it is believed where no answer comes."""


class Holder(NamedTuple):
    """Whose right on which group; `principal` is one value for all connections that brokers know as the same one."""

    principal: Hashable
    group_id: GroupId


class Grant:
    """The right to READ one group; others hold on to it, so that they see at a glance when it is lost.

    What may not be is not kept: it is asked each time, so that a right that is given counts at once.
    """

    __slots__ = ("due_ms", "given_ms", "is_fresh", "topics", "void_ms")

    def __init__(self, topics: frozenset[TopicName], now_ms: int, keep_ms: int) -> None:
        self.topics = topics
        """Those that were found to be seen by who has it."""
        self.is_fresh = True
        """Whether nothing is to be asked; a grant that was lost is not fresh, and never will be again."""
        self.given_ms = self.due_ms = self.void_ms = 0
        self.extend(now_ms, keep_ms)

    def extend(self, now_ms: int, keep_ms: int) -> None:
        """It was asked for again."""
        self.given_ms, self.due_ms, self.void_ms = now_ms, now_ms + keep_ms, now_ms + VOID_AFTER * keep_ms
        self.is_fresh = True

    def go_on(self, now_ms: int) -> None:
        """It is due, and being asked for again: nobody else has to for now, so that all but who asks take the short way
        until grants are looked at next. Not where it will be void soon: that would be seen too late by whom nothing
        was heard.
        """
        if now_ms < (self.due_ms + self.void_ms) // 2:
            self.is_fresh = True


FREE = Grant(frozenset(), 0, 2**62)
"""By this goes what needs no grant of its own."""


class _Holders:
    """Who holds how many grants: whose are to go where there are too many is found without a search."""

    def __init__(self) -> None:
        self._groups: dict[Hashable, dict[GroupId, None]] = {}
        """By principal, in the order in which they fall due."""
        self._by_count: dict[int, dict[Hashable, None]] = {}
        self._most = 0

    def add(self, holder: Holder) -> None:
        """One more, which falls due last."""
        groups = self._groups.setdefault(holder.principal, {})
        groups[holder.group_id] = None
        self._note(holder.principal, len(groups) - 1, len(groups))

    def remove(self, holder: Holder) -> None:
        """One less."""
        groups = self._groups[holder.principal]
        del groups[holder.group_id]
        self._note(holder.principal, len(groups) + 1, len(groups))
        if not groups:
            del self._groups[holder.principal]

    def _note(self, principal: Hashable, before: int, now: int) -> None:
        if before:
            del self._by_count[before][principal]
            if not self._by_count[before]:
                del self._by_count[before]
        if now:
            self._by_count.setdefault(now, {})[principal] = None
        # It was the last with the most, and has one less now.
        self._most = now if now > self._most or (before == self._most and before not in self._by_count) else self._most

    def greediest(self) -> Holder:
        """The oldest grant of somebody of whom nobody has more; there is one."""
        principal = next(iter(self._by_count[self._most]))
        return Holder(principal, next(iter(self._groups[principal])))


class Grants:
    """The grants of all connections, at most `most`; beyond that the oldest go of whoever has the most: who is in very
    many groups pushes out no others'.
    """

    def __init__(self, keep_ms: int = KEEP_MS, most: int = GRANTS_MAX) -> None:
        self._keep_ms = keep_ms
        self._most = most
        self._held: dict[Holder, Grant] = {}
        """In the order in which they fall due."""
        self._holders = _Holders()

    def __len__(self) -> int:
        return len(self._held)

    def find(self, holder: Holder, now_ms: int) -> Grant | None:
        """What is known, unless that was too long ago."""
        grant = self._held.get(holder)
        return None if grant is None or now_ms >= grant.void_ms else grant

    def seen(self, holder: Holder) -> frozenset[TopicName]:
        """The topics that a holder was found to see, however long ago, as far as that is kept."""
        grant = self._held.get(holder)
        return frozenset() if grant is None else grant.topics

    def give(self, holder: Holder, topics: frozenset[TopicName], now_ms: int) -> Grant:
        """A broker has said that it may be, and which of the topics that it was asked about are seen.

        Where that is all that was known, what holds on to it goes on; else that has to look again.
        """
        known = self._held.pop(holder, None)
        if known is not None:
            self._holders.remove(holder)
        if known is not None and known.topics <= topics and now_ms < known.void_ms:
            known.topics = topics
            known.extend(now_ms, self._keep_ms)
            self._held[holder] = known
            self._holders.add(holder)
            return known
        if known is not None:
            known.is_fresh = False
        while len(self._held) >= self._most:
            self._lose(self._holders.greediest())
        grant = self._held[holder] = Grant(topics, now_ms, self._keep_ms)
        self._holders.add(holder)
        return grant

    def take(self, holder: Holder) -> None:
        """A broker has said that it may not be, or nothing is to be believed any more."""
        if holder in self._held:
            self._lose(holder)

    def sweep(self, now_ms: int, *, forgets: bool = True) -> None:
        """Have those that are due asked for at their next use, and forget those that nobody used since, unless there is
        nobody to ask just now.
        """
        for holder, grant in list(self._due(now_ms)):
            grant.is_fresh = False
            if forgets and now_ms >= grant.void_ms:
                self._lose(holder)

    def _due(self, now_ms: int) -> Iterator[tuple[Holder, Grant]]:
        for holder, grant in self._held.items():
            if now_ms < grant.due_ms:
                return
            yield holder, grant

    def _lose(self, holder: Holder) -> None:
        self._held.pop(holder).is_fresh = False
        self._holders.remove(holder)
