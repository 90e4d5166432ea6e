"""A broker that answers every api, and now and then with something that is no answer.

What it says to the canary is always right: the canary's answers are judged.
"""

from dataclasses import dataclass, field
from random import Random

import trio

from bridge.wire.api_versions import ApiVersionsAnswer, api_versions_reply
from bridge.wire.apis import ApiKey
from bridge.wire.codec.api import Record
from bridge.wire.codec.registry import READABLE, read_request_fields, reply_frame
from bridge.wire.codec.schema import Direction, Field, load_message
from bridge.wire.errors import MalformedFrame
from bridge.wire.frames import RequestHeader, read_request_header, response_frame
from bridge.wire.versions import KNOWN
from tests.fuzz.spoiling import WAYS, with_length
from tests.fuzz.words import CANARY, TOPICS
from tests.support.scripted_broker import ALL_OPERATIONS, LOOPBACK

SPOILT_FOR_STRANGERS, SPOILT_FOR_THE_BRIDGE = 0.1, 0.05
DELAY_MAX_S, HANG_S = 0.5, 3.0
TOPIC_IDS = {"t": b"t" * 16, "u": b"u" * 16}
PARTITIONS = 6


def nothing_said(fields: tuple[Field, ...], version: int) -> dict[str, object]:
    """An answer without errors that says as little as it can."""
    plain = {"string": "", "bytes": b"", "uuid": bytes(16), "bool": False, "struct": None}
    return {
        each.name: [] if each.is_array else None if version in each.nullable else plain.get(each.kind, 0)
        for each in fields
        if version in each.versions
    }


