"""The broker behind the bridge."""

from bridge.simulation.broker import Broker
from bridge.simulation.timeline import Timeline
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import NO_MEMBER_ID, GroupId, RequestRef, TopicName
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
