"""What a machine says of its member's commits and fetches."""

from bridge.coordinators.translated_offsets import judge_fetch, translate_commit
from tests.support.embedded_world import commit_request
from tests.support.owned_group import GROUP, TOPIC, ClassicClient, OwnedGroup
from translators.classic_member.states import Absent, Limits, State
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberRef, TopicPartition

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


def test_fetch_is_judged_by_the_generation() -> None:
    """K5.20; a member that has none yet, or is no member, gets no offsets under its name."""
    group = OwnedGroup()
    client, newcomer = ClassicClient(group), ClassicClient(group)
    client.join()
    newcomer.begin_join()
    assert judge_fetch(state_of(group, client), client.generation) is ErrorCode.NONE
    assert judge_fetch(state_of(group, client), client.generation + 1) is ErrorCode.ILLEGAL_GENERATION
    assert judge_fetch(state_of(group, newcomer), 1) is ErrorCode.ILLEGAL_GENERATION
    assert judge_fetch(Absent(Limits()), 1) is ErrorCode.UNKNOWN_MEMBER_ID