@dataclass(slots=True)
class SpoilingBroker:
    """Answers in order on every connection."""

    random: Random
    port: int
    is_calm: bool = True
    """Whether everything it says is right."""
    asked: int = 0
    spoilt: int = 0
    kinds: dict[str, int] = field(default_factory=dict)

    async def serve(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Listen until cancelled."""
        # trio hands out its listeners when it has begun, and whoever starts a broker asks for none.
        await trio.serve_tcp(self._talk, self.port, host=LOOPBACK, task_status=task_status)  # type: ignore[arg-type]

    async def _talk(self, stream: trio.SocketStream) -> None:
        received = bytearray()
        try:
            async with stream:
                async for chunk in stream:
                    received += chunk
                    while (header := read_request_header(received)) and len(received) >= header.frame_bytes:
                        body = bytes(received[header.body_offset : header.frame_bytes])
                        del received[: header.frame_bytes]
                        if not await self._answer(stream, header, body):
                            return
        except (trio.BrokenResourceError, trio.ClosedResourceError, MalformedFrame):
            return

    async def _answer(self, stream: trio.SocketStream, header: RequestHeader, body: bytes) -> bool:
        self.asked += 1
        answer = self.answer(header, body)
        of_bridge = header.client_id == "epochbridge"
        chance = SPOILT_FOR_THE_BRIDGE if of_bridge else SPOILT_FOR_STRANGERS
        if self.is_calm or header.client_id == CANARY or self.random.random() >= chance:
            await stream.send_all(answer)
            return True
        return await self._spoil(stream, answer)

    async def _spoil(self, stream: trio.SocketStream, answer: bytes) -> bool:
        """Give something else for an answer; False ends the connection."""
        random = self.random
        self.spoilt += 1
        kind = random.choice(("wrong", "wrong", "wrong", "torn", "other id", "late", "hung", "closed", "junk", "twice"))
        self.kinds[kind] = self.kinds.get(kind, 0) + 1
        if kind == "wrong":
            await stream.send_all(answer[:8] + with_length(random.choice(WAYS)(random, answer))[8:])
        elif kind == "torn":
            await stream.send_all(answer[: random.randrange(1, len(answer))])
            return False
        elif kind == "other id":
            await stream.send_all(answer[:4] + random.randbytes(4) + answer[8:])
        elif kind == "late":
            await trio.sleep(random.random() * DELAY_MAX_S)
            await stream.send_all(answer)
        elif kind == "hung":
            await trio.sleep(HANG_S)
        elif kind == "junk":
            await stream.send_all(random.randbytes(random.choice((3, 8, 500))))
        elif kind == "twice":
            await stream.send_all(answer * 2)
        return kind not in {"closed", "hung"}

    def answer(self, header: RequestHeader, body: bytes) -> bytes:
        """What a broker would answer, roughly: without errors, and with the names that were asked for."""
        key, version, correlation_id = header.api_key, header.api_version, header.correlation_id
        if key == ApiKey.API_VERSIONS:
            return api_versions_reply(version, correlation_id, ApiVersionsAnswer(versions=KNOWN))
        if key not in READABLE or not READABLE[key][0] <= version <= READABLE[key][1]:
            return response_frame(key, version, correlation_id, bytes(12))
        said = nothing_said(load_message(key, Direction.RESPONSE).fields, version)
        try:
            asked = read_request_fields(key, version, body)
        except MalformedFrame:
            asked = Record()
        said |= self._particulars(key, version, asked)
        try:
            return reply_frame(key, version, correlation_id, said)
        except (KeyError, ValueError, TypeError):
            return response_frame(key, version, correlation_id, bytes(12))

    def _particulars(self, key: int, version: int, asked: Record) -> dict[str, object]:
        here = {"node_id": 1, "host": LOOPBACK, "port": self.port, "rack": None}
        if key == ApiKey.METADATA:
            return {
                "brokers": [here],
                "cluster_id": "fuzz",
                "controller_id": 1,
                "topics": [*map(self._topic, TOPICS[:2])],
            }
        if key == ApiKey.FIND_COORDINATOR:
            keys = asked.get("coordinator_keys") or ()
            found = {**here, "error_code": 0, "error_message": None}
            return {
                **found,
                "coordinators": [{**found, "key": each} for each in keys] if isinstance(keys, list) else [],
            }
        if key == ApiKey.DESCRIBE_CLUSTER:
            return {"brokers": [{**here, "broker_id": 1, "is_fenced": False}], "cluster_id": "fuzz", "controller_id": 1}
        if key in (ApiKey.OFFSET_COMMIT, ApiKey.TXN_OFFSET_COMMIT, ApiKey.OFFSET_DELETE):
            return {"topics": _committed(asked)}
        if key == ApiKey.OFFSET_FETCH:
            groups = asked.get("groups") if version >= 8 else ()
            named = [each for each in groups if isinstance(each, dict)] if isinstance(groups, list) else []
            return {"groups": [{"group_id": each["group_id"], "topics": [], "error_code": 0} for each in named]}
        listed = asked.get("groups") or asked.get("group_ids") or asked.get("groups_names") or ()
        return {"groups": [_described(str(each)) for each in listed] if isinstance(listed, list) else []}

    @staticmethod
    def _topic(name: str) -> dict[str, object]:
        partition = {"error_code": 0, "leader_id": 1, "leader_epoch": 0, "replica_nodes": [1], "isr_nodes": [1]}
        return {
            "error_code": 0,
            "name": name,
            "topic_id": TOPIC_IDS[name],
            "is_internal": False,
            "partitions": [
                {**partition, "partition_index": number, "offline_replicas": []} for number in range(PARTITIONS)
            ],
            "topic_authorized_operations": ALL_OPERATIONS,
        }


def _committed(asked: Record) -> list[dict[str, object]]:
    topics = asked.get("topics")
    return [
        {
            "name": each.get("name", ""),
            "topic_id": each.get("topic_id", bytes(16)),
            "partitions": [
                {"partition_index": one["partition_index"], "error_code": 0}
                for one in each["partitions"]
                if isinstance(one, dict)
            ],
        }
        for each in (topics if isinstance(topics, list) else ())
        if isinstance(each, dict)
    ]


def _described(group_id: str) -> dict[str, object]:
    """An empty group that nobody knows: for all answers that list groups."""
    return {
        "error_code": 0,
        "error_message": None,
        "group_id": group_id,
        "group_state": "Dead",
        "protocol_type": "",
        "protocol_data": "",
        "group_epoch": 0,
        "assignment_epoch": 0,
        "assignor_name": "",
        "members": [],
        "authorized_operations": ALL_OPERATIONS,
        "group_type": "",
    }
