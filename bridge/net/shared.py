"""What all connections of one proxy share: limits, counters, buffers and what is held in them, and those who answer."""

import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from secrets import token_bytes
from typing import NamedTuple, Protocol, TypeVar

import trio

from bridge.log_lines import LogFields, RateLimitedLog
from bridge.migration.route import Road
from bridge.net.poller import Poller
from bridge.net.splicing import Pipes
from bridge.net.transport import RECEIVE_BYTES
from bridge.session.client_session import ClientSession, Decision, Offered, Rules
from bridge.session.contracts import Groups, Passing
from bridge.session.counters import Counters
from bridge.session.grants import Grants, Holder
from bridge.session.proven_login import IDENTITY_BYTES
from bridge.session.requests import Head
from bridge.supervision import Failures
from bridge.wire.apis import ApiKey
from translators.dialects.errors import Refusal
from translators.dialects.ids import GroupId, TopicName

SMALL_BYTES = 4096
"""What a connection that collects nothing may read at once while too much is held: heartbeats fit, commits don't."""


TELL_AT_LENGTH = frozenset((ApiKey.DESCRIBE_GROUPS, ApiKey.CONSUMER_GROUP_DESCRIBE, ApiKey.LIST_GROUPS))
"""Apis that are asked in few bytes and answered in many: they wait while too much is held, whoever asks."""


class _Wait:
    """What one connection waits for, perhaps both of its sides."""

    __slots__ = ("count", "news")

    def __init__(self) -> None:
        self.news = trio.Event()
        self.count = 0


Waits = OrderedDict[int, _Wait]
"""By connection, in the order in which they began; an ordered one gives its first at once also after many have gone."""


class InFlight:
    """Bytes by connection. Beyond the limit nobody collects a large request or answer but the one who began first.

    That one always goes on, and is closed if its client does not (`limits.progress.ms`): nobody waits for ever. Who
    collects nothing reads small pieces, so the bound is the limit, one frame, and SMALL_BYTES for each connection.
    """

    def __init__(self, bytes_max: int) -> None:
        self.total_bytes = 0
        self.is_over = False
        """Whether more is held than the limit. A value, since every request that comes asks it."""
        self._bytes_max = bytes_max
        self._held: dict[int, int] = {}
        self._collecting: OrderedDict[int, None] = OrderedDict()
        self._waiting: Waits = OrderedDict()
        self._waiting_for_calm: Waits = OrderedDict()

    def note(self, connection: int, held_bytes: int, collected_bytes: int) -> None:
        """A connection holds so much, of which so much belongs to frames that are still coming."""
        self.total_bytes += held_bytes - self._held.get(connection, 0)
        self.is_over = self.total_bytes > self._bytes_max
        if held_bytes:
            self._held[connection] = held_bytes
        else:
            self._held.pop(connection, None)
        if collected_bytes:
            self._collecting.setdefault(connection)
        else:
            self._collecting.pop(connection, None)
        if self._waiting or self._waiting_for_calm:
            self._tell()

    def room(self, connection: int, collected_bytes: int, wanted_bytes: int) -> int:
        """How many bytes the connection may read now into a frame that it has so much of; 0: none before `changed`."""
        if not self.is_over or next(iter(self._collecting), connection) == connection:
            return wanted_bytes
        return min(wanted_bytes, max(0, SMALL_BYTES - collected_bytes))

    async def changed(self, connection: int) -> None:
        """Wait until it is worth asking again whether this connection may read on (`room`)."""
        await self._wait(self._waiting, connection)

    async def calmed(self, connection: int) -> None:
        """Wait until no more is held than the limit allows, or a moment ago was not: somebody may have been quicker."""
        await self._wait(self._waiting_for_calm, connection)

    async def _wait(self, waits: Waits, connection: int) -> None:
        wait = waits.setdefault(connection, _Wait())
        wait.count += 1
        try:
            await wait.news.wait()
        finally:
            wait.count -= 1
            if not wait.count and waits.get(connection) is wait:
                # Nobody hears it any more: it must not be woken in the place of another.
                del waits[connection]
            self._wake_next()

    def forget(self, connection: int) -> None:
        """Nobody waits for it any more."""
        self._waiting.pop(connection, None)
        self._waiting_for_calm.pop(connection, None)

    def _tell(self) -> None:
        """Whoever may go on: the one whose turn it is, and where there is room the first who waits: 4,000 that were all
        woken by each turn's end were sixteen million wakings until the last had had its own.
        """
        if self._collecting and (own := self._waiting.pop(next(iter(self._collecting)), None)) is not None:
            own.news.set()
        self._wake_next()

    def _wake_next(self) -> None:
        """Of those who wait one, who wakes the next as it goes on: what it reads then may have filled the room.

        All that were woken at once for the room of one were as many wakings as the square of all, whenever one ended.
        """
        if self.is_over and self._collecting:
            return
        if self._waiting:
            self._waiting.popitem(last=False)[1].news.set()
        elif self._waiting_for_calm and not self.is_over:
            self._waiting_for_calm.popitem(last=False)[1].news.set()


