"""What is noticed of groups that go through untouched: counted always, and followed where an event log is written.

A heartbeat like the last one with an answer like the last one is not even decoded.
"""

import logging
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from bridge.log_lines import PASSING, LogFields
from bridge.session.contracts import Hear, PassingRequest
from bridge.session.limits import LARGE_BODY_BYTES
from bridge.telemetry.following.follower import Follower
from bridge.telemetry.following.topic_names import TopicBook
from bridge.telemetry.observing import Guard
from bridge.telemetry.schema.terms import Road
from bridge.wire.apis import ApiKey, api_name
from bridge.wire.codec.registry import Reply, decode_reply
from bridge.wire.errors import MalformedFrame
from bridge.wire.fetch import read_fetch
from bridge.wire.frames import (
    LENGTH_BYTES,
    REQUEST_CORRELATION_END,
    REQUEST_CORRELATION_OFFSET,
    RESPONSE_CORRELATION_END,
    RequestHeader,
)
from translators.dialects.consumer import ConsumerGroupHeartbeatReply
from translators.dialects.errors import quote
from translators.dialects.ids import ClientIdentity, GroupId, RequestRef
from translators.dialects.kept_names import NAME_CHARS_MAX, kept_name

GROUPS_MAX = 10_000
"""How many groups are counted one by one; the requests of further ones are counted together."""
OTHERS = GroupId("")
"""As which these are counted, and groups with names longer than `NAME_CHARS_MAX`: a stranger could have 10,000 of 32 kB
kept, 320 MB.
"""
LOG = logging.getLogger("epochbridge.telemetry")


class PassingLog:
    """Counts requests of groups on road `pass`, by group and api, and reads nothing more of them."""

    def __init__(self) -> None:
        self.requests: dict[GroupId, Counter[int]] = {}
        self.untranslated_joins: Counter[GroupId] = Counter()
        """Joins of members that nobody can translate, by group."""
        self._told: set[tuple[str, str]] = set()
        self._unread_told: set[tuple[str, str]] = set()

    def passed(self, header: RequestHeader, group_id: GroupId, client: ClientIdentity) -> None:
        """A request of a `pass` group is on its way to the broker."""
        counted = self.requests.get(group_id)
        if counted is None:
            known = group_id if len(self.requests) < GROUPS_MAX and len(group_id) <= NAME_CHARS_MAX else OTHERS
            counted = self.requests.setdefault(known, Counter())
        counted[header.api_key] += 1

    def untranslated(self, group_id: GroupId, client: ClientIdentity, reason: str) -> None:
        """A classic client joins at the broker as nobody can translate it: said once for each group and reason."""
        has_room = len(self.untranslated_joins) < GROUPS_MAX and len(group_id) <= NAME_CHARS_MAX
        known = group_id if group_id in self.untranslated_joins or has_room else OTHERS
        self.untranslated_joins[known] += 1
        told = (kept_name(group_id), reason)
        if told not in self._told and len(self._told) < GROUPS_MAX:
            self._told.add(told)
            LOG.warning(
                "EB-GROUP-009: client %r joins group %r at the broker itself, not on road upstream: %s; "
                "nothing of it is translated, and a rule that sends the group to `pass` says the same",
                *(quote(client.client_id), quote(group_id), reason),
                extra=LogFields(group_id=group_id, client_id=client.client_id, road=PASSING),
            )

    def passed_unread(self, header: RequestHeader, client: ClientIdentity) -> None:
        """A request about settings passes that may name groups of the bridge's: said once for each client and api."""
        told = (kept_name(client.client_id), api_name(header.api_key))
        if told not in self._unread_told and len(self._unread_told) < GROUPS_MAX:
            self._unread_told.add(told)
            LOG.warning(
                "EB-GROUP-026: a %s of %d bytes by client %r goes to the broker as it is, for it is larger than "
                "wire.group-frame.bytes.max: what it says of embedded groups does not count here; ask for groups, and "
                "alter them, in requests of their own",
                *(told[1], header.frame_bytes, quote(client.client_id)),
                extra=LogFields(client_id=client.client_id, client_host=client.client_host),
            )

    def overhear(
        self, ref: RequestRef, request: PassingRequest, client: ClientIdentity, broker_id: int | None
    ) -> Hear | None:
        """Nobody wants to see answers."""
        return None

    def awaits_fetch(self, client: ClientIdentity) -> bool:
        """Nobody waits for a Fetch."""
        return False

    def fetched(self, header: RequestHeader, data: bytes | memoryview, client: ClientIdentity) -> None:
        """Nobody reads it."""


