"""The broker behind the bridge as far as offsets go: it takes commits in order, late, and sometimes its answer is lost.

It must not know members.
"""

from collections.abc import Callable
from random import Random

from bridge.simulation.subject import OnCommitted
from bridge.simulation.timeline import Timeline
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import RequestRef
from translators.dialects.offsets import CommittedPartition, CommittedTopic, OffsetCommit, OffsetCommitReply

USUAL_MS = 5
Landed = Callable[[RequestRef, OffsetCommit], None]


class Broker:
    """Commits land after a while and in order; while the upstream is broken they may land or not, and nobody hears."""

    def __init__(self, timeline: Timeline, seed: int, landed: Landed) -> None:
        self.is_broken = False
        self.delay_ms = USUAL_MS
        self._timeline, self._landed = timeline, landed
        self._chance = Random(f"broker {seed}")
        self._lands_ms = 0

    def ask(self, ref: RequestRef, request: OffsetCommit, answer: OnCommitted) -> None:
        """Take a commit."""
        delay_ms = self._chance.randint(0, self.delay_ms)
        self._lands_ms = max(self._lands_ms, self._timeline.now_ms + delay_ms)
        if not self.is_broken:
            self._timeline.at(self._lands_ms, lambda: self._land(ref, request, answer))
            return
        if self._chance.random() < 0.5:
            self._timeline.at(self._lands_ms, lambda: self._landed(ref, request))
        self._timeline.after(self._chance.randint(0, self.delay_ms), lambda: answer(None))

    def _land(self, ref: RequestRef, request: OffsetCommit, answer: OnCommitted) -> None:
        self._landed(ref, request)
        answer(_accepted(request))


def _accepted(request: OffsetCommit) -> OffsetCommitReply:
    return OffsetCommitReply(
        topics=tuple(
            CommittedTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=tuple(CommittedPartition(entry.partition, ErrorCode.NONE) for entry in topic.partitions),
            )
            for topic in request.topics
        )
    )