class Share:
    """One connection's part of it, until its end."""

    __slots__ = ("_connection", "_in_flight", "_in_line_bytes", "_is_over", "bytes_held")

    def __init__(self, in_flight: InFlight, connection: int) -> None:
        self.bytes_held = 0
        self._in_line_bytes = 0
        self._in_flight = in_flight
        self._connection = connection
        self._is_over = False

    def note(self, held_bytes: int, collected_bytes: int) -> None:
        """The connection holds so much, of which so much belongs to frames that are still coming."""
        if not self._is_over:
            self.bytes_held = held_bytes
            self._in_flight.note(self._connection, held_bytes, collected_bytes + self._in_line_bytes)

    def stand_in_line(self, size_bytes: int) -> None:
        """A whole request of that size, which is held, is as one that is still coming, until it is read."""
        self._in_line_bytes = size_bytes
        self.note(self.bytes_held, 0)

    def leave_line(self) -> None:
        """It is read; what was read of it counts with the next note, which keeps its place in the order."""
        self._in_line_bytes = 0

    def end(self) -> None:
        """The connection holds nothing, and will not again."""
        self._in_line_bytes = 0
        self.note(0, 0)
        self._in_flight.forget(self._connection)
        self._is_over = True

    def room_nowait(self, collected_bytes: int, wanted_bytes: int) -> int:
        """How many bytes may be read now into a frame that there is so much of."""
        return self._in_flight.room(self._connection, collected_bytes, wanted_bytes)

    async def room(self, collected_bytes: int, wanted_bytes: int) -> int:
        """The same, once it is any."""
        while not (room := self.room_nowait(collected_bytes, wanted_bytes)):
            await self._in_flight.changed(self._connection)
        return room

    async def calm(self, api_key: int) -> None:
        """Before a short question with a long answer: wait until not more is held than may be, by all together."""
        while api_key in TELL_AT_LENGTH and self._in_flight.is_over:
            await self._in_flight.calmed(self._connection)


CODEC_THREADS = 1
"""How many large messages are decoded or encoded at once: more threads would take turns with the one that serves."""
ResultT = TypeVar("ResultT")

LOG = logging.getLogger("epochbridge.net")


Place = Callable[[GroupId, str], Awaitable[Refusal | None]]
"""Finds out where a group lives, for a client at an address; the refusal of its request if that can't be found out now.
"""


async def no_place(group_id: GroupId, client_host: str) -> Refusal | None:
    """Every group goes by its rule."""
    del group_id, client_host
    return None


class Asked(NamedTuple):
    """Which topics a broker was asked about with a right, when, and what tells that it has answered."""

    names: frozenset[TopicName]
    at_ms: int
    heard: trio.Event


@dataclass(slots=True, kw_only=True)
class Shared:
    """Shared by all connections; `buffer` is lent to whoever reads and empty again before the next wait."""

    rules: Rules
    groups: Mapping[Road, Groups]
    """Who serves which road; `pass` needs nobody."""
    passing: Passing
    place: Place
    counters: Counters = field(default_factory=Counters)
    failures: Failures = field(default_factory=Failures)
    log: RateLimitedLog = field(default_factory=lambda: RateLimitedLog(LOG))
    pipes: Pipes = field(default_factory=Pipes)
    poller: Poller = field(default_factory=Poller)
    in_flight: InFlight
    unauthenticated: InFlight
    """The same of those connections alone whose clients may be anybody."""
    grants: Grants = field(default_factory=Grants)
    """What clients may do with groups that brokers don't see."""
    asked: dict[Holder, Asked] = field(default_factory=dict)
    """What of that a broker is being asked just now."""
    identity_key: bytes = field(default_factory=partial(token_bytes, IDENTITY_BYTES))
    """Hides what clients log in with, where one has to be told from the other."""
    buffer: memoryview = field(default_factory=lambda: memoryview(bytearray(RECEIVE_BYTES)))
    is_draining: bool = False
    codec_limiter: trio.CapacityLimiter = field(default_factory=lambda: trio.CapacityLimiter(CODEC_THREADS))
    reading: trio.Lock = field(default_factory=trio.Lock)

    async def beside(self, work: Callable[[], ResultT]) -> ResultT:
        """What `work` gives, made in another thread while everybody else is served; it may touch no connection."""
        return await trio.to_thread.run_sync(work, limiter=self.codec_limiter)

    async def read(self, share: Share, size_bytes: int, work: Callable[[], ResultT]) -> ResultT:
        """What `work` reads of a large request that is held whole, in its turn, as it would be received.

        Of JoinGroups that came at once each was read, and became up to 40 times as much, before any of it counted.
        """
        share.stand_in_line(size_bytes)
        while True:
            await share.room(size_bytes, 1)
            async with self.reading:
                if share.room_nowait(size_bytes, 1):
                    found = await self.beside(work)
                    share.leave_line()
                    return found


class Reader(Protocol):
    """A connection whose requests are read."""

    session: ClientSession
    share: Share


async def decide_placed(
    shared: Shared, reader: Reader, head: Head, offered: Offered, refusal: Refusal | None
) -> Decision:
    """Decide on a request once it was found out where its groups live, or answer it so if that can't be; a large one is
    read beside once more.
    """
    session = reader.session
    is_slow = session.is_slow_to_read(head, offered)
    if refusal is None:
        read = partial(session.read_placed, head)
        found = await shared.read(reader.share, len(head.data), read) if is_slow else read()
        return session.decide(head, offered, found, is_placed=True)
    refuse = partial(session.refusal, head, refusal.code)
    return session.refuse(head, await shared.beside(refuse) if is_slow else refuse())


def connection_fields(session: ClientSession) -> LogFields:
    """What a line about a connection says of its client beside its words."""
    client = session.identity
    fields = LogFields(client_id=client.client_id, client_host=client.client_host, connection=session.connection)
    if session.principal:
        fields["principal"] = session.principal
    return fields
