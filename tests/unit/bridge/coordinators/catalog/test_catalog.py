"""Names, ids and what changed."""

from bridge.coordinators.catalog import Catalog, TopicsChange
from translators.dialects.ids import NO_TOPIC_ID, Topic, TopicId, TopicIdPartition, TopicName, TopicPartition

ID = TopicId(b"a" * 16)
OTHER = TopicId(b"b" * 16)
T = TopicName("t")


def test_new_grown_recreated_and_deleted_topics_are_told() -> None:
    """Only differences are told; a topic made anew under its name is another topic."""
    catalog = Catalog()
    assert catalog.update([Topic(ID, T, 1)]) == TopicsChange((Topic(ID, T, 1),), ())
    assert not catalog.update([Topic(ID, T, 1)])
    assert catalog.update([Topic(ID, T, 2)]) == TopicsChange((Topic(ID, T, 2),), ())
    assert catalog.update([Topic(OTHER, T, 2)]) == TopicsChange((Topic(OTHER, T, 2),), (ID,))
    assert not catalog.update([])
    assert catalog.update([]) == TopicsChange((), (OTHER,))


def test_broker_that_lags_behind_takes_nothing_away() -> None:
    """One look without a topic, or with fewer partitions, may come from a broker that has not heard yet."""
    catalog = Catalog()
    catalog.update([Topic(ID, T, 3)])
    for lagging in ([], [Topic(ID, T, 3)], [], [Topic(ID, T, 2)]):
        assert not catalog.update(lagging)
    assert catalog.knows([T])


def test_partitions_of_unknown_topics_vanish_both_ways() -> None:
    """On their way in what a client says it owns (K4.12), and on their way out what it is assigned (K4.22)."""
    catalog = Catalog()
    catalog.update([Topic(ID, T, 1)])
    assert catalog.to_ids([TopicPartition(T, 0), TopicPartition(TopicName("x"), 0)]) == {TopicIdPartition(ID, 0)}
    assert catalog.to_names([TopicIdPartition(ID, 0), TopicIdPartition(OTHER, 0)]) == {TopicPartition(T, 0)}
    assert catalog.knows([T])
    assert not catalog.knows([T, TopicName("x")])


def test_topics_without_ids_get_stable_ones() -> None:
    """The same id at every look, another in another cluster (decision 19)."""
    first, second, other = Catalog(), Catalog(), Catalog()
    nameless = [Topic(NO_TOPIC_ID, T, 1)]
    made = first.update(nameless, "cluster").changed[0].topic_id
    assert not first.has_ids
    assert made == second.update(nameless, "cluster").changed[0].topic_id
    assert made != other.update(nameless, "elsewhere").changed[0].topic_id


def test_catalog_begins_with_what_a_journal_has() -> None:
    """What was seen before counts no more; the next look tells the difference to the journal."""
    catalog = Catalog()
    catalog.update([Topic(OTHER, T, 1)])
    catalog.begin_with([Topic(ID, T, 2)])
    assert catalog.topic(OTHER) is None
    assert catalog.update([Topic(ID, T, 3)]) == TopicsChange((Topic(ID, T, 3),), ())
