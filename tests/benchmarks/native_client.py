"""One KIP-848 consumer as its coordinator sees it, to stand in a fleet beside classic ones.

It must not know sockets, time or the other members.
"""

from dataclasses import replace

from bridge.whatif.membership import RETRIED, ConsumerMembership, ConsumerSubscription
from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import decode_reply, encode_reply, encode_request
from bridge.wire.frames import LENGTH_BYTES
from tests.benchmarks.classic_client import REBALANCE_MS, ClassicClient, Phase, Refused
from translators.dialects.consumer import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import JOIN_EPOCH, MemberId, TopicIdPartition, TopicPartition

VERSION = 1
MEMBER_ID_CHARS = 22
"""As Java's and librdkafka's, which are UUIDs in base64."""
CALM = ConsumerGroupHeartbeatReply(error=ErrorCode.NONE, member_id=MemberId("-" * MEMBER_ID_CHARS))
ANSWER_BYTES = len(encode_reply(ApiKey.CONSUMER_GROUP_HEARTBEAT, VERSION, 0, CALM))
"""Of an answer without an assignment."""


class NativeClient(ClassicClient):
    """Takes every assignment at once, and acknowledges it with its next heartbeat, which follows at once."""

    def __init__(self, group: str, topic: str, name: str) -> None:
        super().__init__(group, topic, name, cooperative=True)
        self._member_id = MemberId(f"native-{name}".ljust(MEMBER_ID_CHARS, "-"))
        self._epoch = JOIN_EPOCH
        self._held: frozenset[TopicIdPartition] = frozenset()

    def start(self) -> bytes:
        """The first heartbeat."""
        self.phase = Phase.JOINING
        self.joins += 1
        subscription = ConsumerSubscription(topics=(self._topic,), rebalance_timeout_ms=REBALANCE_MS)
        return self._framed(replace(self._as_member, epoch=JOIN_EPOCH).full(subscription, self._held))

    def leave(self) -> bytes:
        """The last heartbeat."""
        return self._framed(self._as_member.leave())

    def take(self, frame: bytes) -> bytes | None:
        """Deal with an answer; a heartbeat with what is owned now if that has changed. Raises Refused."""
        _, reply = decode_reply(ApiKey.CONSUMER_GROUP_HEARTBEAT, VERSION, frame[LENGTH_BYTES:])
        assert isinstance(reply, ConsumerGroupHeartbeatReply), reply
        if reply.error in RETRIED:
            return self.start()
        if reply.error is not ErrorCode.NONE:
            raise Refused(f"{self.name} heard {reply.error.name}: {reply.error_message}")
        self.phase = Phase.STABLE
        self._epoch = reply.member_epoch
        self.beat = self._framed(self._as_member.brief())
        if reply.assignment is None or reply.assignment == self._held:
            return None
        self.times_called += 1
        self.partitions_given_up += len(self._held - reply.assignment)
        self._held = reply.assignment
        self.owned = frozenset(TopicPartition(self._topic, one.partition) for one in self._held)
        return self._framed(self._as_member.brief(owned=self._held))

    @property
    def _as_member(self) -> ConsumerMembership:
        return ConsumerMembership(group_id=self._group, member_id=self._member_id, epoch=self._epoch)

    def _framed(self, request: ConsumerGroupHeartbeat) -> bytes:
        return encode_request(ApiKey.CONSUMER_GROUP_HEARTBEAT, VERSION, 4, self.name, request)
