"""Everything that can happen to one classic member, from its client, from its coordinator and from the clock.

Contract for the adapter
- It resolves batches and instance ids first (`identity`), so every event concerns exactly this member.
- Every `Ask` is answered by exactly one `Answered`, a lost one by `Refused(REQUEST_TIMED_OUT)` or alike.
- `CoordinatorCalled` may come at any time, also twice; so may a `DeadlinePassed` that is early or late.
"""

from dataclasses import dataclass

from translators.dialects import classic
from translators.dialects.coordinator import Answer, CoordinatorCalled, FencedByCoordinator
from translators.dialects.ids import MemberId, RequestRef


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
