"""Everything that can happen to one classic member, and everything that its machine asks of the world in answer."""

from dataclasses import dataclass

from translators.dialects import classic
from translators.dialects.classic import HeartbeatReply, JoinGroupReply, SyncGroupReply
from translators.dialects.coordinator import (
    Answer,
    CoordinatorCalled,
    DepartReason,
    Farewell,
    FencedByCoordinator,
    Inquiry,
)
from translators.dialects.ids import MemberId, RequestRef

# ------------------------------------------------------------------------------------------- events
# Everything that can happen to one classic member, from its client, from its coordinator and from the clock.
#
# Contract for the adapter
# - It resolves batches and instance ids first (`profile`), so every event concerns exactly this member.
# - Every `Ask` is answered by exactly one `Answered`, a lost one by `Refused(REQUEST_TIMED_OUT)` or alike.
# - `CoordinatorCalled` may come at any time, also twice; so may a `DeadlinePassed` that is early or late.


@dataclass(frozen=True, slots=True)
class JoinReceived:
    """The client sent JoinGroup; `fresh_id` becomes its member id if the request has none.

    `former_session_ms` is the session of whom it replaces on a static seat where that goes on for a while, else 0.
    """

    ref: RequestRef
    request: classic.JoinGroup
    fresh_id: MemberId
    former_session_ms: int = 0


@dataclass(frozen=True, slots=True)
class SyncReceived:
    """The client sent SyncGroup."""

    ref: RequestRef
    request: classic.SyncGroup


@dataclass(frozen=True, slots=True)
class HeartbeatReceived:
    """The client sent Heartbeat."""

    ref: RequestRef
    request: classic.Heartbeat


@dataclass(frozen=True, slots=True)
class LeaveReceived:
    """The client, or an admin, gives the seat up; the adapter answers the LeaveGroup, whose entries may concern
    several members.
    """


@dataclass(frozen=True, slots=True)
class ConnectionLost:
    """The connection on which request `ref` is parked is gone (decision 11)."""

    ref: RequestRef


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer to the outstanding `Ask`; a `Farewell` is answered by any Granted."""

    answer: Answer


@dataclass(frozen=True, slots=True)
class Replaced:
    """A newcomer took this member's instance id (K1.40); it joins only after this member has departed."""

    by: MemberId


@dataclass(frozen=True, slots=True)
class DeadlinePassed:
    """The clock reached `next_deadline(state)`."""


ClientEvent = JoinReceived | SyncReceived | HeartbeatReceived | LeaveReceived | ConnectionLost
WorldEvent = Answered | CoordinatorCalled | FencedByCoordinator | Replaced | DeadlinePassed
Event = ClientEvent | WorldEvent


# ------------------------------------------------------------------------------------------ effects
# Everything a member machine asks of the world: answer a request, ask the coordinator, forget the machine.
#
# Contract for the adapter
# - Effects are carried out in order. At most one `Ask` of a machine is outstanding.
# - `Inquiry` is always complete (subscription and owned partitions), so a coordinator that lost the last answer, or a
#   broker that lists the assignment only in full answers, tells everything again.
# - After `Depart` nothing of this machine is left at the coordinator, and it may be dropped; later events need not be
#   delivered.

MemberReply = JoinGroupReply | SyncGroupReply | HeartbeatReply


@dataclass(frozen=True, slots=True)
class Reply:
    """Answer request `ref`; every request is answered exactly once."""

    ref: RequestRef
    message: MemberReply


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask the coordinator; its answer comes back as `Answered`."""

    inquiry: Inquiry | Farewell


@dataclass(frozen=True, slots=True)
class Depart:
    """The member is gone and the machine may be dropped."""

    reason: DepartReason


Effect = Reply | Ask | Depart
