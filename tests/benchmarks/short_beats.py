"""A broker of a few lines that coordinates a consumer group which never changes, and its classic members as clients of
a bridge before it, as a program.

It must not know what is measured; arguments: HOST:PORT to listen on, number of members. Commands, one a line:
`join HOST:PORT` (of the bridge) lets them join and fall silent, `count` says how many of their short heartbeats came.
"""

import sys
from collections.abc import Sequence
from threading import Thread

import trio

from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import decode_request, encode_reply
from bridge.wire.frames import RequestHeader
from tests.benchmarks.classic_client import ClassicClient
from tests.benchmarks.fleet import Fleet
from tests.benchmarks.topic_server import SPOKEN, TOPIC_ID, TopicServer, serve
from translators.dialects.classic import HeartbeatReply
from translators.dialects.consumer import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import TopicId, TopicIdPartition

INTERVAL_MS = 500
"""How often the broker wants to hear of each member: ten times as often as Kafka's default."""
BEATS_S = 4.0
OF_CLASSIC_MEMBERS = (ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP, ApiKey.HEARTBEAT, ApiKey.LEAVE_GROUP)
"""What the bridge answers, and offers if its broker does."""
TOPIC, GROUP = "bench-beats", "bench-upstream"
JOIN_TIMEOUT_S = 120.0
EPOCH = 1


class BeatServer(TopicServer):
    """One group, each member with one partition for ever."""

    spoken = (*SPOKEN, ApiKey.CONSUMER_GROUP_HEARTBEAT, *OF_CLASSIC_MEMBERS)

    def __init__(self, host: str, port: int, members: int) -> None:
        super().__init__(host, port, TOPIC, members)
        self.short_beats = 0
        self._joined = 0

    def answer(self, header: RequestHeader, frame: bytes) -> bytes:
        """See `TopicServer`."""
        if header.api_key == ApiKey.HEARTBEAT:
            # How the bridge asks what a client may do with a group: an unknown member is told so by who lets it read.
            unknown = HeartbeatReply(error=ErrorCode.UNKNOWN_MEMBER_ID)
            return encode_reply(header.api_key, header.api_version, header.correlation_id, unknown)
        if header.api_key != ApiKey.CONSUMER_GROUP_HEARTBEAT:
            return super().answer(header, frame)
        asked = decode_request(header.api_key, header.api_version, frame[header.body_offset :])
        assert isinstance(asked, ConsumerGroupHeartbeat), asked
        assignment = None
        if asked.member_epoch == 0:
            assignment = frozenset({TopicIdPartition(TopicId(TOPIC_ID), self._joined)})
            self._joined += 1
        self.short_beats += asked.owned is None
        reply = ConsumerGroupHeartbeatReply(
            error=ErrorCode.NONE,
            member_id=asked.member_id,
            member_epoch=EPOCH,
            heartbeat_interval_ms=INTERVAL_MS,
            assignment=assignment,
        )
        return encode_reply(header.api_key, header.api_version, header.correlation_id, reply)


def main(arguments: Sequence[str]) -> None:
    """Serve until the input ends."""
    address, members = arguments
    host, _, port = address.rpartition(":")
    server = BeatServer(host, int(port), int(members))
    Thread(target=trio.run, args=(serve, host, int(port), server), daemon=True).start()
    fleets: list[Fleet] = []
    for line in sys.stdin:
        match line.split():
            case ["join", bridge]:
                fleets.append(join(bridge, int(members)))
                print("joined", flush=True)
            case ["count"]:
                print(server.short_beats, flush=True)
            case words:
                raise SystemExit(f"unknown command {words}: join HOST:PORT, or count")


def join(bridge: str, members: int) -> Fleet:
    """Let members join by a bridge."""
    host, _, port = bridge.rpartition(":")
    fleet = Fleet((host, int(port)), interval_s=1.0)
    fleet.add([ClassicClient(GROUP, TOPIC, f"member-{number:05}", cooperative=True) for number in range(members)])
    fleet.settle(JOIN_TIMEOUT_S)
    return fleet


if __name__ == "__main__":
    main(sys.argv[1:])
