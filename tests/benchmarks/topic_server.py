"""A broker of a few lines that has very many partitions: it says where it is, what topics it has, and that no group is.

It must not know members; arguments: HOST:PORT to listen on, topic name, number of partitions.
"""

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, partial

import trio

from bridge.wire.api_versions import ApiVersionsAnswer, api_versions_reply
from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import decode_request, encode_reply, read_request_fields, reply_frame
from bridge.wire.frames import RESPONSE_CORRELATION_OFFSET, RequestHeader, read_request_header
from bridge.wire.packing import INT32
from bridge.wire.versions import KNOWN
from translators.dialects.admin import DescribedGroup, DescribeGroups, DescribeGroupsReply
from translators.dialects.errors import ErrorCode

NODE_ID = 1
READ_BYTES = 65_536
TOPIC_ID = b"many-partitions!"
SPOKEN = (
    ApiKey.API_VERSIONS,
    ApiKey.METADATA,
    ApiKey.FIND_COORDINATOR,
    ApiKey.DESCRIBE_GROUPS,
)


class TopicServer:
    """One node, one topic."""

    spoken: Sequence[ApiKey] = SPOKEN

    def __init__(self, host: str, port: int, topic: str, partitions: int) -> None:
        self._node = {"node_id": NODE_ID, "host": host, "port": port, "rack": None}
        self._topic = {
            "error_code": 0,
            "name": topic,
            "topic_id": TOPIC_ID,
            "is_internal": False,
            "topic_authorized_operations": -(2**31),
            "partitions": [_partition(number) for number in range(partitions)],
        }
        self._metadata: Callable[[int, bool], bytes] = cache(self._write_metadata)

    def answer(self, header: RequestHeader, frame: bytes) -> bytes:
        """The answer to a whole request."""
        key, version, correlation_id = header.api_key, header.api_version, header.correlation_id
        body = frame[header.body_offset :]
        if key == ApiKey.API_VERSIONS:
            return api_versions_reply(
                version, correlation_id, ApiVersionsAnswer(versions={one: KNOWN[one] for one in self.spoken})
            )
        if key == ApiKey.METADATA:
            wanted = read_request_fields(key, version, body)
            answer = bytearray(self._metadata(version, wanted.is_null("topics")))
            INT32.pack_into(answer, RESPONSE_CORRELATION_OFFSET, correlation_id)
            return bytes(answer)
        if key == ApiKey.FIND_COORDINATOR:
            fields = {"throttle_time_ms": 0, "error_code": 0, "error_message": None, **self._node}
            return reply_frame(key, version, correlation_id, fields)
        asked = decode_request(key, version, body)
        assert isinstance(asked, DescribeGroups), asked
        groups = tuple(
            DescribedGroup(error=ErrorCode.NONE, group_id=one, group_state="Dead") for one in asked.group_ids
        )
        return encode_reply(key, version, correlation_id, DescribeGroupsReply(groups=groups))

    def _write_metadata(self, version: int, has_topics: bool) -> bytes:
        fields = {
            "throttle_time_ms": 0,
            "brokers": [self._node],
            "cluster_id": "bench",
            "controller_id": NODE_ID,
            "topics": [self._topic] if has_topics else [],
            "cluster_authorized_operations": -(2**31),
            "error_code": 0,
        }
        return reply_frame(ApiKey.METADATA, version, 0, fields)


def _partition(number: int) -> dict[str, object]:
    return {
        "error_code": 0,
        "partition_index": number,
        "leader_id": NODE_ID,
        "leader_epoch": 0,
        "replica_nodes": [NODE_ID],
        "isr_nodes": [NODE_ID],
        "offline_replicas": [],
    }


async def _talk(server: TopicServer, stream: trio.SocketStream) -> None:
    received = bytearray()
    # The bridge may hang up while it is answered: it has its own patience.
    with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
        async with stream:
            async for chunk in stream:
                received += chunk
                while (header := read_request_header(received)) and len(received) >= header.frame_bytes:
                    frame = bytes(received[: header.frame_bytes])
                    del received[: header.frame_bytes]
                    await stream.send_all(server.answer(header, frame))


async def serve(host: str, port: int, server: TopicServer) -> None:
    """Serve until cancelled, and say so on standard output once clients may come."""
    async with trio.open_nursery() as nursery:
        await nursery.start(partial(trio.serve_tcp, partial(_talk, server), port, host=host))
        print("ready", flush=True)


def main(arguments: Sequence[str]) -> None:
    """Serve until ended."""
    address, topic, partitions = arguments
    host, _, port = address.rpartition(":")
    trio.run(serve, host, int(port), TopicServer(host, int(port), topic, int(partitions)))


if __name__ == "__main__":
    main(sys.argv[1:])
