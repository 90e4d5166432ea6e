"""What played clients are given."""

from bridge.engine.settings import EngineSettings
from bridge.whatif.coordinator import Coordinator
from bridge.whatif.played_group import PlayedGroup, id_of
from bridge.whatif.timeline import Timeline
from tests.support.whatif_history import BEGINS_US, GROUP, REACTION, TOPIC, client, history, slower
from translators.dialects.ids import InstanceId, MemberId, TopicIdPartition, TopicName, TopicPartition

OTHER = TopicName("other")


def group() -> PlayedGroup:
    """A group with two topics."""
    coordinator = Coordinator(GROUP, EngineSettings(), BEGINS_US)
    one = slower(history(), "slow", 2)
    made = PlayedGroup(history=one, timeline=Timeline(BEGINS_US), coordinator=coordinator)
    made.change_topics({TOPIC: 2, OTHER: 1})
    return made


def test_topics_have_ids_that_follow_from_their_names() -> None:
    """Sixteen bytes, the same in every play."""
    part = TopicIdPartition(id_of(TOPIC), 1)
    assert (len(id_of(TOPIC)), id_of(TOPIC) == id_of(OTHER)) == (16, False)
    assert group().named([part]) == {TopicPartition(TOPIC, 1)}


def test_topic_that_is_gone_counts_no_more() -> None:
    """Neither for clients nor for the engine."""
    one = group()
    one.change_topics({TOPIC: 0})
    assert one.counts == {OTHER: 1}
    assert {topic.name for topic in one.coordinator.shard.topics.values()} == {OTHER}


def test_pattern_is_resolved_when_it_is_wanted_and_when_topics_change() -> None:
    """One that can't be read is the engine's to refuse."""
    one = group()
    one.want("o.*")
    one.want("(")
    one.change_topics({TopicName("offers"): 1})
    patterns = one.coordinator.shard.patterns
    assert patterns["o.*"].topics == {TOPIC, OTHER, "offers"}
    assert patterns["("].error is not None


def test_members_have_connections_and_a_pace_of_their_own() -> None:
    """The group's where the record has none."""
    one = group()
    numbers = [one.connection(MemberId(name)) for name in "aba"]
    assert (numbers, one.reaction(MemberId("a")), one.reaction(MemberId("slow")).revoke_us) == (
        [0, 1, 0],
        REACTION,
        2_000_000,
    )


def test_classic_member_keeps_the_id_of_the_record_if_it_can() -> None:
    """A coordinator puts the client's or the instance's name before it; who comes again gets another one."""
    one = group()
    dynamic, static = client("a"), client("b", seat="s")
    assert [one.fresh_id(dynamic), one.fresh_id(dynamic), one.fresh_id(static)] == ["a", "a-1", "b"]
    assert static.instance_id == InstanceId("s")
