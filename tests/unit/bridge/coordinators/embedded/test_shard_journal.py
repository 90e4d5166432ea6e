"""What of a shard is written, and what a restart holds back for commits that may be on their way."""

from bridge.coordinators.embedded.shard_journal import blank_journal, hold_commits
from bridge.engine.settings import EngineSettings
from tests.support.led_group import LedClient, form
from tests.support.owned_group import GROUP, TOPIC, ClassicClient, OwnedGroup
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId, MemberRef, Topic, TopicId, TopicIdPartition


def journalled(journal: list[bytes]) -> OwnedGroup:
    """An owner that goes on with a journal, as after a start."""
    group = OwnedGroup()
    group.owner.revive(journal, group.now_ms)
    if not journal:
        group.change_topics([Topic(TopicId(b"t" * 16), TOPIC, 6)])
    return group


def test_blank_one_has_nothing_to_write_and_nobody_in_it() -> None:
    """Entries are read into it."""
    blank = blank_journal()
    assert (list(blank.all()), blank.take(), list(blank.translated())) == ([], [], [])
    assert blank.client_of(MemberRef(GROUP, MemberId("m"))) is None


def test_restart_holds_what_may_be_committed_still() -> None:
    """Decision 2: a commit that was on its way when the bridge died holds back everybody but the partition's owner."""
    before = journalled([])
    client = ClassicClient(before)
    client.join()
    after = journalled(list(before.owner.entries()))
    (commit_id,) = hold_commits(after.owner.shard)
    held = after.owner.shard.flights[commit_id].partitions
    assert held == {TopicIdPartition(TopicId(b"t" * 16), number) for number in range(6)}
    client.group = after
    after.wait(1)
    assert client.beat() is ErrorCode.NONE


def test_restart_holds_what_members_of_classic_groups_may_be_committing_still() -> None:
    """The same where their own leader gave it to them: the group may be a consumer group before it is over."""
    settings = EngineSettings(group_initial_rebalance_delay_ms=10, group_begins_classic=True)
    group = OwnedGroup(partitions=6, settings=settings)
    form(group, [LedClient(group), LedClient(group)])
    (commit_id,) = hold_commits(group.owner.shard)
    held = group.owner.shard.flights[commit_id].partitions
    assert held == {TopicIdPartition(TopicId(b"t" * 16), number) for number in range(6)}
