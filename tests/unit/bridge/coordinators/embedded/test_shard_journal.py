"""What of a shard is written, and what a restart holds back for commits that may be on their way."""

import logging

import pytest

from bridge.coordinators.embedded.shard_journal import ENGINE, blank_journal, hold_commits
from bridge.engine import records_codec
from bridge.engine.records import GroupConfigured
from bridge.engine.settings import HEARTBEAT_INTERVAL, POLICY, PREFIX, EngineSettings
from bridge.engine.state import settings_of
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


def test_start_passes_over_settings_of_another_release(caplog: pytest.LogCaptureFixture) -> None:
    """They are kept for it, and the log says that they do not count here; it raised, and the start failed."""
    policy = PREFIX + POLICY
    record = GroupConfigured(GROUP, ((HEARTBEAT_INTERVAL, "6000"), (policy, "sometimes")))
    with caplog.at_level(logging.WARNING):
        after = journalled([ENGINE + records_codec.TABLE.encode(record)])
    shard = after.owner.shard
    base = shard.settings
    assert settings_of(shard, GROUP).group_consumer_heartbeat_interval_ms == 6_000
    assert settings_of(shard, GROUP).group_consumer_migration_policy is base.group_consumer_migration_policy
    assert dict(shard.configs[GROUP].values)[policy] == "sometimes"
    (line,) = (one.getMessage() for one in caplog.records)
    assert line.startswith("EB-GROUP-025: 1 groups")
    assert policy in line


def test_restart_holds_what_may_be_committed_still() -> None:
    """A commit that was on its way when the bridge died holds back everybody but the partition's owner (decision 2)."""
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
