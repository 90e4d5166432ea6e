"""Whether a JoinGroup may come before a member's machine at all: the front door of a classic client's join.

It must not know members, machines or the engine's state.
"""

from dataclasses import dataclass

from translators.dialects.classic import JoinGroup, JoinGroupReply
from translators.dialects.errors import ErrorCode, Refusal
from translators.dialects.ids import NO_MEMBER_ID


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


def refuse_join(request: JoinGroup, code: ErrorCode) -> JoinGroupReply:
    """The answer to a refused join; the front door echoes the member id, what lies behind it does not (K1.6, K4.6)."""
    echoes = code in (ErrorCode.INVALID_GROUP_ID, ErrorCode.INVALID_SESSION_TIMEOUT)
    return JoinGroupReply(error=code, member_id=request.member_id if echoes else NO_MEMBER_ID)
