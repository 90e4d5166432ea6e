"""The states of a classic member, what is true in each, and which events may lead from one to which."""

from dataclasses import dataclass
from typing import assert_never

from translators.classic_member.events import (
    Answered,
    ConnectionLost,
    DeadlinePassed,
    Effect,
    HeartbeatReceived,
    JoinReceived,
    LeaveReceived,
    Replaced,
    SyncReceived,
)
from translators.classic_member.profile import Profile
from translators.classic_member.tenure import NO_PARTITIONS, Partitions, Tenure, Vacant
from translators.dialects.classic import NO_CLAIM, Claim
from translators.dialects.coordinator import CoordinatorCalled, DepartReason, FencedByCoordinator
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, InstanceId, MemberId, RequestRef
from translators.machine import Step, Transitions


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberLimits:
    """How long things may take at most, in milliseconds (decisions 10, 11 and 17).

    `settle_ms` is how long a gainer waits for more where pending partitions are unknown and the coordinator gives no
    heartbeat interval. `release_wait_ms` is how long a cooperative client has to join by itself after it let go:
    librdkafka takes half a second.
    """

    gain_wait_max_ms: int = 5_000
    release_wait_ms: int = 1_000
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
    limits: MemberLimits


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

    limits: MemberLimits


@dataclass(frozen=True, slots=True)
class Parked:
    """An unanswered JoinGroup, and what the client claims in it to have had.

    A client that does not know its own id yet can never come back for the answer. A longer session of the one before
    it on its static seat (`former_session_ms`) counts until it syncs or beats.
    """

    ref: RequestRef
    knows_its_id: bool
    claim: Claim = NO_CLAIM
    former_session_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparingRebalance:
    """JoinGroup is parked: until the coordinator answered, and then until all is free or `hold_until_ms` (decision 11).

    `using` is what the client says it still uses, and all that the coordinator is told as owned. At `give_up_at_ms` a
    coordinator that never answers is given up. `is_resubscribing`: the client wants other topics than when it was
    handed its generation.
    """

    membership: Membership
    parked: Parked
    tenure: Tenure | Vacant
    using: Partitions
    talk: Talk
    hold_until_ms: int
    give_up_at_ms: int
    is_resubscribing: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletingRebalance:
    """JoinGroup is answered, SyncGroup is expected; the assignment may still be amended.

    `is_shown`: the client joined without news and was told its old generation, whose assignment it may have had, so
    nothing may be taken from it any more. `is_overtaken`: something had to be taken, so the tenure is of the generation
    after the one that the client was told; it has to join again to hear of it.
    """

    membership: Membership
    tenure: Tenure
    using: Partitions
    talk: Talk
    session_deadline_ms: int
    sync_deadline_ms: int
    is_shown: bool = False
    is_overtaken: bool = False


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


Seated = PreparingRebalance | CompletingRebalance | Stable
"""Members for their clients; the others are not there yet, or not any more."""
State = Seated | Absent | Leaving | Fenced
MemberStep = Step[State, Effect]
"""What becomes of a member by one event, and what is asked for."""


def seated(state: State | None) -> Seated | None:
    """The state of a member that its client takes for one, None of any other: a new state must say which it is."""
    match state:
        case Stable() | CompletingRebalance() | PreparingRebalance():
            return state
        case None | Absent() | Leaving() | Fenced():
            return None
        case _:
            assert_never(state)


def parked_join(state: State | None) -> PreparingRebalance | None:
    """The state of a member that has an unanswered JoinGroup, None of any other."""
    match state:
        case PreparingRebalance():
            return state
        case None | Stable() | CompletingRebalance() | Absent() | Leaving() | Fenced():
            return None
        case _:
            assert_never(state)


