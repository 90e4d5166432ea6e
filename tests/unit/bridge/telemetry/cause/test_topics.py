"""When topics are what made a rebalance, as told or as seen."""

import pytest

from bridge.telemetry.cause.context import context_of
from bridge.telemetry.cause.topics import find_movers, find_topics
from bridge.telemetry.schema.facts import MemberTold, TopicsChanged, TopicsSeen
from bridge.telemetry.schema.terms import Carrier, News, Protocol, Road
from tests.support.event_stories import Story


def found(story: Story) -> list[tuple[str, ...]]:
    """The evidence in short: kinds, members, topics."""
    context = context_of(story.events)
    assert context is not None
    facts = [event.fact for event in find_topics(context, context.at_first)]
    return [
        (fact.kind, *fact.topics) if isinstance(fact, TopicsChanged) else (fact.kind, getattr(fact, "member_id", ""))
        for fact in facts
    ]


def classic() -> Story:
    """A classic group on road `pass` that has met once, c1 leading, with six partitions."""
    story = Story(road=Road.PASSING, protocol=Protocol.CLASSIC).at(0)
    story.joined("c1")
    return story.began(1).target(1).ended().at(40_000)


def changed(story: Story, *topics: str) -> Story:
    """These topics have twelve partitions now."""
    story.tell(TopicsChanged(topics=topics, partition_counts=(12,) * len(topics)))
    return story


def test_topics_of_others_are_cut_from_the_evidence() -> None:
    """One look at the cluster finds what changed for everybody; a group's explanation names its own topics."""
    story = Story().at(0)
    story.joined("c1")
    changed(story.began(2).target(1).ended().at(9_000), "foreign", "orders").began(3)
    assert found(story) == [("topics-changed", "orders")]


def test_topic_subscribed_to_after_it_appeared_is_no_change_of_topics() -> None:
    """It was there when the member joined, so no pattern can have led to it."""
    story = changed(Story().at(0), "invoices")
    story.at(100).joined("c1")
    story.began(2).target(1).ended().at(500).subscribed("c1", "orders", "invoices")
    assert found(story.began(3)) == []


def test_topic_that_appears_and_is_subscribed_to_at_once_was_noticed() -> None:
    """Clients with a pattern of their own, and librdkafka's always, name only topics that are there."""
    story = changed(classic(), "orders-2")
    story.at(42_000).subscribed("c1", "orders", "orders-2")
    assert found(story.began(1)) == [("topics-changed", "orders-2"), ("member-subscribed", "c1")]


def test_change_heard_of_while_members_meet_counts() -> None:
    """The member looked a moment before the bridge did."""
    story = classic().began(1)
    story.rejoined("c1", is_leader=True)
    assert found(changed(story.at(40_300), "orders")) == [("topics-changed", "orders"), ("member-rejoined", "c1")]


def test_classic_group_that_gives_out_more_than_before_read_topics_that_grew() -> None:
    """Nobody told the bridge; whoever joined again did so for that."""
    story = classic().began(1)
    story.rejoined("c1", is_leader=True)
    assert found(story.at(40_100).target(1, partitions=9)) == [
        ("target-computed", ""),
        ("target-computed", ""),
        ("member-rejoined", "c1"),
    ]


def test_classic_group_that_gives_out_as_much_as_before_shows_nothing() -> None:
    """A leader that joins again for reasons of its own."""
    story = classic().began(1)
    story.rejoined("c1", is_leader=True)
    assert found(story.at(40_100).target(1)) == []


@pytest.mark.parametrize(("partition", "counts"), [("orders-5", []), ("orders-8", [("topics-changed", "orders")])])
def test_partition_beyond_the_known_end_shows_that_a_topic_grew(partition: str, counts: list[tuple[str, ...]]) -> None:
    """On road `pass` a broker tells its members and nobody else."""
    story = Story(road=Road.PASSING).at(0)
    story.tell(TopicsSeen(topics=("orders",), partition_counts=(6,)))
    story.joined("c1")
    story.began(2).ended().at(30_000).began(3).told("c1", News.ASSIGN).gets("c1", partition)
    assert found(story) == counts


def test_pattern_wants_what_is_given_out() -> None:
    """What a pattern means is the coordinator's to say; the partitions show it."""
    story = Story().at(0)
    story.tell(TopicsSeen(topics=("orders",), partition_counts=(6,)))
    story.joined("c1")
    story.subscribed("c1", "orders")
    story.began(2).target(1).ended().at(9_000)
    assert found(changed(story, "other").began(3).gets("c1", "other-0")) == []


def test_member_whose_wishes_are_forgotten_wants_what_it_is_given() -> None:
    """It joined long before anything that is remembered of a busy group."""
    story = Story().at(0)
    story.tell(TopicsSeen(topics=("orders", "other"), partition_counts=(6, 6)))
    story.joined("c1")
    story.began(2).target(2).ended().at(9_000)
    assert found(changed(story, "other").began(3).gets("old", "other-7")) == [("topics-changed", "other")]


def test_members_that_were_called_first_moved_nothing() -> None:
    """Rejoining is what members do when they are called."""
    story = classic().began(1).told("c1", News.REVOKE)
    story.at(40_200).rejoined("c1", is_leader=True)
    context = context_of(story.events)
    assert context is not None
    assert find_movers(context, context.own) == ()


def test_more_partitions_after_a_cooperative_round_show_nothing() -> None:
    """The leader gave out less at first, because somebody was to give something up."""
    story = classic().began(1)
    story.rejoined("c1", is_leader=True)
    story.at(40_100).target(2, partitions=4).at(40_200)
    words = story.about_member("c1")
    story.tell(MemberTold(**words, news=News.REVOKE, carrier=Carrier.SYNC_GROUP))
    story.ended().at(41_000).began(2).rejoined("c1", is_leader=True)
    assert found(story.at(41_100).target(2)) == []


def test_topics_that_a_rebalance_has_dealt_with_cause_no_other_one() -> None:
    """The group has given out what there is; its leader joins again for reasons of its own."""
    story = changed(classic(), "orders").at(41_000).began(1)
    story.rejoined("c1", is_leader=True)
    story.at(41_100).target(1).ended().at(43_000).began(2).rejoined("c1", is_leader=True)
    assert found(story.at(43_100).target(1)) == []
