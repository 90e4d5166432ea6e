"""Large commits are carried out in pieces, one after the other: between two of them everybody else has a turn."""

import logging
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import NamedTuple

from bridge.coordinators.arrivals import request_fields
from bridge.coordinators.by_connection import OfConnections
from bridge.coordinators.offset_requests import Commit, front_door_first, refuse_commit
from bridge.log_lines import EMBEDDED
from bridge.session.contracts import BrokerAccess, Deliver
from bridge.wire.codec.registry import error_reply, group_ids
from translators.dialects.classic import Heartbeat, LeaveGroup
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import JOIN_EPOCH, GroupId, RequestRef, TopicId, TopicName
from translators.dialects.messages import GroupReply, GroupRequest
from translators.dialects.offsets import CommittedTopic, OffsetCommitReply, TopicCommit

PIECE_PARTITIONS = 1_000
"""To judge so many, to ask the broker of them and to take its word costs some 20 ms in which nobody else is served."""

LOG = logging.getLogger("epochbridge.coordinators")
Begin = Callable[[RequestRef, BrokerAccess, Commit], None]


@dataclass(frozen=True, slots=True)
class _Behind:
    """What a client asked for behind a large commit of its own, and what lets it go on."""

    ref: RequestRef
    request: GroupRequest
    go_on: Callable[[], None]

    @property
    def is_farewell(self) -> bool:
        """Whether its member leaves; no other heartbeat comes here."""
        return isinstance(self.request, (LeaveGroup, ConsumerGroupHeartbeat))


@dataclass(slots=True)
class _Wanted:
    """A commit, what of it was not carried out yet, and what was said of the rest."""

    ref: RequestRef
    way: BrokerAccess
    request: Commit
    left: deque[Commit]
    replies: list[OffsetCommitReply] = field(default_factory=list)


class _Place(NamedTuple):
    """In the line of which group a request stands, and by which connection it came."""

    connection: int
    group_id: GroupId


class CommitPieces:
    """In front of whoever carries out commits (`begin`), and behind it (`deliver`); `wake` has `go_on` called soon.

    Every piece is a commit by itself: judged when its turn comes, as if its client had sent that many. Behind a large
    commit those of the same group wait for it, on whatever connection they come, so that no partition's offsets
    overtake one another.
    """

    def __init__(self, deliver: Deliver, wake: Callable[[], None], road: str = EMBEDDED) -> None:
        self.begin: Begin = lambda _ref, _way, _request: None
        """To be set before anything is submitted: whoever it is says through `deliver` what became of each."""
        self._deliver = deliver
        self._wake = wake
        self._road = road
        self._lines: dict[GroupId, deque[_Wanted | _Behind]] = {}
        self._places: OfConnections[RequestRef, _Place] = OfConnections(lambda place: place.connection)
        """In which line each request is."""
        self._under_way: dict[RequestRef, GroupId] = {}
        """Large commits of which a piece was begun; each is the first of its line."""
        self._begun: RequestRef | None = None
        """Whose piece was begun last, as long as nothing became of it."""
        self._ready: deque[GroupId] = deque()
        """Lines whose first may go on."""

    def submit(self, ref: RequestRef, way: BrokerAccess, request: Commit) -> None:
        """Take a commit; a small one goes on at once, unless a large one of its group is under way."""
        line = self._lines.get(request.group_id)
        if line is None:
            if not is_large(request):
                self.begin(ref, way, request)
                return
            line = self._lines[request.group_id] = deque()
            self._go_on_with(request.group_id)
        self._stand_behind(request.group_id, _Wanted(ref, way, request, deque(pieces_of(request))))

    def keeps(self, ref: RequestRef, request: GroupRequest, go_on: Callable[[], None]) -> bool:
        """Whether a request, no commit, waits for `go_on` to be called: brokers carry out what comes by one connection
        in its order, and a member that commits and leaves has committed. Heartbeats never wait: its session goes on.
        """
        is_beat = isinstance(request, ConsumerGroupHeartbeat) and request.member_epoch >= JOIN_EPOCH
        if not self._lines or is_beat or isinstance(request, Heartbeat):
            return False
        for group_id in group_ids(request):
            line = self._lines.get(group_id, ())
            if any(one.ref.connection == ref.connection for one in line):
                self._stand_behind(group_id, _Behind(ref, request, go_on))
                return True
        return False

    def deliver(self, ref: RequestRef, reply: GroupReply) -> None:
        """Take what became of a commit; of a large one this is a piece."""
        group_id = self._under_way.pop(ref, None)
        if ref == self._begun:
            self._begun = None
        if group_id is None:
            self._deliver(ref, reply)
            return
        line = self._lines[group_id]
        wanted = line[0]
        assert isinstance(wanted, _Wanted), "what is under way is the first of its line"
        if isinstance(reply, OffsetCommitReply):
            wanted.replies.append(reply)
        if not wanted.left:
            self._take_first(line)
            are_by_id = not any(topic.name for topic in wanted.request.topics)
            self._deliver(ref, merged(wanted.replies, are_by_id=are_by_id))
        self._go_on_with(group_id)

    def go_on(self) -> None:
        """Begin the next piece of one group; is called again for the others."""
        if not self._ready:
            return
        group_id = self._ready.popleft()
        line = self._lines[group_id]
        if not line:
            del self._lines[group_id]
        elif isinstance(first := line[0], _Behind):
            self._take_first(line)
            self._go_on_with(group_id)
            self._let_go(first)
        else:
            self._begin_next(group_id, first, line)
        if self._ready:
            self._wake()

    def holds(self, group_id: GroupId) -> bool:
        """Whether something of a large commit of this group, or behind one, was not carried out yet."""
        return group_id in self._lines

    def forget(self, connection: int) -> None:
        """The connection is gone: what was not begun never will be, but for a farewell, which is said once."""
        for group_id in dict.fromkeys(place.group_id for place in self._places.lose(connection).values()):
            line = self._lines[group_id]
            if line[0].ref.connection == connection and self._under_way.pop(line[0].ref, None) is not None:
                self._go_on_with(group_id)
            self._lines[group_id] = deque(
                one
                for one in line
                if one.ref.connection != connection or (isinstance(one, _Behind) and one.is_farewell)
            )

    def _stand_behind(self, group_id: GroupId, one: _Wanted | _Behind) -> None:
        self._lines[group_id].append(one)
        self._places[one.ref] = _Place(one.ref.connection, group_id)

    def _take_first(self, line: deque[_Wanted | _Behind]) -> None:
        self._places.pop(line.popleft().ref, None)

    def _let_go(self, behind: _Behind) -> None:
        try:
            behind.go_on()
        except Exception:
            told = "EB-GROUP-002: %r could not be carried out; please report this"
            LOG.exception(told, behind.request, extra=request_fields(behind.request, road=self._road))
            self._deliver(behind.ref, error_reply(behind.request, ErrorCode.COORDINATOR_NOT_AVAILABLE))

    def _begin_next(self, group_id: GroupId, wanted: _Wanted, line: deque[_Wanted | _Behind]) -> None:
        piece = wanted.left.popleft()
        if not wanted.left and not wanted.replies:
            # The commit was one piece only, so what comes behind it need not wait for the broker's word.
            self._take_first(line)
            self._go_on_with(group_id)
        else:
            self._under_way[wanted.ref] = group_id
        if wanted.replies and _has_no_word(wanted.replies[-1]):
            # To try to reach that broker takes ten seconds each time, in which the connection's other answers wait.
            self.deliver(wanted.ref, refuse_commit(piece, ErrorCode.COORDINATOR_NOT_AVAILABLE))
            return
        self._begun = wanted.ref
        try:
            self.begin(wanted.ref, wanted.way, piece)
        except Exception:
            told = "EB-GROUP-002: a piece of commit %r could not be carried out; please report this"
            LOG.exception(told, wanted.ref, extra=request_fields(wanted.request, road=self._road))
            if self._begun == wanted.ref:
                # Else there was an answer before it went wrong, and a second one would be taken for the next piece's.
                self.deliver(wanted.ref, refuse_commit(piece, ErrorCode.COORDINATOR_NOT_AVAILABLE))

    def _go_on_with(self, group_id: GroupId) -> None:
        self._ready.append(group_id)
        self._wake()


