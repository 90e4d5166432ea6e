"""What is judged beside a classic member's machine: whether a JoinGroup may come before it at all, and whether what the
member commits or fetches is its own.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import assert_never

from bridge.coordinators.offset_requests import Commit
from translators.classic_member.commits import admit_commit
from translators.classic_member.states import (
    Absent,
    CompletingRebalance,
    Fenced,
    Leaving,
    PreparingRebalance,
    Stable,
    State,
    seated,
)
from translators.classic_member.tenure import Tenure
from translators.dialects.classic import JoinGroup, JoinGroupReply
from translators.dialects.errors import ErrorCode, Refusal
from translators.dialects.ids import NO_MEMBER_ID, MemberId, TopicPartition
from translators.dialects.offsets import TxnOffsetCommit

STRING_BYTES_MAX = 32_767
"""What fits into a string of the classic protocol."""


@dataclass(frozen=True, slots=True)
class SessionBounds:
    """The session timeouts that classic members may ask for, both included (K1.6)."""

    min_ms: int
    max_ms: int


def check_join(request: JoinGroup, bounds: SessionBounds) -> Refusal | None:
    """The first reason to refuse, in Kafka's order (K1.6): group id, then session timeout."""
    if not request.group_id:
        return Refusal(ErrorCode.INVALID_GROUP_ID, "the group id is empty")
    if not bounds.min_ms <= request.session_timeout_ms <= bounds.max_ms:
        reason = f"session timeout {request.session_timeout_ms} ms is not within {bounds.min_ms} to {bounds.max_ms} ms"
        return Refusal(ErrorCode.INVALID_SESSION_TIMEOUT, reason)
    return None


def check_name(request: JoinGroup, fresh_id: MemberId) -> Refusal | None:
    """Refuse a newcomer whose id would be longer than an answer can say it; Kafka fails in the same way."""
    if request.member_id:
        return None
    if len(fresh_id.encode()) <= STRING_BYTES_MAX:
        return None
    reason = f"the member id would have {len(fresh_id.encode())} bytes, at most {STRING_BYTES_MAX} can be told"
    return Refusal(ErrorCode.UNKNOWN_SERVER_ERROR, reason)


def refuse_join(request: JoinGroup, code: ErrorCode) -> JoinGroupReply:
    """The answer to a refused join; the front door echoes the member id, what lies behind it does not (K1.6, K4.6)."""
    echoes = code in (ErrorCode.INVALID_GROUP_ID, ErrorCode.INVALID_SESSION_TIMEOUT)
    return JoinGroupReply(error=code, member_id=request.member_id if echoes else NO_MEMBER_ID)


def translate_commit(state: State, request: Commit, partitions: Iterable[TopicPartition]) -> Commit | ErrorCode:
    """The commit under the member's epoch, which is what its coordinator knows it by, or the code that refuses it.

    A machine knows its generations: an older one is good for what was the member's own ever since (decision 3).
    """
    code = admit_commit(state, request.generation, partitions)
    if code is ErrorCode.REBALANCE_IN_PROGRESS and isinstance(request, TxnOffsetCommit):
        # It ends a producer for good. Where it is not known yet what is the member's own it asks again.
        is_known = isinstance(state, CompletingRebalance)
        return ErrorCode.ILLEGAL_GENERATION if is_known else ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    if code is not ErrorCode.NONE:
        return code
    member = seated(state)
    assert member is not None, "no other state admits a commit"
    return replace(request, generation=member.membership.epoch)


def judge_fetch(state: State, generation: int) -> ErrorCode:
    """Whether a classic member that names itself may fetch offsets under `generation` (K5.20).

    One that tells none knows nothing of epochs: @platformatic/kafka 2 names its member id only. Kafka refuses it in a
    consumer group, and so it reads nothing during a roll.
    """
    if generation < 0 and seated(state) is not None:
        return ErrorCode.NONE
    match state:
        case PreparingRebalance() | CompletingRebalance() | Stable():
            is_current = isinstance(state.tenure, Tenure) and generation == state.tenure.generation
            return ErrorCode.NONE if is_current else ErrorCode.ILLEGAL_GENERATION
        case Fenced() if state.code is not ErrorCode.FENCED_INSTANCE_ID:
            return state.code
        case Fenced() | Leaving() | Absent():
            return ErrorCode.UNKNOWN_MEMBER_ID
        case _:
            assert_never(state)
