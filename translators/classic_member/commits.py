"""Whether a classic client's commit is admitted: only for partitions whose ownership was unbroken since the
generation it names.
"""

from collections.abc import Iterable
from typing import assert_never

from translators.classic_member.states import (
    Absent,
    Asked,
    CompletingRebalance,
    Fenced,
    Leaving,
    Overtaken,
    PreparingRebalance,
    Retrying,
    Stable,
    State,
)
from translators.classic_member.tenure import Tenure, Vacant
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import TopicPartition


def admit_commit(state: State, generation: int, partitions: Iterable[TopicPartition]) -> ErrorCode:
    """Judge a commit (plain or transactional) of `partitions` under `generation`: one error for the whole request
    (decision 3, K11.4 on K5.11).

    Under the current generation a partition that was never handed out is admitted too, as Kafka does. While the
    coordinator has not confirmed what remains of a parked member's partitions, commits for them get
    REBALANCE_IN_PROGRESS; so do those of a member that has the new generation and has not heard yet what is left to it
    (K5.7), which ILLEGAL_GENERATION would have give up all of it.
    """
    match state:
        case Stable():
            return _admit(state.tenure, generation, partitions)
        case CompletingRebalance():
            code = _admit(state.tenure, generation, partitions)
            is_current = generation == state.tenure.generation
            return ErrorCode.REBALANCE_IN_PROGRESS if code is not ErrorCode.NONE and is_current else code
        case PreparingRebalance():
            return _admit_parked(state, generation, frozenset(partitions))
        case Fenced(code=ErrorCode.FENCED_INSTANCE_ID) | Leaving() | Absent():
            # Kafka 4.3.1 looks at the member id alone in a consumer group: who lost its static seat is not there.
            return ErrorCode.UNKNOWN_MEMBER_ID
        case Fenced():
            return state.code
        case _:
            assert_never(state)


def _admit(tenure: Tenure, generation: int, partitions: Iterable[TopicPartition]) -> ErrorCode:
    if not 1 <= generation <= tenure.generation:
        return ErrorCode.ILLEGAL_GENERATION
    since, released = tenure.since, tenure.released
    is_current = generation == tenure.generation
    for partition in partitions:
        first = since.get(partition)
        is_own = is_current and partition not in released if first is None else first <= generation
        if not is_own:
            return ErrorCode.ILLEGAL_GENERATION
    return ErrorCode.NONE


def _admit_parked(state: PreparingRebalance, generation: int, partitions: frozenset[TopicPartition]) -> ErrorCode:
    if isinstance(state.tenure, Vacant):
        return ErrorCode.ILLEGAL_GENERATION
    code = _admit(state.tenure, generation, partitions)
    is_uncertain = isinstance(state.talk, (Asked, Overtaken, Retrying))
    if code is ErrorCode.NONE and is_uncertain and not partitions <= state.using:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return code
