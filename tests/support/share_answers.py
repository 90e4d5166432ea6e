"""Answers about records of share groups (KIP-932) as kio writes them, to compare ours with.

It must not know our own codecs.
"""

import importlib
import io
import uuid
from collections.abc import Mapping
from datetime import timedelta
from types import ModuleType

from kio.schema.errors import ErrorCode
from kio.serial import entity_writer

from bridge.wire.apis import ApiKey
from bridge.wire.frames import response_frame

TOPIC_ID = uuid.UUID("12345678-1234-1234-1234-123456789012")
RECORDS = b"\x00\xff" * 500

Addresses = Mapping[int, tuple[str, int]]


def share_answer(api_key: ApiKey, version: int, addresses: Addresses) -> bytes:
    """A whole answer to ShareFetch or ShareAcknowledge that names a moved leader and these nodes."""
    schema = importlib.import_module(f"kio.schema.{api_key.name.lower()}.v{version}.response")
    kind = "Fetch" if api_key == ApiKey.SHARE_FETCH else "Acknowledge"
    topic = vars(schema)["ShareFetchableTopicResponse" if kind == "Fetch" else "ShareAcknowledgeTopicResponse"]
    whole = vars(schema)[f"Share{kind}Response"]
    has_lock = kind == "Fetch" or version > 1
    partitions = (_partition(schema, kind, 0, None), _partition(schema, kind, 1, "moved"))
    message = whole(
        throttle_time=timedelta(milliseconds=4),
        error_code=ErrorCode.none,
        error_message="as it should be",
        **({"acquisition_lock_timeout": timedelta(seconds=30)} if has_lock else {}),
        responses=(topic(topic_id=TOPIC_ID, partitions=partitions),),
        node_endpoints=tuple(
            schema.NodeEndpoint(node_id=n, host=h, port=p, rack="r") for n, (h, p) in addresses.items()
        ),
    )
    body = io.BytesIO()
    entity_writer(whole)(body, message)
    return response_frame(api_key, version, 7, body.getvalue())


def _partition(schema: ModuleType, kind: str, index: int, trouble: str | None) -> object:
    leader = schema.LeaderIdAndEpoch(leader_id=2 if trouble else -1, leader_epoch=9)
    code = ErrorCode.not_leader_or_follower if trouble else ErrorCode.none
    if kind == "Acknowledge":
        return schema.PartitionData(
            partition_index=index, error_code=code, error_message=trouble, current_leader=leader
        )
    acquired = schema.AcquiredRecords(first_offset=3, last_offset=8, delivery_count=1)
    return schema.PartitionData(
        partition_index=index,
        error_code=code,
        error_message=trouble,
        acknowledge_error_code=int(code),
        acknowledge_error_message=trouble,
        current_leader=leader,
        records=b"" if trouble else RECORDS,
        acquired_records=() if trouble else (acquired, acquired),
    )
