"""The topics of the simulated cluster, and its broker."""

from tests.support.simulation.cluster import Broker, Topics
from tests.support.simulation.timeline import Timeline
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import NO_MEMBER_ID, GroupId, RequestRef, TopicName, TopicPartition
from translators.dialects.offsets import OffsetCommit, OffsetCommitReply, PartitionCommit, TopicCommit

COMMIT = OffsetCommit(
    group_id=GroupId("g"),
    generation=-1,
    member_id=NO_MEMBER_ID,
    instance_id=None,
    topics=(TopicCommit(name=TopicName("t"), partitions=(PartitionCommit(partition=2, offset=7),)),),
)


class Desk:
    """A broker, what landed in it and what it said."""

    def __init__(self) -> None:
        self.timeline = Timeline()
        self.landed: list[int] = []
        self.answers: list[OffsetCommitReply | None] = []
        self.broker = Broker(self.timeline, 1, lambda ref, _: self.landed.append(ref.sequence))

    def ask(self, sequence: int) -> None:
        """Commit."""
        self.broker.ask(RequestRef(0, 0, sequence), COMMIT, self.answers.append)


def test_commits_land_in_order_and_are_answered() -> None:
    """Every partition is accepted."""
    desk = Desk()
    for sequence in range(5):
        desk.ask(sequence)
    desk.timeline.run_until(100)
    assert desk.landed == [0, 1, 2, 3, 4]
    codes = [entry.error for reply in desk.answers if reply is not None for entry in reply.topics[0].partitions]
    assert codes == [ErrorCode.NONE] * 5


def test_broken_upstream_answers_none_and_some_commits_land_all_the_same() -> None:
    """Redpanda 3456: a commit whose answer was lost may have happened."""
    desk = Desk()
    desk.broker.is_broken = True
    for sequence in range(40):
        desk.ask(sequence)
    desk.timeline.run_until(1_000)
    assert desk.answers == [None] * 40
    assert 0 < len(desk.landed) < 40


A, B = TopicName("a"), TopicName("b")


def test_topic_made_again_has_a_new_id() -> None:
    """Ids of the first are nothing any more."""
    topics = Topics()
    assert topics.create(A, 1)
    assert not topics.create(A, 5)
    old = topics.to_ids({TopicPartition(A, 0)})
    assert topics.delete(A)
    assert not topics.delete(A)
    assert topics.create(A, 1)
    assert topics.to_ids({TopicPartition(A, 0)}).isdisjoint(old)
    assert topics.to_names(old) == frozenset()


def test_names_and_ids_of_living_topics_match() -> None:
    """There and back; unknown topics vanish."""
    topics = Topics()
    topics.create(A, 2)
    every = topics.partitions([A, A, B])
    assert every == {TopicPartition(A, 0), TopicPartition(A, 1)}
    assert topics.to_names(topics.to_ids(every | {TopicPartition(B, 0)})) == every


def test_topic_grows_if_it_is_there() -> None:
    """Its partitions are more then, its id the same."""
    topics = Topics()
    topics.create(A, 1)
    before = topics.all()[0]
    assert topics.grow(A, 2)
    assert not topics.grow(B, 2)
    assert (topics.all()[0].topic_id, topics.all()[0].partition_count) == (before.topic_id, 3)
