"""The table of a coordinator's errors: complete, and without words that classic clients don't know."""

import pytest

from translators.dialects.errors import FIRST_CODE_UNKNOWN_TO_CLASSIC_CLIENTS, ErrorCode
from translators.reactions import REACTIONS, Fail, Fence, Reaction, Rejoin, Retry


def test_every_error_has_a_reaction() -> None:
    """No coordinator can surprise a member."""
    assert set(REACTIONS) == set(ErrorCode) - {ErrorCode.NONE}


def test_no_reaction_leaks_a_new_code() -> None:
    """Codes from 100 on never reach a classic client (clients.md, 6)."""
    told = {reaction.code for reaction in REACTIONS.values() if isinstance(reaction, Fence | Fail)}
    assert max(told) < FIRST_CODE_UNKNOWN_TO_CLASSIC_CLIENTS


def test_no_fence_says_rebalance() -> None:
    """A fenced client must not go on processing, as it would after REBALANCE_IN_PROGRESS (decision 15)."""
    fences = {reaction.code for reaction in REACTIONS.values() if isinstance(reaction, Fence)}
    assert fences == {ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID}


@pytest.mark.parametrize(
    ("code", "reaction"),
    [
        (ErrorCode.FENCED_MEMBER_EPOCH, Fence(ErrorCode.ILLEGAL_GENERATION)),
        (ErrorCode.UNKNOWN_MEMBER_ID, Fence(ErrorCode.UNKNOWN_MEMBER_ID)),
        (ErrorCode.GROUP_ID_NOT_FOUND, Fence(ErrorCode.UNKNOWN_MEMBER_ID)),
        (ErrorCode.STALE_MEMBER_EPOCH, Rejoin()),
        (ErrorCode.UNRELEASED_INSTANCE_ID, Retry()),
        (ErrorCode.NOT_COORDINATOR, Retry()),
        (ErrorCode.GROUP_MAX_SIZE_REACHED, Fail(ErrorCode.GROUP_MAX_SIZE_REACHED)),
        (ErrorCode.UNSUPPORTED_ASSIGNOR, Fail(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)),
    ],
)
def test_error_means_reaction(code: ErrorCode, reaction: Reaction) -> None:
    """The translations that clients.md, 6 and decision 15 name."""
    assert REACTIONS[code] == reaction
