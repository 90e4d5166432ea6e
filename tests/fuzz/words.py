"""Frames that Kafka's clients could have sent: every field by its name and type, with ids that answers told.

It must not know how a frame is spoilt, sent or judged.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from random import Random

from bridge.wire.apis import ApiKey, is_flexible, request_header_version
from bridge.wire.codec.primitives import uvarint_bytes
from bridge.wire.codec.registry import READABLE
from bridge.wire.codec.schema import (
    MESSAGE_KEYS,
    Direction,
    Field,
    Message,
    load_message,
    parse_message,
)
from bridge.wire.codec.writer import WriteFields, compile_writer
from bridge.wire.frames import RequestHeader, request_frame
from bridge.wire.versions import KNOWN
from translators.dialects.consumer_protocol import Subscription, encode_assignment, encode_subscription
from translators.dialects.ids import TopicName, TopicPartition

OTHERS = {
    ApiKey.PRODUCE: "Produce",
    ApiKey.FETCH: "Fetch",
    ApiKey.LIST_OFFSETS: "ListOffsets",
    ApiKey.SASL_HANDSHAKE: "SaslHandshake",
    ApiKey.SASL_AUTHENTICATE: "SaslAuthenticate",
    ApiKey.INIT_PRODUCER_ID: "InitProducerId",
}
"""Apis that only pass, whose requests are made from Kafka's schemas all the same, as kafka-python has them."""
APIS: tuple[int, ...] = (*MESSAGE_KEYS, *OTHERS)
GROUPS = (*(f"fuzz-{number}" for number in range(60)), *("fuzz-1", "pass-1", "") * 5)
"""So many that not every JoinGroup waits for somebody who has gone, and some that all meet in."""
TOPICS = ("t", "u", "nowhere")
CANARY = "canary"
LEARNED_MAX = 200
EDGES = (-1, 0, 1, 2, -2, 3, 5, 127, 128, 32_767, 65_535, 2**31 - 1, -(2**31))
_HIGHEST: dict[int, int] = {ApiKey.PRODUCE: 9, ApiKey.FETCH: 15, ApiKey.TXN_OFFSET_COMMIT: 4}
"""What the bridge offers of what it knows: all else ends the connection, which the spoiling sees to often enough."""
_BITS = {"int8": 8, "int16": 16, "uint16": 17, "int32": 32, "int64": 64}
_UNSIGNED_BITS = _BITS["uint16"]
_NUMBERED = {"session_timeout_ms": 1_000, "rebalance_timeout_ms": 300, "timeout_ms": 500, "max_wait_ms": 1}


@dataclass(slots=True)
class Learned:
    """Ids that answers told, by the name of their field; the canary's are left alone."""

    values: dict[str, list[object]] = field(default_factory=dict)

    def hear(self, told: object) -> None:
        """Take in the fields of an answer."""
        if isinstance(told, dict):
            for name, value in told.items():
                if name in {"member_id", "generation_id", "member_epoch", "topic_id", "leader", "group_instance_id"}:
                    self._keep(name, value)
                self.hear(value)
        elif isinstance(told, list | tuple):
            for each in told:
                self.hear(each)

    def _keep(self, name: str, value: object) -> None:
        known = self.values.setdefault("member_id" if name == "leader" else name, [])
        if value and CANARY not in str(value) and value not in known[-5:]:
            known.append(value)
            del known[:-LEARNED_MAX]


@cache
def request_schema(api_key: int) -> Message:
    """The schema of an api's request."""
    if api_key in MESSAGE_KEYS:
        return load_message(api_key, Direction.REQUEST)
    folder = files("kafka.protocol.schemas.resources")
    text = folder.joinpath(f"{OTHERS[ApiKey(api_key)]}Request.json").read_text(encoding="utf-8")
    return parse_message(text.replace('"records"', '"bytes"').replace("0x7fffffff", str(2**31 - 1)))


@cache
def versions_of(api_key: int) -> tuple[int, int]:
    """Which versions are made."""
    if api_key in READABLE:
        lowest, highest = READABLE[api_key]
        return lowest, min(highest, _HIGHEST.get(api_key, highest))
    schema, offered = request_schema(api_key).versions, KNOWN[api_key]
    lowest, highest = max(schema.lowest, offered.lowest), min(schema.highest, offered.highest)
    return lowest, min(highest, _HIGHEST.get(api_key, highest))


@cache
def _writer(api_key: int, version: int) -> WriteFields:
    return compile_writer(request_schema(api_key), version)


