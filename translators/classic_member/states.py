"""The states of a classic member, what is true in each, and which events may lead from one to which.

It must not know how an event is answered.
"""

from dataclasses import dataclass

from translators.classic_member.effects import DepartReason
from translators.classic_member.events import (
    Answered,
    ConnectionLost,
    CoordinatorCalled,
    DeadlinePassed,
    FencedByCoordinator,
    HeartbeatReceived,
    JoinReceived,
    LeaveReceived,
    Replaced,
    SyncReceived,
)
from translators.classic_member.profile import Profile
from translators.classic_member.tenure import NO_PARTITIONS, Partitions, Tenure, Vacant
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, InstanceId, MemberId, RequestRef
from translators.machine import Transitions


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long things may take at most, in milliseconds (decisions 10, 11 and 17).

    `settle_ms` is how long a gainer waits for more where pending partitions are unknown and the coordinator gives no
    heartbeat interval.
    """

    gain_wait_max_ms: int = 5_000
    eager_join_hold_max_ms: int = 5_000
    settle_ms: int = 3_000
    retry_ms: int = 500
    leave_wait_max_ms: int = 30_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """Who the member is, for as long as it lives."""

    group_id: GroupId
    member_id: MemberId
    instance_id: InstanceId | None
    limits: Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """The member as its coordinator knows it: epoch 0 while it is not yet in, what it may own, what it waits for
    (None: unknown).
    """

    seat: Seat
    profile: Profile
    epoch: int = 0
    granted: Partitions = NO_PARTITIONS
    pending: Partitions | None = NO_PARTITIONS


# The conversation with the coordinator: at most one question is outstanding.


@dataclass(frozen=True, slots=True)
class Silent:
    """All is known; the coordinator calls when there is news."""


@dataclass(frozen=True, slots=True)
class Scheduled:
    """All is known; the coordinator wants to hear of the member at this time."""

    at_ms: int


@dataclass(frozen=True, slots=True)
class Retrying:
    """The last question failed and may have had its effect; it is asked again at this time."""

    at_ms: int


@dataclass(frozen=True, slots=True)
class Asked:
    """A question is outstanding."""


@dataclass(frozen=True, slots=True)
class Overtaken:
    """A question is outstanding, and its answer will be out of date: ask again then."""


Talk = Silent | Scheduled | Retrying | Asked | Overtaken


# The call for a rejoin (decisions 10 and 12).


@dataclass(frozen=True, slots=True)
class NotCalled:
    """The client has what it should have."""


@dataclass(frozen=True, slots=True)
class GainAwaited:
    """Something was gained and more is to come: call at `call_at_ms`, which moves on with new grants up to
    `latest_ms`.
    """

    call_at_ms: int
    latest_ms: int


@dataclass(frozen=True, slots=True)
class ReleaseAwaited:
    """A cooperative client lets go of partitions and then joins by itself; it is called only if it does not."""

    call_at_ms: int


@dataclass(frozen=True, slots=True)
class CallDue:
    """The next heartbeat is answered REBALANCE_IN_PROGRESS."""


@dataclass(frozen=True, slots=True)
class Called:
    """The client was told; it leaves the group if it has not joined by then (K4.31: counted from the first notice)."""

    rejoin_deadline_ms: int


Call = NotCalled | GainAwaited | ReleaseAwaited | CallDue | Called


# The states.


@dataclass(frozen=True, slots=True)
class Absent:
    """No member: nothing is known to anybody, nothing is remembered."""

    limits: Limits


@dataclass(frozen=True, slots=True)
class Parked:
    """An unanswered JoinGroup; a client that does not know its own id yet can never come back for the answer."""

    ref: RequestRef
    knows_its_id: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparingRebalance:
    """JoinGroup is parked: until the coordinator answered, and then until all is free or `hold_until_ms` (decision 11).

    `using` is what the client says it still uses, and all that the coordinator is told as owned. At `give_up_at_ms` a
    coordinator that never answers is given up.
    """

    membership: Membership
    parked: Parked
    tenure: Tenure | Vacant
    using: Partitions
    talk: Talk
    hold_until_ms: int
    give_up_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletingRebalance:
    """JoinGroup is answered, SyncGroup is expected; the assignment may still be amended."""

    membership: Membership
    tenure: Tenure
    using: Partitions
    talk: Talk
    session_deadline_ms: int
    sync_deadline_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stable:
    """The client works with its assignment."""

    membership: Membership
    tenure: Tenure
    call: Call
    talk: Talk
    session_deadline_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaving:
    """The member is gone for its client, and its coordinator is being told, until `give_up_at_ms` at most."""

    seat: Seat
    reason: DepartReason
    talk: Talk
    give_up_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Fenced:
    """The coordinator dropped the member: its client hears `code` until it joins again, or until the session ends."""

    seat: Seat
    code: ErrorCode
    tenure: Vacant
    talk: Talk
    session_deadline_ms: int


State = Absent | PreparingRebalance | CompletingRebalance | Stable | Leaving | Fenced
PRESENT = (PreparingRebalance, CompletingRebalance, Stable)


def _to(*states: type) -> frozenset[type]:
    return frozenset(states)


TRANSITIONS: Transitions = {
    (Absent, JoinReceived): _to(Absent, PreparingRebalance),
    (Absent, SyncReceived): _to(Absent),
    (Absent, HeartbeatReceived): _to(Absent),
    (Absent, LeaveReceived): _to(Absent),
    (Absent, ConnectionLost): _to(Absent),
    (Absent, CoordinatorCalled): _to(Absent),
    (Absent, FencedByCoordinator): _to(Absent),
    (Absent, Replaced): _to(Absent),
    (Absent, DeadlinePassed): _to(Absent),
    (PreparingRebalance, JoinReceived): _to(PreparingRebalance),
    (PreparingRebalance, SyncReceived): _to(PreparingRebalance),
    (PreparingRebalance, HeartbeatReceived): _to(PreparingRebalance),
    (PreparingRebalance, LeaveReceived): _to(Leaving),
    (PreparingRebalance, ConnectionLost): _to(PreparingRebalance, Leaving),
    (PreparingRebalance, Answered): _to(PreparingRebalance, CompletingRebalance, Leaving, Fenced, Absent),
    (PreparingRebalance, CoordinatorCalled): _to(PreparingRebalance),
    (PreparingRebalance, FencedByCoordinator): _to(PreparingRebalance, Leaving),
    (PreparingRebalance, Replaced): _to(Leaving),
    (PreparingRebalance, DeadlinePassed): _to(PreparingRebalance, CompletingRebalance, Leaving),
    (CompletingRebalance, JoinReceived): _to(CompletingRebalance, PreparingRebalance),
    (CompletingRebalance, SyncReceived): _to(CompletingRebalance, Stable),
    (CompletingRebalance, HeartbeatReceived): _to(CompletingRebalance),
    (CompletingRebalance, LeaveReceived): _to(Leaving),
    (CompletingRebalance, ConnectionLost): _to(CompletingRebalance),
    (CompletingRebalance, Answered): _to(CompletingRebalance, Fenced),
    (CompletingRebalance, CoordinatorCalled): _to(CompletingRebalance),
    (CompletingRebalance, FencedByCoordinator): _to(Fenced),
    (CompletingRebalance, Replaced): _to(Leaving),
    (CompletingRebalance, DeadlinePassed): _to(CompletingRebalance, Leaving),
    (Stable, JoinReceived): _to(Stable, PreparingRebalance),
    (Stable, SyncReceived): _to(Stable),
    (Stable, HeartbeatReceived): _to(Stable),
    (Stable, LeaveReceived): _to(Leaving),
    (Stable, ConnectionLost): _to(Stable),
    (Stable, Answered): _to(Stable, Fenced),
    (Stable, CoordinatorCalled): _to(Stable),
    (Stable, FencedByCoordinator): _to(Fenced),
    (Stable, Replaced): _to(Leaving),
    (Stable, DeadlinePassed): _to(Stable, Leaving),
    (Leaving, JoinReceived): _to(Leaving),
    (Leaving, SyncReceived): _to(Leaving),
    (Leaving, HeartbeatReceived): _to(Leaving),
    (Leaving, LeaveReceived): _to(Leaving),
    (Leaving, ConnectionLost): _to(Leaving),
    (Leaving, Answered): _to(Leaving, Absent),
    (Leaving, CoordinatorCalled): _to(Leaving),
    (Leaving, FencedByCoordinator): _to(Leaving),
    (Leaving, Replaced): _to(Leaving),
    (Leaving, DeadlinePassed): _to(Leaving, Absent),
    (Fenced, JoinReceived): _to(Fenced, PreparingRebalance),
    (Fenced, SyncReceived): _to(Fenced),
    (Fenced, HeartbeatReceived): _to(Fenced),
    (Fenced, LeaveReceived): _to(Leaving),
    (Fenced, ConnectionLost): _to(Fenced),
    (Fenced, Answered): _to(Fenced),
    (Fenced, CoordinatorCalled): _to(Fenced),
    (Fenced, FencedByCoordinator): _to(Fenced),
    (Fenced, Replaced): _to(Leaving),
    (Fenced, DeadlinePassed): _to(Fenced, Leaving),
}
"""Every pair but (Absent, Answered): an absent member has asked nothing."""
