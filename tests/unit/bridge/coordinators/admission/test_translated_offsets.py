"""What a machine says of its member's commits and fetches."""

from dataclasses import replace

import pytest

from bridge.coordinators.admission import judge_fetch, translate_commit
from tests.support.classic_members import A, C, completing, fenced, preparing, tenure
from tests.support.embedded_world import commit_request
from tests.support.owned_group import GROUP, TOPIC, ClassicClient, OwnedGroup
from translators.classic_member.states import Absent, Asked, CompletingRebalance, MemberLimits, State
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberRef, TopicPartition
from translators.dialects.offsets import TxnOffsetCommit

PARTITIONS = (TopicPartition(TOPIC, 0),)


def state_of(group: OwnedGroup, client: ClassicClient) -> State:
    """A client's machine."""
    state = group.owner.machines.get(MemberRef(GROUP, client.member_id))
    assert state is not None
    return state


def test_commit_goes_on_under_the_members_epoch() -> None:
    """The client's generation and the engine's epoch are different numbers."""
    group = OwnedGroup()
    client = ClassicClient(group)
    client.join()
    epoch = group.owner.shard.groups[GROUP].members[client.member_id].current.epoch
    assert epoch != client.generation
    commit = translate_commit(state_of(group, client), commit_request(client.generation, client.member_id), PARTITIONS)
    assert commit == commit_request(epoch, client.member_id)
    stale = commit_request(client.generation + 1, client.member_id)
    assert translate_commit(state_of(group, client), stale, PARTITIONS) is ErrorCode.ILLEGAL_GENERATION


@pytest.mark.parametrize(
    ("state", "plain", "of_a_transaction"),
    [
        (completing(C), ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION),
        (preparing(Asked(), tenure(A)), ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
    ],
)
def test_no_producer_is_told_of_a_rebalance_which_would_end_it(
    state: State, plain: ErrorCode, of_a_transaction: ErrorCode
) -> None:
    """Java's producer knows no REBALANCE_IN_PROGRESS in the answer to TxnOffsetCommit: it fails for good."""
    if isinstance(state, CompletingRebalance):
        state = replace(state, tenure=replace(state.tenure, released=frozenset({A})))
    commit = commit_request(3, "m")
    transactional = TxnOffsetCommit(
        transactional_id="t", group_id=GROUP, producer_id=1, producer_epoch=0, generation=3, topics=commit.topics
    )
    assert translate_commit(state, commit, (A,)) is plain
    assert translate_commit(state, transactional, (A,)) is of_a_transaction


def test_fetch_is_judged_by_the_generation() -> None:
    """A fetch names the exact generation (K5.20); who has none yet, or is no member, gets no offsets in its name."""
    group = OwnedGroup()
    client, newcomer = ClassicClient(group), ClassicClient(group)
    client.join()
    newcomer.begin_join()
    assert judge_fetch(state_of(group, client), client.generation) is ErrorCode.NONE
    assert judge_fetch(state_of(group, client), client.generation + 1) is ErrorCode.ILLEGAL_GENERATION
    assert judge_fetch(state_of(group, newcomer), 1) is ErrorCode.ILLEGAL_GENERATION
    assert judge_fetch(Absent(MemberLimits()), 1) is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    ("code", "heard"),
    [
        (ErrorCode.ILLEGAL_GENERATION, ErrorCode.ILLEGAL_GENERATION),
        (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.UNKNOWN_MEMBER_ID),
        (ErrorCode.FENCED_INSTANCE_ID, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
@pytest.mark.parametrize("generation", [-1, 1])
def test_fenced_member_that_fetches_hears_what_ended_it_in_words_of_offset_fetch(
    code: ErrorCode, heard: ErrorCode, generation: int
) -> None:
    """82 is no code of OffsetFetch; with or without a generation, nobody reads under a lost name."""
    assert judge_fetch(fenced(code), generation) is heard


def test_member_that_tells_no_generation_may_fetch_while_it_is_one() -> None:
    """@platformatic/kafka 2 names its member id only; who is no member has no offsets to read."""
    group = OwnedGroup()
    client = ClassicClient(group)
    client.join()
    assert judge_fetch(state_of(group, client), -1) is ErrorCode.NONE
    assert judge_fetch(Absent(MemberLimits()), -1) is ErrorCode.UNKNOWN_MEMBER_ID
