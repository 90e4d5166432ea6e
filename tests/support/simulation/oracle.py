"""Who processes what at this instant as the clients themselves see it, and how each client has been treated."""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from translators.dialects.ids import TopicName, TopicPartition

TRACE_MAX = 60
FOREVER_MS = 10**15


class InvariantBroken(Exception):
    """A law of the world was broken: which, and what was seen."""

    def __init__(self, law: str, seen: str) -> None:
        super().__init__(f"{law}: {seen}")
        self.law = law


@dataclass(slots=True)
class Treatment:
    """What a client did and suffered since its last rest."""

    joins: int = 0
    calls: int = 0
    fences: int = 0
    revocations: int = 0
    longest_park_ms: int = 0


@dataclass(slots=True, kw_only=True)
class Standing:
    """One client process: when the bridge last heard of it, and whether it has outlived its session since it was last
    admitted.

    A client past its session may still believe that it owns partitions (it was paused, or its line was); the world
    forgives it that until it is admitted again. So it does from `grace_ends_ms` on, when the bridge lost its memory at
    `forgotten_ms`; an answer from before that admits nobody.
    """

    number: int
    name: str
    session_ms: int
    heard_ms: int
    has_expired: bool = False
    grace_ends_ms: int | None = None
    forgotten_ms: int = -1
    answered_ms: int = 0
    treatment: Treatment


class Oracle:
    """Holders by partition; a second holder breaks the first law (reliability 3.2, 1)."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self.standings: dict[int, Standing] = {}
        self.trace: deque[str] = deque(maxlen=TRACE_MAX)
        self.takes = 0
        self._now_ms = now_ms
        self._holders: dict[TopicPartition, list[int]] = {}

    def note(self, who: str, what: str) -> None:
        """Remember what happened, for the report of a failure."""
        self.trace.append(f"{self._now_ms():>8} {who:<28} {what}")

    def enter(self, number: int, name: str, session_ms: int) -> None:
        """A client process starts."""
        now_ms = self._now_ms()
        self.standings[number] = Standing(
            number=number, name=name, session_ms=session_ms, heard_ms=now_ms, treatment=Treatment()
        )

    def hear(self, number: int) -> None:
        """The bridge hears of a client: a request that keeps its session alive has arrived."""
        standing = self.standings[number]
        standing.has_expired = self.is_excused(number)
        standing.heard_ms = self._now_ms()

    def revive(self, number: int) -> None:
        """The bridge admits a client: the session starts, however long the request was parked."""
        self.standings[number].heard_ms = self.standings[number].answered_ms = self._now_ms()

    def lose_memory(self, until_ms: int) -> None:
        """The bridge has forgotten everybody, and waits for survivors until then (decision 9)."""
        for standing in self.standings.values():
            # Who was excused already stays so: others may have been given what it had by the bridge before this one.
            standing.has_expired = self.is_excused(standing.number)
            standing.grace_ends_ms, standing.forgotten_ms = until_ms, self._now_ms()

    def leave_behind(self, number: int) -> None:
        """The coordinator will not know the client's generation, though nobody else gets what it has meanwhile."""
        standing = self.standings[number]
        standing.grace_ends_ms, standing.forgotten_ms = FOREVER_MS, self._now_ms()

    def admit(self, number: int) -> None:
        """A client learned that it is a member: from now on nothing is forgiven."""
        standing = self.standings[number]
        standing.has_expired = False
        if standing.answered_ms > standing.forgotten_ms:
            standing.grace_ends_ms = None
        for partition, holders in self._holders.items():
            if number in holders:
                self._check(partition, number, holders)

    def is_excused(self, number: int) -> bool:
        """Whether the client's session was over, or its bridge waits no longer for it, since it was last admitted."""
        standing, now_ms = self.standings[number], self._now_ms()
        if standing.has_expired or now_ms - standing.heard_ms >= standing.session_ms:
            return True
        return standing.grace_ends_ms is not None and now_ms >= standing.grace_ends_ms

    def may_be_unknown(self, number: int) -> bool:
        """Whether the bridge may rightly not know the client."""
        return self.is_excused(number) or self.standings[number].grace_ends_ms is not None

    def take(self, number: int, partitions: Iterable[TopicPartition]) -> None:
        """A client starts to process partitions."""
        for partition in sorted(partitions):
            self.takes += 1
            holders = self._holders.setdefault(partition, [])
            if number not in holders:
                holders.append(number)
                self._check(partition, number, holders)

    def release(self, number: int, partitions: Iterable[TopicPartition]) -> None:
        """A client processes partitions no more."""
        for partition in partitions:
            holders = self._holders.get(partition, [])
            if number in holders:
                holders.remove(number)

    def forget_topic(self, topic: TopicName) -> None:
        """A topic is deleted: there is nothing to process, whatever clients believe."""
        for partition in [partition for partition in self._holders if partition.topic == topic]:
            del self._holders[partition]

    def holders(self, partition: TopicPartition) -> tuple[int, ...]:
        """Who processes a partition."""
        return tuple(self._holders.get(partition, ()))

    def rest(self) -> None:
        """A phase begins: count treatment anew."""
        for standing in self.standings.values():
            standing.treatment = Treatment()

    def _check(self, partition: TopicPartition, number: int, holders: list[int]) -> None:
        rivals = [other for other in holders if other != number and not self.is_excused(other)]
        if rivals and not self.is_excused(number):
            names = [self.standings[other].name for other in (number, *rivals)]
            raise InvariantBroken("no partition is processed by two", f"{partition} by {names}")
