"""The requests and answers of consumer groups, field by field, as Kafka 4.3's message files list them."""

from collections.abc import Mapping
from dataclasses import dataclass

from tests.support.conformance.schema import Field, Reader, Value, Writer, parse_fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """One API: its key, its first flexible version, and the fields of both directions."""

    key: int
    flexible: int
    request: tuple[Field, ...]
    answer: tuple[Field, ...]


def _api(key: int, flexible: int, request: str, answer: str) -> Api:
    return Api(key=key, flexible=flexible, request=parse_fields(request), answer=parse_fields(answer))


NEVER = 99
COMMITTED = "partition:i32 offset:i64 leader_epoch:i32@5+ metadata:s error:i16"
OWNED = "topic_id:uuid partitions:[ :i32 ]"
SHOWN = "topic_partitions:[ topic_id:uuid topic_name:s partitions:[ :i32 ] ]"

APIS: Mapping[str, Api] = {
    "ApiVersions": _api(18, 3, "", "error:i16 apis:[ key:i16 oldest:i16 newest:i16 ]"),
    "Metadata": _api(
        3,
        9,
        "topics:[ topic_id:uuid@10+ name:s ] allow_auto_topic_creation:bool operations:bool",
        "throttle:i32 brokers:[ node_id:i32 host:s port:i32 rack:s ] cluster_id:s controller_id:i32 "
        "topics:[ error:i16 name:s topic_id:uuid@10+ is_internal:bool partitions:[ error:i16 partition:i32 leader:i32 "
        "leader_epoch:i32 replicas:[ :i32 ] isr:[ :i32 ] offline:[ :i32 ] ] operations:i32 ]",
    ),
    "OffsetCommit": _api(
        8,
        8,
        "group_id:s generation_id:i32@1+ member_id:s@1+ group_instance_id:s@7+ retention_ms:i64@2-4 topics:[ "
        "name:s@0-9 topic_id:uuid@10+ partitions:[ partition:i32 offset:i64 leader_epoch:i32@6+ metadata:s ] ]",
        "throttle:i32@3+ topics:[ name:s@0-9 topic_id:uuid@10+ partitions:[ partition:i32 error:i16 ] ]",
    ),
    "OffsetFetch": _api(
        9,
        6,
        "group_id:s@0-7 topics:[ name:s partitions:[ :i32 ] ]@0-7 groups:[ group_id:s member_id:s@9+ "
        "member_epoch:i32@9+ topics:[ name:s@8-9 topic_id:uuid@10+ partitions:[ :i32 ] ] ]@8+ require_stable:bool@7+",
        f"throttle:i32@3+ topics:[ name:s partitions:[ {COMMITTED} ] ]@0-7 error:i16@2-7 groups:[ group_id:s "
        f"topics:[ name:s@8-9 topic_id:uuid@10+ partitions:[ {COMMITTED} ] ] error:i16 ]@8+",
    ),
    "FindCoordinator": _api(
        10,
        3,
        "key:s@0-3 key_type:i8@1+ keys:[ :s ]@4+",
        "throttle:i32@1+ error:i16@0-3 error_message:s@1-3 node_id:i32@0-3 host:s@0-3 port:i32@0-3 "
        "coordinators:[ key:s node_id:i32 host:s port:i32 error:i16 error_message:s ]@4+",
    ),
    "JoinGroup": _api(
        11,
        6,
        "group_id:s session_timeout_ms:i32 rebalance_timeout_ms:i32@1+ member_id:s group_instance_id:s@5+ "
        "protocol_type:s protocols:[ name:s metadata:b ] reason:s@8+",
        "throttle:i32@2+ error:i16 generation_id:i32 protocol_type:s@7+ protocol_name:s leader:s "
        "skip_assignment:bool@9+ member_id:s members:[ member_id:s group_instance_id:s@5+ metadata:b ]",
    ),
    "Heartbeat": _api(
        12, 4, "group_id:s generation_id:i32 member_id:s group_instance_id:s@3+", "throttle:i32@1+ error:i16"
    ),
    "LeaveGroup": _api(
        13,
        4,
        "group_id:s member_id:s@0-2 members:[ member_id:s group_instance_id:s reason:s@5+ ]@3+",
        "throttle:i32@1+ error:i16 members:[ member_id:s group_instance_id:s error:i16 ]@3+",
    ),
    "SyncGroup": _api(
        14,
        4,
        "group_id:s generation_id:i32 member_id:s group_instance_id:s@3+ protocol_type:s@5+ protocol_name:s@5+ "
        "assignments:[ member_id:s assignment:b ]",
        "throttle:i32@1+ error:i16 protocol_type:s@5+ protocol_name:s@5+ assignment:b",
    ),
    "DescribeGroups": _api(
        15,
        5,
        "groups:[ :s ] operations:bool@3+",
        "throttle:i32@1+ groups:[ error:i16 error_message:s@6+ group_id:s state:s protocol_type:s protocol_data:s "
        "members:[ member_id:s group_instance_id:s@4+ client_id:s client_host:s metadata:b assignment:b ] "
        "operations:i32@3+ ]",
    ),
    "ListGroups": _api(
        16,
        3,
        "states_filter:[ :s ]@4+ types_filter:[ :s ]@5+",
        "throttle:i32@1+ error:i16 groups:[ group_id:s protocol_type:s state:s@4+ type:s@5+ ]",
    ),
    "InitProducerId": _api(
        22,
        2,
        "transactional_id:s timeout_ms:i32 producer_id:i64@3+ producer_epoch:i16@3+",
        "throttle:i32 error:i16 producer_id:i64 producer_epoch:i16",
    ),
    "AddOffsetsToTxn": _api(
        25, 3, "transactional_id:s producer_id:i64 producer_epoch:i16 group_id:s", "throttle:i32 error:i16"
    ),
    "EndTxn": _api(
        26,
        3,
        "transactional_id:s producer_id:i64 producer_epoch:i16 committed:bool",
        "throttle:i32 error:i16 producer_id:i64@5+ producer_epoch:i16@5+",
    ),
    "TxnOffsetCommit": _api(
        28,
        3,
        "transactional_id:s group_id:s producer_id:i64 producer_epoch:i16 generation_id:i32@3+ member_id:s@3+ "
        "group_instance_id:s@3+ topics:[ name:s partitions:[ partition:i32 offset:i64 leader_epoch:i32@2+ "
        "metadata:s ] ]",
        "throttle:i32 topics:[ name:s partitions:[ partition:i32 error:i16 ] ]",
    ),
    "DeleteGroups": _api(42, 2, "groups:[ :s ]", "throttle:i32 results:[ group_id:s error:i16 ]"),
    "OffsetDelete": _api(
        47,
        NEVER,
        "group_id:s topics:[ name:s partitions:[ partition:i32 ] ]",
        "error:i16 throttle:i32 topics:[ name:s partitions:[ partition:i32 error:i16 ] ]",
    ),
    "ConsumerGroupHeartbeat": _api(
        68,
        0,
        "group_id:s member_id:s member_epoch:i32 instance_id:s rack_id:s rebalance_timeout_ms:i32 "
        f"subscribed_topic_names:[ :s ] subscribed_topic_regex:s@1+ server_assignor:s topic_partitions:[ {OWNED} ]",
        "throttle:i32 error:i16 error_message:s member_id:s member_epoch:i32 heartbeat_interval_ms:i32 "
        f"assignment:{{ topic_partitions:[ {OWNED} ] }}",
    ),
    "ConsumerGroupDescribe": _api(
        69,
        0,
        "groups:[ :s ] operations:bool",
        "throttle:i32 groups:[ error:i16 error_message:s group_id:s state:s group_epoch:i32 assignment_epoch:i32 "
        "assignor:s members:[ member_id:s instance_id:s rack_id:s member_epoch:i32 client_id:s client_host:s "
        f"subscribed_topic_names:[ :s ] subscribed_topic_regex:s assignment:( {SHOWN} ) target_assignment:( {SHOWN} ) "
        "member_type:i8@1+ ] operations:i32 ]",
    ),
    "ShareGroupHeartbeat": _api(
        76,
        0,
        "group_id:s member_id:s member_epoch:i32 rack_id:s subscribed_topic_names:[ :s ]",
        "throttle:i32 error:i16 error_message:s member_id:s member_epoch:i32 heartbeat_interval_ms:i32 "
        f"assignment:{{ topic_partitions:[ {OWNED} ] }}",
    ),
    "AlterShareGroupOffsets": _api(
        91,
        0,
        "group_id:s topics:[ name:s partitions:[ partition:i32 offset:i64 ] ]",
        "throttle:i32 error:i16 error_message:s topics:[ name:s topic_id:uuid partitions:[ partition:i32 error:i16 "
        "error_message:s ] ]",
    ),
    "ShareGroupDescribe": _api(
        77,
        0,
        "groups:[ :s ] operations:bool",
        "throttle:i32 groups:[ error:i16 error_message:s group_id:s state:s group_epoch:i32 assignment_epoch:i32 "
        "assignor:s members:[ member_id:s rack_id:s member_epoch:i32 client_id:s client_host:s "
        f"subscribed_topic_names:[ :s ] assignment:( {SHOWN} ) ] operations:i32 ]",
    ),
}


HEAD = parse_fields("key:i16 version:i16 correlation_id:i32 client_id:s")


def encode_request(api: Api, version: int, correlation_id: int, client_id: str, fields: Mapping[str, Value]) -> bytes:
    """A whole frame, length prefix included."""
    flexible = version >= api.flexible
    head = Writer(1, flexible=False)
    head.write_struct(
        HEAD,
        {"key": api.key, "version": version, "correlation_id": correlation_id, "client_id": client_id},
    )
    body = Writer(version, flexible=flexible)
    body.write_struct(api.request, fields)
    payload = bytes(head.data) + (b"\x00" if flexible else b"") + bytes(body.data)
    return len(payload).to_bytes(4, "big") + payload


def decode_answer(api: Api, version: int, payload: bytes) -> dict[str, Value]:
    """The fields of an answer whose frame is `payload` without its length prefix."""
    flexible = version >= api.flexible
    reader = Reader(payload, version, flexible=flexible)
    reader.number("i32")
    if flexible:
        reader.skip_tags()
    values = reader.read_struct(api.answer)
    reader.check_end()
    return values
