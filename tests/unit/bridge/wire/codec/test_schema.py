"""Schemas as values, and our own ones against kio's, which are generated from Kafka's."""

import subprocess
import sys
from io import BytesIO
from pathlib import Path

import pytest
from kio.schema.consumer_group_describe import v0 as describe_v0
from kio.schema.consumer_group_describe import v1 as describe_v1
from kio.schema.consumer_group_heartbeat import v0 as heartbeat_v0
from kio.schema.consumer_group_heartbeat import v1 as heartbeat_v1
from kio.serial import entity_reader, entity_writer
from kio.static.protocol import Entity

from bridge.wire.apis import FIRST_FLEXIBLE, api_name
from bridge.wire.codec.registry import READABLE, body_bytes
from bridge.wire.codec.schema import (
    MESSAGE_KEYS,
    NO_VERSION,
    Direction,
    Field,
    array_struct,
    load_message,
    parse_message,
    parse_versions,
)
from bridge.wire.versions import VersionRange
from tests.support.codec_samples import Case, sample

ROOT = Path(__file__).parents[5]

TEXT = """
// A licence.
{
  "apiKey": 99, "type": "request", "name": "ThingRequest",
  // What changed.
  "validVersions": "0-2", "flexibleVersions": "2+",
  "fields": [
    { "name": "GroupId", "type": "string", "versions": "0+", "nullableVersions": "1+", "default": "null" },
    { "name": "Sizes", "type": "[]int64", "versions": "1-2" },
    { "name": "Mark", "type": "bool", "versions": "2+", "taggedVersions": "2+", "tag": 3, "default": "true" },
    { "name": "Box", "type": "Box", "versions": "0+", "fields": [
      { "name": "Epoch", "type": "int32", "versions": "0", "default": "-1" }
    ]}
  ]
}
"""


def field(name: str, kind: str, versions: VersionRange, default: object) -> Field:
    """A plain field."""
    return Field(
        name=name,
        kind=kind,
        is_array=False,
        versions=versions,
        nullable=NO_VERSION,
        tagged=NO_VERSION,
        tag=-1,
        default=default,
        fields=(),
    )


def test_schema_text_becomes_fields() -> None:
    """Comments are lines of their own; names become snake case; defaults get their types."""
    message = parse_message(TEXT)
    newest = 32767
    assert (message.name, message.api_key, message.versions, message.flexible) == (
        "ThingRequest",
        99,
        VersionRange(0, 2),
        VersionRange(2, newest),
    )
    group_id, sizes, mark, box = message.fields
    assert (group_id.name, group_id.kind, group_id.nullable, group_id.default) == (
        "group_id",
        "string",
        VersionRange(1, newest),
        None,
    )
    assert (sizes.kind, sizes.is_array, sizes.versions, sizes.default) == ("int64", True, VersionRange(1, 2), ())
    assert (mark.tagged, mark.tag, mark.default) == (VersionRange(2, newest), 3, True)
    assert (box.kind, box.default, box.fields) == ("struct", None, (field("epoch", "int32", VersionRange(0, 0), -1),))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0+", VersionRange(0, 32767)), ("2-7", VersionRange(2, 7)), ("1", VersionRange(1, 1)), ("none", NO_VERSION)],
)
def test_version_ranges_are_read(text: str, expected: VersionRange) -> None:
    """Kafka writes them in four ways."""
    assert parse_versions(text) == expected


def test_unknown_type_is_refused() -> None:
    """Records are never read here."""
    with pytest.raises(ValueError, match="records"):
        parse_message(TEXT.replace('"[]int64"', '"records"'))


def test_array_struct_counts_values() -> None:
    """A uuid is sixteen bytes, so its format can't carry a count."""
    assert array_struct("int32", 3).format == ">3i"
    assert array_struct("uuid", 2).format == ">16s16s"


@pytest.mark.parametrize("api_key", sorted(MESSAGE_KEYS))
@pytest.mark.parametrize("direction", list(Direction))
def test_schema_fits_the_tables_of_the_wire_room(api_key: int, direction: Direction) -> None:
    """Key, versions and first flexible version agree with what the frames use."""
    message = load_message(api_key, direction)
    assert message.api_key == api_key
    assert message.name == api_name(api_key) + direction.value
    assert message.versions == READABLE[api_key]
    flexible = message.flexible.lowest if message.flexible is not NO_VERSION else None
    assert flexible is None or flexible == FIRST_FLEXIBLE[api_key]
    assert flexible is not None or FIRST_FLEXIBLE[api_key] > message.versions.highest


def test_running_needs_no_import_of_kafka_python() -> None:
    """Importing it starts a whole client: 0.1 s that the first answer can't afford."""
    asked = (
        "import sys, bridge.wire.codec.registry as r; r.decode_request(16, 0, b''); sys.exit('kafka' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", asked], check=False, cwd=ROOT).returncode == 0


KIO: dict[Case, type[Entity]] = {
    (68, 0, Direction.REQUEST): heartbeat_v0.ConsumerGroupHeartbeatRequest,
    (68, 1, Direction.REQUEST): heartbeat_v1.ConsumerGroupHeartbeatRequest,
    (68, 0, Direction.RESPONSE): heartbeat_v0.ConsumerGroupHeartbeatResponse,
    (68, 1, Direction.RESPONSE): heartbeat_v1.ConsumerGroupHeartbeatResponse,
    (69, 0, Direction.REQUEST): describe_v0.ConsumerGroupDescribeRequest,
    (69, 1, Direction.REQUEST): describe_v1.ConsumerGroupDescribeRequest,
    (69, 0, Direction.RESPONSE): describe_v0.ConsumerGroupDescribeResponse,
    (69, 1, Direction.RESPONSE): describe_v1.ConsumerGroupDescribeResponse,
}


@pytest.mark.parametrize("case", list(KIO))
@pytest.mark.parametrize("seed", [0, 1])
def test_consumer_group_definition_agrees_with_kio(case: Case, seed: int) -> None:
    """kio's classes, generated from Kafka's schemas, read our bytes to the end and write them again."""
    body = bytes(body_bytes(*case, sample(case, seed)))
    entity, size = entity_reader(KIO[case])(body, 0)
    assert size == len(body)
    again = BytesIO()
    entity_writer(KIO[case])(again, entity)
    assert again.getvalue() == body