FOLLOWED_APIS = frozenset(
    (
        ApiKey.JOIN_GROUP,
        ApiKey.SYNC_GROUP,
        ApiKey.HEARTBEAT,
        ApiKey.LEAVE_GROUP,
        ApiKey.CONSUMER_GROUP_HEARTBEAT,
        ApiKey.OFFSET_COMMIT,
    )
)
BEATS = frozenset((ApiKey.HEARTBEAT, ApiKey.CONSUMER_GROUP_HEARTBEAT))
WAITING_MAX = 1_000
"""How many heartbeats may wait for the names of topics; further ones are told with ids."""


class Beat(NamedTuple):
    """The last heartbeat of a connection and its answer, without their correlation ids. A tuple, since one is made and
    compared with each heartbeat.
    """

    request: bytes
    answer: bytes


BEAT_BYTES_MAX = 4_096
"""Longer ones, of which a client may send a megabyte on each connection, are read each time."""
NOTHING_SAID = Beat(b"", b"")
"""Of a connection whose first heartbeat is not answered yet."""


class Sent(NamedTuple):
    """A request as it came: who sent it to which broker, and when (monotonic microseconds)."""

    request: PassingRequest
    client: ClientIdentity
    broker_id: int | None
    at_us: int


class ObservedPassing(PassingLog):
    """Counts what passes, and follows it."""

    def __init__(
        self,
        follower: Follower,
        guard: Guard,
        topics: TopicBook,
        now_us: Callable[[], int],
        learn: Callable[[], None],
    ) -> None:
        """`learn` asks for a look at the cluster's topics, which ends with `learned`."""
        super().__init__()
        self._follower = follower
        self._guard = guard
        self._topics = topics
        self._now_us = now_us
        self.unread = 0
        """Requests and answers that could not be read."""
        self._learn = learn
        self._beats: dict[int, Beat] = {}
        self._waiting: list[Callable[[], None]] = []

    def overhear(
        self, ref: RequestRef, request: PassingRequest, client: ClientIdentity, broker_id: int | None
    ) -> Hear | None:
        """See `session.contracts.Passing`."""
        api_key = request.header.api_key
        if api_key not in FOLLOWED_APIS:
            return None
        sent = Sent(request, client, broker_id, self._now_us())
        self._follower.spoke(ref.connection, sent.at_us)
        if api_key in BEATS:
            self._beats.setdefault(ref.connection, NOTHING_SAID)
            return partial(self._hear_beat, ref, sent, request.keep())
        if self._is_not_worth_it(request):
            return None
        is_followed: list[bool] = []
        self._read(lambda: is_followed.append(self._ask(ref, sent)))
        return partial(self._hear, ref, request.header, broker_id) if is_followed and is_followed[0] else None

    def _is_not_worth_it(self, request: PassingRequest) -> bool:
        """A large commit takes long to read, and most say nothing that is told: the first after a rebalance do."""
        header = request.header
        is_large = header.api_key == ApiKey.OFFSET_COMMIT and header.frame_bytes >= LARGE_BODY_BYTES
        return is_large and not any(map(self._follower.awaits_commit, request.group_ids))

    def awaits_fetch(self, client: ClientIdentity) -> bool:
        """See `session.contracts.Passing`; that a client fetches at all is told in any case."""
        self._follower.fetches(client, self._now_us())
        awaiting = self._follower.writer.awaiting
        return bool(awaiting) and (client.client_id, client.client_host) in awaiting

    def fetched(self, header: RequestHeader, data: bytes | memoryview, client: ClientIdentity) -> None:
        """See `session.contracts.Passing`."""
        self._read(lambda: self._read_fetch(header, bytes(data), client))

    def disconnected(self, connection: int) -> None:
        """A client connection is gone."""
        self._beats.pop(connection, None)

    def _read(self, work: Callable[[], None]) -> None:
        """What can't be read is for the broker to judge, or for the client: it passes all the same."""

        def try_to_read() -> None:
            try:
                work()
            except MalformedFrame as problem:
                if not self.unread:
                    LOG.warning(
                        "EB-EVENTS-015: a request or answer that passed could not be read for the event log: %s; "
                        "further ones are counted (epochbridge_events_missed_total)",
                        problem,
                    )
                self.unread += 1

        self._guard.run(try_to_read)

    def _ask(self, ref: RequestRef, sent: Sent) -> bool:
        return self._follower.asked(ref, sent.client, sent.request.read(), Road.PASSING, sent.at_us)

    def _hear(self, ref: RequestRef, header: RequestHeader, broker_id: int | None, answer: bytes) -> None:
        self._read(lambda: self._answer(ref, self._read_answer(header, answer), broker_id, self._now_us()))

    def _read_answer(self, header: RequestHeader, answer: bytes) -> Reply:
        _, reply = decode_reply(header.api_key, header.api_version, memoryview(answer)[LENGTH_BYTES:])
        return reply

    def _answer(self, ref: RequestRef, reply: Reply, broker_id: int | None, at_us: int) -> None:
        if broker_id is not None:
            self._follower.served(ref, reply, broker_id, at_us)
        self._follower.answered(ref, reply, at_us)

    def _hear_beat(self, ref: RequestRef, sent: Sent, frame: bytes, answer: bytes) -> None:
        """A heartbeat is read only when its answer is there, and not even then if both are as they were last."""
        request = frame[:REQUEST_CORRELATION_OFFSET] + frame[REQUEST_CORRELATION_END:]
        beat = Beat(request, answer[RESPONSE_CORRELATION_END:])
        # An answer may come when its connection is gone: nothing is kept for that one any more.
        known = self._beats.get(ref.connection)
        if known != beat:
            if known is not None:
                is_short = len(frame) + len(answer) <= BEAT_BYTES_MAX
                self._beats[ref.connection] = beat if is_short else NOTHING_SAID
            self._read(lambda: self._read_beat(ref, sent, answer))

    def _read_beat(self, ref: RequestRef, sent: Sent, answer: bytes) -> None:
        reply, now_us = self._read_answer(sent.request.header, answer), self._now_us()
        is_unnamed = isinstance(reply, ConsumerGroupHeartbeatReply) and not self._topics.knows(reply.assignment or ())
        read = partial(self._tell_beat, ref, sent, reply, now_us)
        if (is_unnamed or self._waiting) and len(self._waiting) < WAITING_MAX:
            self._waiting.append(read)
            self._learn()
        else:
            read()

    def _tell_beat(self, ref: RequestRef, sent: Sent, reply: Reply, at_us: int) -> None:
        self._ask(ref, sent)
        self._answer(ref, reply, sent.broker_id, at_us)

    def learned(self) -> None:
        """The topics have been looked at: whatever waited for a name is told now, in order, with its own time."""
        waiting, self._waiting = self._waiting, []
        for read in waiting:
            self._read(read)

    def _read_fetch(self, header: RequestHeader, frame: bytes, client: ClientIdentity) -> None:
        named = read_fetch(header.api_version, frame, header.body_offset)
        if named is not None:
            partitions = named.by_name | self._topics(named.by_id)
            self._follower.fetched(client, partitions, named.is_incremental, self._now_us())