TRANSITIONS: Transitions = {
    (Absent, JoinReceived): frozenset({Absent, PreparingRebalance}),
    (Absent, SyncReceived): frozenset({Absent}),
    (Absent, HeartbeatReceived): frozenset({Absent}),
    (Absent, LeaveReceived): frozenset({Absent}),
    (Absent, ConnectionLost): frozenset({Absent}),
    (Absent, CoordinatorCalled): frozenset({Absent}),
    (Absent, FencedByCoordinator): frozenset({Absent}),
    (Absent, Replaced): frozenset({Absent}),
    (Absent, DeadlinePassed): frozenset({Absent}),
    (PreparingRebalance, JoinReceived): frozenset({PreparingRebalance}),
    (PreparingRebalance, SyncReceived): frozenset({PreparingRebalance}),
    (PreparingRebalance, HeartbeatReceived): frozenset({PreparingRebalance}),
    (PreparingRebalance, LeaveReceived): frozenset({Leaving}),
    (PreparingRebalance, ConnectionLost): frozenset({PreparingRebalance, Leaving}),
    (PreparingRebalance, Answered): frozenset(
        {PreparingRebalance, CompletingRebalance, Stable, Leaving, Fenced, Absent}
    ),
    (PreparingRebalance, CoordinatorCalled): frozenset({PreparingRebalance}),
    (PreparingRebalance, FencedByCoordinator): frozenset({PreparingRebalance, Leaving}),
    (PreparingRebalance, Replaced): frozenset({Leaving}),
    (PreparingRebalance, DeadlinePassed): frozenset({PreparingRebalance, CompletingRebalance, Leaving}),
    (CompletingRebalance, JoinReceived): frozenset({CompletingRebalance, PreparingRebalance}),
    (CompletingRebalance, SyncReceived): frozenset({CompletingRebalance, Stable}),
    (CompletingRebalance, HeartbeatReceived): frozenset({CompletingRebalance}),
    (CompletingRebalance, LeaveReceived): frozenset({Leaving}),
    (CompletingRebalance, ConnectionLost): frozenset({CompletingRebalance}),
    (CompletingRebalance, Answered): frozenset({CompletingRebalance, Fenced}),
    (CompletingRebalance, CoordinatorCalled): frozenset({CompletingRebalance}),
    (CompletingRebalance, FencedByCoordinator): frozenset({Fenced}),
    (CompletingRebalance, Replaced): frozenset({Leaving}),
    (CompletingRebalance, DeadlinePassed): frozenset({CompletingRebalance, Leaving}),
    (Stable, JoinReceived): frozenset({Stable, PreparingRebalance}),
    (Stable, SyncReceived): frozenset({Stable}),
    (Stable, HeartbeatReceived): frozenset({Stable}),
    (Stable, LeaveReceived): frozenset({Leaving}),
    (Stable, ConnectionLost): frozenset({Stable}),
    (Stable, Answered): frozenset({Stable, Fenced}),
    (Stable, CoordinatorCalled): frozenset({Stable}),
    (Stable, FencedByCoordinator): frozenset({Fenced}),
    (Stable, Replaced): frozenset({Leaving}),
    (Stable, DeadlinePassed): frozenset({Stable, Leaving}),
    (Leaving, JoinReceived): frozenset({Leaving}),
    (Leaving, SyncReceived): frozenset({Leaving}),
    (Leaving, HeartbeatReceived): frozenset({Leaving}),
    (Leaving, LeaveReceived): frozenset({Leaving}),
    (Leaving, ConnectionLost): frozenset({Leaving}),
    (Leaving, Answered): frozenset({Leaving, Absent}),
    (Leaving, CoordinatorCalled): frozenset({Leaving}),
    (Leaving, FencedByCoordinator): frozenset({Leaving}),
    (Leaving, Replaced): frozenset({Leaving}),
    (Leaving, DeadlinePassed): frozenset({Leaving, Absent}),
    (Fenced, JoinReceived): frozenset({Fenced, PreparingRebalance}),
    (Fenced, SyncReceived): frozenset({Fenced}),
    (Fenced, HeartbeatReceived): frozenset({Fenced}),
    (Fenced, LeaveReceived): frozenset({Leaving}),
    (Fenced, ConnectionLost): frozenset({Fenced}),
    (Fenced, Answered): frozenset({Fenced}),
    (Fenced, CoordinatorCalled): frozenset({Fenced}),
    (Fenced, FencedByCoordinator): frozenset({Fenced}),
    (Fenced, Replaced): frozenset({Leaving}),
    (Fenced, DeadlinePassed): frozenset({Fenced, Leaving}),
}
"""Every pair but (Absent, Answered): an absent member has asked nothing."""
