"""The short way of a heartbeat that is the last one of its connection over again: known by its bytes, answered with the
bytes that the last one was answered with.

It is neither cut nor decoded nor queued nor encoded. Whether a heartbeat needs more than that answer, the groups say.
"""

from collections.abc import Mapping
from typing import NamedTuple

from bridge.migration.route import Road
from bridge.session.client_session import ClientSession, Submitted
from bridge.session.contracts import Groups
from bridge.session.counters import Counters
from bridge.session.grants import Grant
from bridge.session.outbox import Slot
from bridge.session.requests import Head
from bridge.wire.codec.registry import Reply
from bridge.wire.frames import (
    REQUEST_CORRELATION_END,
    REQUEST_CORRELATION_OFFSET,
    RESPONSE_CORRELATION_END,
    RESPONSE_CORRELATION_OFFSET,
)
from translators.dialects.classic import Heartbeat, HeartbeatReply
from translators.dialects.consumer import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import ClientIdentity, RequestRef

NO_FRAME = -1
FRAME_BYTES_MAX = 1_024
"""Longer heartbeats are not kept: a ConsumerGroupHeartbeat with a list of topics, which is sent when that changes."""


class _Asked(NamedTuple):
    """A heartbeat that went the long way and has no answer yet."""

    ref: RequestRef
    frame: bytes
    request: Heartbeat | ConsumerGroupHeartbeat
    client: ClientIdentity
    groups: Groups
    grant: Grant


class _Known(NamedTuple):
    """A heartbeat and its answer; frames like them differ in the correlation id and in nothing else."""

    request: Heartbeat | ConsumerGroupHeartbeat
    client: ClientIdentity
    groups: Groups
    grant: Grant
    request_start: bytes
    request_end: bytes
    answer_start: bytes
    answer_end: bytes


class HeartbeatLane:
    """Beside the long way of one connection: it takes nothing but what would get the same answer there."""

    __slots__ = ("_asked", "_counters", "_groups", "_known", "_session", "frame_bytes")

    def __init__(self, session: ClientSession, groups: Mapping[Road, Groups], counters: Counters) -> None:
        self.frame_bytes = NO_FRAME
        """How long the frame is that may be answered here."""
        self._session = session
        self._groups = groups
        self._counters = counters
        self._asked: _Asked | None = None
        self._known: _Known | None = None

    def note_request(self, head: Head, submitted: Submitted, grant: Grant) -> None:
        """A request goes the long way, by this grant; if it is a heartbeat, the next one may be like it."""
        request = submitted.request
        if isinstance(request, (Heartbeat, ConsumerGroupHeartbeat)) and head.header.frame_bytes <= FRAME_BYTES_MAX:
            groups = self._groups[submitted.road]
            self._asked = _Asked(submitted.slot.ref, bytes(head.data), request, self._session.identity, groups, grant)

    def note_answer(self, slot: Slot, reply: Reply, answer: bytes) -> None:
        """The answer to a request of this connection; one that tells a heartbeat nothing new is kept for the next."""
        asked = self._asked
        if asked is None or asked.ref != slot.ref:
            return
        self._asked = None
        if tells_nothing(asked.request, reply):
            frame = asked.frame
            self.frame_bytes = len(frame)
            self._known = _Known(
                request=asked.request,
                client=asked.client,
                groups=asked.groups,
                grant=asked.grant,
                request_start=frame[:REQUEST_CORRELATION_OFFSET],
                request_end=frame[REQUEST_CORRELATION_END:],
                answer_start=answer[:RESPONSE_CORRELATION_OFFSET],
                answer_end=answer[RESPONSE_CORRELATION_END:],
            )

    def forget(self) -> None:
        """The client logs in anew: what it was answered was for whom it was before."""
        self._asked = self._known = None
        self.frame_bytes = NO_FRAME

    def answer(self, received: bytes) -> bytes | None:
        """The answer to what was just received, `frame_bytes` long; None: it has to go the long way.

        Nothing may be before it, neither bytes of a request nor an answer that has not left.
        """
        known, session = self._known, self._session
        if (
            known is None
            or not received.endswith(known.request_end)
            or not received.startswith(known.request_start)
            # Another request on this connection may have named another client id meanwhile.
            or known.client is not session.identity
            # The broker is to be asked anew whether the client may do this, or has said no.
            or not known.grant.is_fresh
            or not session.is_quiet
            or not known.groups.beat(known.client, known.request)
        ):
            return None
        answer = known.answer_start + received[REQUEST_CORRELATION_OFFSET:REQUEST_CORRELATION_END] + known.answer_end
        counters = self._counters
        counters.requests += 1
        if type(known.request) is Heartbeat:
            counters.beats += 1
        else:
            counters.native_beats += 1
        counters.requests_answered += 1
        counters.bytes_to_clients += len(answer)
        return answer


def tells_nothing(request: Heartbeat | ConsumerGroupHeartbeat, reply: Reply) -> bool:
    """Whether a heartbeat's answer says that all is as the request has it: no error, the same epoch, no assignment."""
    match request, reply:
        case Heartbeat(), HeartbeatReply():
            return reply.error is ErrorCode.NONE
        case ConsumerGroupHeartbeat(), ConsumerGroupHeartbeatReply():
            is_same = reply.member_id == request.member_id and reply.member_epoch == request.member_epoch
            return reply.error is ErrorCode.NONE and is_same and reply.assignment is None
        case _:
            return False
