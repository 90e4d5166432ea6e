"""Conversions that are only looked at."""

from bridge.coordinators.embedded.operators import copy_group, list_members, preview_upgrade
from bridge.engine.commands import ConvertGroup, GroupType
from bridge.engine.queries import group_type
from bridge.engine.settings import EngineSettings
from tests.support.led_group import LedClient, form
from tests.support.owned_group import GROUP, TOPIC, OwnedGroup
from translators.dialects.ids import GroupId, RequestRef, Topic, TopicId, TopicPartition

SETTINGS = EngineSettings(group_initial_rebalance_delay_ms=10, group_begins_classic=True)


def led(count: int) -> tuple[OwnedGroup, list[LedClient]]:
    """A classic group at work."""
    group = OwnedGroup(partitions=4, settings=SETTINGS)
    clients = [LedClient(group) for _ in range(count)]
    form(group, clients)
    return group, clients


def test_group_that_is_in_order_would_move_nothing() -> None:
    """And looking at it changes nothing."""
    group, clients = led(2)
    previews = preview_upgrade(copy_group(group.owner.shard, GROUP), group.owner.catalog, GROUP, group.now_ms)
    assert {one.member_id for one in previews} == {client.member_id for client in clients}
    assert [(one.loses, one.gains) for one in previews] == [(frozenset(), frozenset())] * 2
    assert group_type(group.owner.shard, GROUP) is GroupType.CLASSIC


def test_partition_that_nobody_has_would_be_given_out() -> None:
    """The topic has grown, and the leader has not noticed yet."""
    group, _ = led(2)
    group.change_topics([Topic(TopicId(b"t" * 16), TOPIC, 5)])
    previews = preview_upgrade(copy_group(group.owner.shard, GROUP), group.owner.catalog, GROUP, group.now_ms)
    assert sorted(map(len, (one.gains for one in previews))) == [0, 1]
    assert frozenset[TopicPartition]().union(*(one.gains for one in previews)) == {TopicPartition(TOPIC, 4)}


def test_there_is_nothing_to_see_where_there_is_nothing_to_convert() -> None:
    """An unknown group, and one that is a consumer group already."""
    group, clients = led(2)
    shard, catalog = group.owner.shard, group.owner.catalog
    assert preview_upgrade(copy_group(shard, GroupId("other")), catalog, GroupId("other"), 0) == ()
    assert list_members(shard, GROUP) == ()
    group.tell(ConvertGroup(ref=RequestRef(0, -1, 1), group_id=GROUP, to=GroupType.CONSUMER))
    assert preview_upgrade(copy_group(shard, GROUP), catalog, GROUP, 0) == ()
    assert [one.member_id for one in list_members(shard, GROUP)] == [client.member_id for client in clients]
