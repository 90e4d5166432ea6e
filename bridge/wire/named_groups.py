"""Which groups a request about settings names, without reading what it says of them: it may be about every topic of a
large cluster, too.
"""

from bridge.wire.apis import ApiKey, api_name, is_flexible
from bridge.wire.cursor import Cursor
from bridge.wire.frames import FrameBytes, RequestHeader
from translators.dialects.configs import GROUP
from translators.dialects.ids import GroupId


def groups_in_settings(header: RequestHeader, frame: FrameBytes) -> frozenset[GroupId]:
    """Those that a whole DescribeConfigs, AlterConfigs or IncrementalAlterConfigs names. Raises MalformedFrame."""
    key, version = header.api_key, header.api_version
    cursor = Cursor(frame, header.body_offset, api_name(key), version, flexible=is_flexible(key, version))
    found: set[GroupId] = set()
    for _ in range(cursor.array_length("resources")):
        kind = cursor.int8("resource_type")
        if kind == GROUP:
            found.add(GroupId(cursor.string("resource_name")))
        else:
            cursor.skip_string("resource_name")
        for _ in range(cursor.array_length("configs")):
            cursor.skip_string("name")
            if key == ApiKey.INCREMENTAL_ALTER_CONFIGS:
                cursor.int8("config_operation")
            if key != ApiKey.DESCRIBE_CONFIGS:
                cursor.skip_string("value")
                cursor.skip_tags()
        cursor.skip_tags()
    return frozenset(found)
