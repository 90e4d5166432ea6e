"""DescribeConfigs as the bridge itself asks it: settings of one broker. Version 1, spoken by Kafka 1.1 to 4.3."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bridge.wire.apis import ApiKey
from bridge.wire.cursor import Cursor
from bridge.wire.errors import MalformedFrame
from bridge.wire.frames import FrameBytes, RequestHeader, read_response_header, request_frame
from bridge.wire.packing import array_length, nullable_string
from translators.dialects.errors import ErrorCode

DESCRIBE_CONFIGS_VERSION = 1
_NAME = ApiKey.DESCRIBE_CONFIGS.name
_BROKER = b"\x04"
_NO_SYNONYMS = b"\x00"
_CODES = {code.value: code for code in ErrorCode}


@dataclass(frozen=True, slots=True)
class BrokerSettings:
    """Settings by name, those that the broker has and shows; none with an error."""

    error: ErrorCode
    values: Mapping[str, str]


def broker_settings_request(node_id: int, names: Sequence[str], client_id: str) -> bytes:
    """The whole request frame that asks a broker for some of its own settings."""
    parts = [
        array_length(1, flexible=False),
        _BROKER,
        nullable_string(str(node_id), flexible=False),
        array_length(len(names), flexible=False),
        *(nullable_string(name, flexible=False) for name in names),
        _NO_SYNONYMS,
    ]
    header = RequestHeader(0, ApiKey.DESCRIBE_CONFIGS, DESCRIBE_CONFIGS_VERSION, 0, client_id, 0)
    return request_frame(header, b"".join(parts))


def read_broker_settings(frame: FrameBytes) -> BrokerSettings:
    """What the broker tells. Raises MalformedFrame."""
    header = read_response_header(frame, ApiKey.DESCRIBE_CONFIGS, DESCRIBE_CONFIGS_VERSION)
    if header is None or header.frame_bytes != len(frame):
        raise MalformedFrame(_NAME, DESCRIBE_CONFIGS_VERSION, "length", 0, f"the frame has {len(frame)} bytes")
    cursor = Cursor(frame, header.body_offset, _NAME, DESCRIBE_CONFIGS_VERSION, flexible=False)
    cursor.int32("throttle_time_ms")
    error, values = ErrorCode.NONE, dict[str, str]()
    for _ in range(cursor.array_length("results")):
        error = _CODES.get(cursor.int16("error_code"), ErrorCode.UNKNOWN_SERVER_ERROR)
        cursor.nullable_string("error_message")
        cursor.int8("resource_type")
        cursor.skip_string("resource_name")
        for _ in range(cursor.array_length("configs")):
            name, value = cursor.string("name"), cursor.nullable_string("value")
            for field in ("read_only", "config_source", "is_sensitive"):
                cursor.int8(field)
            for _ in range(cursor.array_length("synonyms")):
                cursor.skip_string("name")
                cursor.nullable_string("value")
                cursor.int8("source")
            if value is not None:
                values[name] = value
    cursor.expect_end()
    return BrokerSettings(error, values)
