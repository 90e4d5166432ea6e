"""The compiled reader: sizes, claims, nullable structs and tags."""

import tracemalloc
from collections.abc import Sequence

import pytest

from bridge.wire.apis import ApiKey
from bridge.wire.codec.primitives import Fault
from bridge.wire.codec.reader import compile_reader, smallest_bytes
from bridge.wire.codec.registry import body_bytes, read_fields
from bridge.wire.codec.schema import Direction, Field, load_message, parse_message
from bridge.wire.errors import MalformedFrame
from tests.support.codec_samples import cases, sample

TAGGED = parse_message("""{
  "apiKey": 99, "type": "request", "name": "ThingRequest", "validVersions": "0-1", "flexibleVersions": "1+",
  "fields": [
    { "name": "Id", "type": "int16", "versions": "0+" },
    { "name": "Note", "type": "string", "versions": "1+", "taggedVersions": "1+", "tag": 2, "default": "none" },
    { "name": "Box", "type": "Box", "versions": "1+", "nullableVersions": "1+", "fields": [
      { "name": "Sizes", "type": "[]int8", "versions": "1+" }
    ]}
  ]
}""")
read_tagged = compile_reader(TAGGED, 1)


def test_version_without_a_field_has_its_default() -> None:
    """Mappings need not ask for the version."""
    assert compile_reader(TAGGED, 0)(b"\0\7", 0) == ({"id": 7, "note": "none", "box": None}, 2)


def test_known_tag_is_read_and_unknown_ones_are_skipped() -> None:
    """KIP-482."""
    tags = b"\3" + b"\x01\x02??" + b"\x02\x03\x02ab"[:2] + b"\x03ab" + b"\x09\x00"
    assert read_tagged(b"\0\7" + b"\xff" + tags, 0) == ({"id": 7, "note": "ab", "box": None}, 3 + len(tags))


def test_struct_that_may_be_null_has_a_byte_before_it() -> None:
    """KIP-893: negative is null."""
    assert read_tagged(b"\0\7" + b"\x01\x03\x05\xff\x00" + b"\0", 0)[0]["box"] == {"sizes": (5, -1)}


@pytest.mark.parametrize(
    ("raw", "field", "offset"),
    [
        (b"\0", "id", 0),
        (b"\0\7", "box", 2),
        (b"\0\7\x01\x09\x05", "box.sizes", 3),
        (b"\0\7\xff", "tagged_fields", 3),
        (b"\0\7\xff\x01\x09\x05ab", "tagged_fields", 6),
        (b"\0\7\xff\x01\x02\x02\x03a", "note", 7),
        (b"\0\7\xff\x01\x02\x03\x02ab", "tagged_fields", 8),
    ],
)
def test_fault_names_field_and_offset(raw: bytes, field: str, offset: int) -> None:
    """A cut, a claim too large, a tag that is longer or shorter than its value."""
    with pytest.raises(Fault) as caught:
        read_tagged(raw, 0)
    assert (caught.value.field(), caught.value.offset) == (field, offset)


def test_smallest_size_is_what_empty_values_take() -> None:
    """More would refuse honest arrays, less would let claims through."""
    for api_key, version, direction in cases():
        message = load_message(api_key, direction)
        flexible = version in message.flexible
        plain = [each for each in message.fields if version in each.versions and version not in each.tagged]
        least = sum(
            1 if _may_be_null_struct(each, version) else smallest_bytes(each, version, flexible=flexible)
            for each in plain
        )
        body = body_bytes(api_key, version, direction, _emptiest(message.fields, version))
        assert least + flexible == len(body)


def _may_be_null_struct(field: Field, version: int) -> bool:
    return field.kind == "struct" and not field.is_array and version in field.nullable


def _emptiest(fields: Sequence[Field], version: int) -> dict[str, object]:
    return {field.name: _emptiest_value(field, version) for field in fields}


def _emptiest_value(field: Field, version: int) -> object:
    if version in field.tagged:
        return field.default
    if field.is_array:
        return ()
    if field.kind == "struct":
        return None if version in field.nullable else _emptiest(field.fields, version)
    return {"string": "", "bytes": b"", "uuid": bytes(16)}.get(field.kind, 0)


@pytest.mark.parametrize(
    ("api_key", "version", "body"),
    [
        (ApiKey.DELETE_GROUPS, 0, b"\x7f\xff\xff\xff"),
        (ApiKey.DELETE_GROUPS, 2, b"\xff\xff\xff\xff\x07"),
        (ApiKey.OFFSET_COMMIT, 9, b"\x02g\0\0\0\0\x02m\0\xff\xff\xff\xff\x07"),
        (ApiKey.JOIN_GROUP, 0, b"\0\1g\0\0\0\0\0\0\0\0\x7f\xff\xff\xff"),
        (ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, b"\x02g\x02m\0\0\0\0\0\0\0\0\0\0\xff\xff\xff\xff\x07"),
    ],
)
def test_claimed_billions_cost_no_memory(api_key: int, version: int, body: bytes) -> None:
    """An array is checked against the bytes that are left before anything is made."""
    read_fields(
        api_key,
        version,
        Direction.REQUEST,
        body_bytes(api_key, version, Direction.REQUEST, sample((api_key, version, Direction.REQUEST), 0)),
    )
    tracemalloc.start()
    try:
        with pytest.raises(MalformedFrame, match="elements claimed"):
            read_fields(api_key, version, Direction.REQUEST, body)
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak_bytes < 64 * 1024
