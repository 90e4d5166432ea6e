"""Fields of any message, made from its schema, and kafka-python's bytes for the same fields."""

from collections.abc import Iterator, Mapping, Sequence
from typing import cast
from uuid import UUID

from hypothesis import strategies as st
from kafka.protocol.admin import cluster, groups
from kafka.protocol.api_message import ApiMessage
from kafka.protocol.consumer import group
from kafka.protocol.metadata import api_versions, find_coordinator, metadata
from kafka.protocol.producer import transaction
from kafka.protocol.schemas.fields.codecs import BitField

from bridge.wire.apis import api_name
from bridge.wire.codec.registry import READABLE
from bridge.wire.codec.schema import Direction, Field, load_message
from bridge.wire.frames import RequestHeader

Case = tuple[int, int, Direction]
"""Api key, version, direction."""

_INTEGER_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
_MODULES = (group, groups, cluster, metadata, find_coordinator, api_versions, transaction)


def cases() -> Iterator[Case]:
    """Every message that can be read."""
    for api_key, (first, last) in READABLE.items():
        for version in range(first, last + 1):
            for direction in Direction:
                yield api_key, version, direction


def case_name(case: Case) -> str:
    """A name for the test report."""
    api_key, version, direction = case
    return f"{api_name(api_key)}{direction.value}-v{version}"


def fields_of(case: Case) -> tuple[Field, ...]:
    """The fields that a message of this version has."""
    api_key, version, direction = case
    return of_version(load_message(api_key, direction).fields, version)


def of_version(fields: Sequence[Field], version: int) -> tuple[Field, ...]:
    """The fields that a version has."""
    return tuple(field for field in fields if version in field.versions)


def sample(case: Case, seed: int) -> dict[str, object]:
    """Fixed fields with two elements in every array; `seed` varies the values, and odd ones make nullables null."""
    return _sample_struct(fields_of(case), case[1], seed)


def _sample_struct(fields: Sequence[Field], version: int, seed: int) -> dict[str, object]:
    return {
        field.name: _sample_value(field, version, seed + index)
        for index, field in enumerate(of_version(fields, version))
    }


def _sample_value(field: Field, version: int, seed: int) -> object:
    if seed % 2 and version in field.nullable:
        return None
    if field.is_array:
        return [_sample_element(field, version, seed + step) for step in (1, 2)]
    return _sample_element(field, version, seed)


def _sample_element(field: Field, version: int, seed: int) -> object:
    if field.kind == "struct":
        return _sample_struct(field.fields, version, seed)
    plain: Mapping[str, object] = {
        "string": f"{field.name}-{seed}-é",
        "bytes": bytes(range(seed % 7)),
        "uuid": bytes([seed % 256]) * 16,
        "bool": seed % 2 == 0,
    }
    return plain.get(field.kind, seed % 100)


def struct_values(fields: Sequence[Field], version: int) -> st.SearchStrategy[dict[str, object]]:
    """Any fields of a struct in a version."""
    return st.fixed_dictionaries({field.name: _values(field, version) for field in of_version(fields, version)})


def _values(field: Field, version: int) -> st.SearchStrategy[object]:
    one = _elements(field, version)
    several = st.lists(one, max_size=3) if field.is_array else one
    return st.none() | several if version in field.nullable else several


def _elements(field: Field, version: int) -> st.SearchStrategy[object]:
    if field.kind == "struct":
        return struct_values(field.fields, version)
    if field.kind in _INTEGER_BITS:
        limit = 2 ** (_INTEGER_BITS[field.kind] - 1)
        return st.integers(-limit, limit - 1)
    plain: Mapping[str, st.SearchStrategy[object]] = {
        "string": st.text(max_size=8) | st.text(min_size=130, max_size=140),
        "bytes": st.binary(max_size=8) | st.binary(min_size=128, max_size=130),
        "uuid": st.binary(min_size=16, max_size=16),
        "bool": st.booleans(),
    }
    return plain[field.kind]


def restricted(record: object, fields: Sequence[Field], version: int) -> dict[str, object]:
    """What was read, without the defaults of fields that the version lacks."""
    found = cast("Mapping[str, object]", record)
    return {field.name: _restricted(found[field.name], field, version) for field in of_version(fields, version)}


def _restricted(value: object, field: Field, version: int) -> object:
    if value is None:
        return None
    if field.is_array:
        elements = list(cast("Sequence[object]", value))
        return [restricted(each, field.fields, version) for each in elements] if field.kind == "struct" else elements
    return restricted(value, field.fields, version) if field.kind == "struct" else value


def oracle_frame(case: Case, header: RequestHeader, values: Mapping[str, object]) -> bytes:
    """The whole frame as kafka-python writes it; of `header` an answer has the correlation id only."""
    api_key, version, direction = case
    message = _oracle(_oracle_class(api_key, direction), fields_of(case), values, version)
    if direction is Direction.REQUEST:
        message.with_header(correlation_id=header.correlation_id, client_id=header.client_id)
    else:
        message.with_header(correlation_id=header.correlation_id)
    return bytes(message.encode(header=True, framed=True))


def _oracle_class(api_key: int, direction: Direction) -> type[ApiMessage]:
    name = api_name(api_key) + direction.value
    found = _ORACLES.get(name) or next((vars(module)[name] for module in _MODULES if name in vars(module)), None)
    if found is None:
        found = type(ApiMessage)(name, (ApiMessage,), {}, load_json="bridge.wire.codec.schemas")
    _ORACLES[name] = found
    return found


_ORACLES: dict[str, type[ApiMessage]] = {}


def _oracle(
    data_class: type[ApiMessage], fields: Sequence[Field], values: Mapping[str, object], version: int
) -> ApiMessage:
    theirs = {
        _their_name(data_class, field): _oracle_value(data_class, field, values[field.name], version)
        for field in of_version(fields, version)
        if version not in field.tagged or values[field.name] not in (field.default, [])
    }
    return data_class(**theirs, version=version)


def _their_name(data_class: type[ApiMessage], field: Field) -> str:
    """Some answers call `topic_authorized_operations` and its kin by their last two words there."""
    return field.name if field.name in data_class.fields else "authorized_operations"


def _oracle_value(data_class: type[ApiMessage], field: Field, value: object, version: int) -> object:
    theirs = data_class.fields[_their_name(data_class, field)]
    if getattr(theirs, "_type", None) is BitField:
        return {bit for bit in range(32) if cast("int", value) >> bit & 1}
    if value is None or field.kind not in {"struct", "uuid"}:
        return value
    if field.kind == "uuid":
        return UUID(bytes=cast("bytes", value))
    nested = theirs.data_class
    if not field.is_array:
        return _oracle(nested, field.fields, cast("Mapping[str, object]", value), version)
    return [_oracle(nested, field.fields, each, version) for each in cast("Sequence[Mapping[str, object]]", value)]
