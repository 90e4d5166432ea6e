"""Which commits a classic group lets through, and what they do to sessions.

It must not know offsets or the broker's answer.
"""

from bridge.engine.classic.group import ClassicGroup
from bridge.engine.classic.model import Phase
from bridge.engine.classic.seats import extend_session, judge_identity
from bridge.engine.turn import Turn
from translators.dialects.errors import ErrorCode
from translators.dialects.offsets import OffsetCommit, TxnOffsetCommit


def judge_classic_commit(group: ClassicGroup, request: OffsetCommit | TxnOffsetCommit) -> ErrorCode:
    """The code for a whole commit (K5.4 to K5.7).

    The exact generation only: what partitions a member held in older ones is in bytes that only clients read.
    """
    if group.phase is Phase.DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if request.generation < 0 and group.phase is Phase.EMPTY:
        return ErrorCode.NONE
    is_plain = isinstance(request, OffsetCommit)
    if request.generation < 0 and not request.member_id and request.instance_id is None:
        return ErrorCode.UNKNOWN_MEMBER_ID if is_plain else ErrorCode.NONE
    code = judge_identity(group, request.member_id, request.instance_id)
    if code is not ErrorCode.NONE:
        return code
    if request.generation != group.generation_of(request.member_id):
        return ErrorCode.ILLEGAL_GENERATION
    is_completing = group.phase is Phase.COMPLETING_REBALANCE
    return ErrorCode.REBALANCE_IN_PROGRESS if is_plain and is_completing else ErrorCode.NONE


def note_sign_of_life(turn: Turn, group: ClassicGroup, request: OffsetCommit | TxnOffsetCommit) -> None:
    """A plain commit that was let through extends its member's session (K5.8)."""
    member = group.members.get(request.member_id)
    if member is not None and isinstance(request, OffsetCommit):
        extend_session(turn, group, member)