class Speaker:
    """Makes one request after the other."""

    def __init__(self, random: Random, learned: Learned) -> None:
        self.random = random
        self.learned = learned
        self._correlation_id = 0

    def frame(self) -> tuple[int, int, bytes]:
        """A request that is right: its api, its version, its bytes."""
        random = self.random
        api_key = random.choice(APIS)
        lowest, highest = versions_of(api_key)
        version = random.choice((highest, random.randint(lowest, highest)))
        body = bytearray()
        _writer(api_key, version)(body, self._fields(request_schema(api_key).fields, version))
        if is_flexible(api_key, version) and random.random() < 0.1:
            count = random.choice((1, 3, 200))
            body[-1:] = uvarint_bytes(count) + b"\x63\x00" * count
        self._correlation_id += 1
        client_id = random.choice(("fuzz", "", None, "f" * 300))
        header = RequestHeader(0, api_key, version, self._correlation_id, client_id, 0)
        frame = request_frame(header, body)
        if request_header_version(api_key, version) == 2 and random.random() < 0.05:
            frame = self._with_header_tags(frame, len(body))
        return api_key, version, frame

    def _with_header_tags(self, frame: bytes, body_bytes: int) -> bytes:
        count = self.random.choice((1, 50, 5_000))
        at = len(frame) - body_bytes - 1
        whole = frame[4:at] + uvarint_bytes(count) + b"\x63\x00" * count + frame[at + 1 :]
        return len(whole).to_bytes(4) + whole

    def _fields(self, fields: Sequence[Field], version: int) -> dict[str, object]:
        return {each.name: self._value(each, version) for each in fields if version in each.versions}

    def _value(self, each: Field, version: int) -> object:
        random = self.random
        if version in each.nullable and random.random() < 0.3:
            return None
        if each.is_array:
            count = random.choice((0, 1, 1, 1, 2, 3, 20))
            made = [self._one(each, version) for _ in range(count)]
            return made + made[:1] if random.random() < 0.1 else made
        return self._one(each, version)

    def _one(self, each: Field, version: int) -> object:
        if each.kind == "struct":
            return self._fields(each.fields, version)
        if each.kind == "string":
            return self._text(each.name)
        if each.kind == "bytes":
            return self._bytes()
        if each.kind == "bool":
            return self.random.random() < 0.5
        if each.kind == "uuid":
            return self._learned("topic_id", self.random.choice((b"t" * 16, bytes(16), b"u" * 16)))
        return self._number(each)

    def _text(self, name: str) -> str:
        random = self.random
        if random.random() < 0.004:
            return random.choice(("", "x" * 32_767, "é€", "(", "(?i)a{1000}", "\x00"))
        if re.search("group", name) and "instance" not in name:
            return random.choice(GROUPS)
        if "instance" in name:
            return random.choice(("seat-1", "seat-2"))
        if "member" in name:
            return str(self._learned("member_id", random.choice(("", "nobody"))))
        if name == "protocol_type":
            return "consumer"
        if name == "mechanism":
            return random.choice(("PLAIN", "SCRAM-SHA-256", "GSSAPI"))
        if re.search("topic|name", name):
            return random.choice((*TOPICS, "range", "cooperative-sticky", "uniform"))
        return random.choice(("", "t", "consumer", "range", "t.*", "read_committed"))

    def _bytes(self) -> bytes:
        random = self.random
        owned = frozenset(TopicPartition(TopicName("t"), random.randrange(6)) for _ in range(random.randrange(4)))
        topics = tuple(TopicName(random.choice(TOPICS)) for _ in range(random.randrange(3)))
        return random.choice((
            encode_subscription(Subscription(version=random.randrange(4), topics=topics, owned=owned)),
            encode_assignment(owned),
            random.randbytes(random.choice((0, 3, 50))),
        ))  # fmt: skip

    def _number(self, each: Field) -> object:
        random, bits = self.random, _BITS.get(each.kind, 32)
        if random.random() < 0.1:
            return _fitting(random.choice(EDGES), bits)
        if each.name in _NUMBERED:
            return _NUMBERED[each.name]
        if "epoch" in each.name or "generation" in each.name:
            # What was learned may be of a broker that spoils answers, and a producer's epoch has two bytes.
            return _fitting(self._learned("generation_id", random.choice((0, 1, -1))), bits)
        return random.randrange(6)

    def _learned(self, name: str, otherwise: object) -> object:
        known = self.learned.values.get(name)
        return self.random.choice(known) if known and self.random.random() < 0.7 else otherwise


def _fitting(number: object, bits: int) -> int:
    """The number, or 0 where the field can't hold it."""
    if not isinstance(number, int) or not -(1 << bits - 1) <= number < 1 << bits - 1:
        return 0
    return 0 if number < 0 and bits == _UNSIGNED_BITS else number