def _has_no_word(reply: OffsetCommitReply) -> bool:
    """Whether nothing of a piece was taken because its broker is away."""
    return {item.error for topic in reply.topics for item in topic.partitions} == {ErrorCode.COORDINATOR_NOT_AVAILABLE}


def is_large(request: Commit) -> bool:
    """Whether it is carried out in pieces; O(topics)."""
    return sum(map(_weight, request.topics)) > PIECE_PARTITIONS


def _weight(topic: TopicCommit) -> int:
    return max(1, len(topic.partitions))


def pieces_of(request: Commit) -> Iterator[Commit]:
    """The commit as several of at most `PIECE_PARTITIONS`, in the order asked."""
    topics: list[TopicCommit] = []
    room = PIECE_PARTITIONS
    for topic in request.topics:
        at = 0
        while at == 0 or at < len(topic.partitions):
            part = topic.partitions[at : at + room]
            topics.append(topic if len(part) == len(topic.partitions) else replace(topic, partitions=part))
            at += max(1, len(part))
            room -= max(1, len(part))
            if room == 0:
                yield replace(request, topics=tuple(topics))
                topics, room = [], PIECE_PARTITIONS
    if topics:
        yield replace(request, topics=tuple(topics))


def merged(replies: list[OffsetCommitReply], *, are_by_id: bool = False) -> OffsetCommitReply:
    """One answer out of those to the pieces; a topic that was cut is there once, and what Kafka turns away before it
    asks the group comes first in the whole, not in each piece.

    Whether its client names topics by id is told by `are_by_id`: the broker's word has both, a refusal what was asked.
    """
    topics: dict[TopicName | TopicId, list[CommittedTopic]] = {}
    for reply in replies:
        for topic in reply.topics:
            topics.setdefault(topic.topic_id if are_by_id else topic.name, []).append(topic)
    whole = [
        replace(parts[0], partitions=tuple(chain.from_iterable(part.partitions for part in parts)))
        if len(parts) > 1
        else parts[0]
        for parts in topics.values()
    ]
    slowest_ms = max(reply.throttle_time_ms for reply in replies)
    return OffsetCommitReply(topics=front_door_first(whole, whole), throttle_time_ms=slowest_ms)
