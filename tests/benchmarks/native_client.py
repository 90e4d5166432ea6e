"""One KIP-848 consumer as its coordinator sees it, to stand in a fleet beside classic ones.

It must not know sockets, time or the other members.
"""

from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import decode_reply, encode_reply, encode_request
from bridge.wire.frames import LENGTH_BYTES
from tests.benchmarks.classic_client import REBALANCE_MS, ClassicClient, Phase, Refused
from translators.dialects.consumer import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import JOIN_EPOCH, LEAVE_EPOCH, MemberId, TopicIdPartition, TopicPartition

VERSION = 1
MEMBER_ID_CHARS = 22
"""As Java's and librdkafka's, which are UUIDs in base64."""
CALM = ConsumerGroupHeartbeatReply(error=ErrorCode.NONE, member_id=MemberId("-" * MEMBER_ID_CHARS))
ANSWER_BYTES = len(encode_reply(ApiKey.CONSUMER_GROUP_HEARTBEAT, VERSION, 0, CALM))
"""Of an answer without an assignment."""
AGAIN = frozenset((ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))


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
        return self._request(JOIN_EPOCH, joins=True)

    def leave(self) -> bytes:
        """The last heartbeat."""
        return self._request(LEAVE_EPOCH)

    def take(self, frame: bytes) -> bytes | None:
        """Deal with an answer; a heartbeat with what is owned now if that has changed. Raises Refused."""
        _, reply = decode_reply(ApiKey.CONSUMER_GROUP_HEARTBEAT, VERSION, frame[LENGTH_BYTES:])
        assert isinstance(reply, ConsumerGroupHeartbeatReply), reply
        if reply.error in AGAIN:
            return self.start()
        if reply.error is not ErrorCode.NONE:
            raise Refused(f"{self.name} heard {reply.error.name}: {reply.error_message}")
        self.phase = Phase.STABLE
        self._epoch = reply.member_epoch
        self.beat = self._request(self._epoch)
        if reply.assignment is None or reply.assignment == self._held:
            return None
        self.times_called += 1
        self.partitions_given_up += len(self._held - reply.assignment)
        self._held = reply.assignment
        self.owned = frozenset(TopicPartition(self._topic, one.partition) for one in self._held)
        return self._request(self._epoch, tells=True)

    def _request(self, epoch: int, *, joins: bool = False, tells: bool = False) -> bytes:
        request = ConsumerGroupHeartbeat(
            group_id=self._group,
            member_id=self._member_id,
            member_epoch=epoch,
            rebalance_timeout_ms=REBALANCE_MS if joins else -1,
            subscribed_topic_names=(self._topic,) if joins else None,
            owned=self._held if joins or tells else None,
        )
        return encode_request(ApiKey.CONSUMER_GROUP_HEARTBEAT, VERSION, 4, self.name, request)
