"""Commits and offset fetches of classic members: what their own machine says before the engine is asked.

It must not know other members, nor where offsets are kept.
"""

from collections.abc import Iterable
from dataclasses import replace

from bridge.coordinators.offset_requests import Commit
from translators.classic_member.commits import admit_commit
from translators.classic_member.states import (
    CompletingRebalance,
    Fenced,
    PreparingRebalance,
    Stable,
    State,
)
from translators.classic_member.tenure import Tenure
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import TopicPartition


def translate_commit(state: State, request: Commit, partitions: Iterable[TopicPartition]) -> Commit | ErrorCode:
    """The commit under the member's epoch, which is what the engine knows it by, or the code that refuses it.

    A machine knows its generations: an older one is good for what was the member's own ever since (decision 3).
    """
    code = admit_commit(state, request.generation, partitions)
    if code is not ErrorCode.NONE:
        return code
    assert isinstance(state, PreparingRebalance | CompletingRebalance | Stable), "no other state admits a commit"
    return replace(request, generation=state.membership.epoch)


def judge_fetch(state: State, generation: int) -> ErrorCode:
    """Whether a classic member that names itself may fetch offsets under `generation` (K5.20).

    One that tells none knows nothing of epochs: @platformatic/kafka 2 names its member id only. Kafka refuses it in a
    consumer group, and so it reads nothing during a roll.
    """
    if generation < 0 and isinstance(state, PreparingRebalance | CompletingRebalance | Stable):
        return ErrorCode.NONE
    match state:
        case PreparingRebalance() | CompletingRebalance() | Stable():
            is_current = isinstance(state.tenure, Tenure) and generation == state.tenure.generation
            return ErrorCode.NONE if is_current else ErrorCode.ILLEGAL_GENERATION
        case Fenced() if state.code is not ErrorCode.FENCED_INSTANCE_ID:
            return state.code
        case _:
            return ErrorCode.UNKNOWN_MEMBER_ID
