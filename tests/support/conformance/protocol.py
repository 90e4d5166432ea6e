"""The bytes that classic members put into JoinGroup and SyncGroup, written and read by this suite's own codec."""

from collections.abc import Mapping, Sequence

from tests.support.conformance.schema import Field, Reader, Value, Writer, parse_fields

SUBSCRIPTION = parse_fields(
    "topics:[ :s ] user_data:b owned:[ topic:s partitions:[ :i32 ] ]@1+ generation:i32@2+ rack:s@3+"
)
ASSIGNMENT = parse_fields("partitions:[ topic:s partitions:[ :i32 ] ] user_data:b")
PREFIX_BYTES = 2
VERSION_MAX = 3


def encode(version: int, fields: Sequence[Field], values: Mapping[str, Value]) -> bytes:
    """The bytes behind a version prefix."""
    writer = Writer(version, flexible=False)
    writer.write_struct(fields, values)
    return version.to_bytes(PREFIX_BYTES, "big", signed=True) + bytes(writer.data)


def decode(fields: Sequence[Field], data: bytes) -> dict[str, Value] | None:
    """The values, or None if the bytes are nothing of the kind."""
    if len(data) < PREFIX_BYTES:
        return None
    version = int.from_bytes(data[:PREFIX_BYTES], "big", signed=True)
    if not 0 <= version <= VERSION_MAX:
        return None
    reader = Reader(data[PREFIX_BYTES:], version, flexible=False)
    try:
        values = reader.read_struct(fields)
        reader.check_end()
    except ValueError:
        return None
    return {"version": version, **values}


def by_topic(partitions: Mapping[str, Sequence[int]]) -> list[Value]:
    """Partitions by topic as the list that both have."""
    return [{"topic": topic, "partitions": list(numbers)} for topic, numbers in partitions.items()]
