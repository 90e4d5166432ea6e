"""Compiles a schema and a version into a writer: the mirror image of the reader."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from struct import Struct
from typing import cast

from bridge.wire.codec.api import Fields
from bridge.wire.codec.primitives import (
    MAX_STRING_BYTES,
    compact_size_bytes,
    int16_size_bytes,
    int32_size_bytes,
    uvarint_bytes,
)
from bridge.wire.codec.schema import FIXED_FORMS, Field, Message, array_struct

WriteFields = Callable[[bytearray, Fields], None]
_Put = Callable[[bytearray, object], None]
_SizeBytes = Callable[[int], bytes]


def compile_writer(message: Message, version: int) -> WriteFields:
    """Make the writer of one version of a message; KeyError for a field that is missing, ValueError for a null one."""
    return _struct_writer(message.fields, version, flexible=version in message.flexible)


def _struct_writer(fields: Sequence[Field], version: int, *, flexible: bool) -> WriteFields:
    steps = tuple(_steps(fields, version, flexible=flexible))

    def write_struct(out: bytearray, values: Fields) -> None:
        for step in steps:
            step(out, values)

    return write_struct


def _steps(fields: Sequence[Field], version: int, *, flexible: bool) -> Iterable[WriteFields]:
    plain = [field for field in fields if version in field.versions and version not in field.tagged]
    for fixed, run in groupby(plain, key=lambda field: field.is_fixed):
        if fixed:
            yield _fixed_step(list(run))
        else:
            for field in run:
                yield _step(field.name, _value_writer(field, version, flexible=flexible))
    if flexible:
        yield _tags_step([field for field in fields if version in field.tagged], version)


def _fixed_step(run: Sequence[Field]) -> WriteFields:
    names = tuple(field.name for field in run)
    pack = Struct(">" + "".join(FIXED_FORMS[field.kind] for field in run)).pack

    def write_fixed(out: bytearray, values: Fields) -> None:
        out += pack(*[values[name] for name in names])

    return write_fixed


def _step(name: str, put: _Put) -> WriteFields:
    def write_named(out: bytearray, values: Fields) -> None:
        try:
            put(out, values[name])
        except _NullRefused:
            raise ValueError(f"{name} is null, which this version can't say") from None

    return write_named


class _NullRefused(Exception):
    pass


def _value_writer(field: Field, version: int, *, flexible: bool) -> _Put:
    nullable = version in field.nullable
    if field.is_array:
        put_elements = _elements_writer(field, version, flexible=flexible)
        return _sized_writer(put_elements, compact_size_bytes if flexible else int32_size_bytes, nullable=nullable)
    if field.kind == "string":
        return _string_writer(compact_size_bytes if flexible else int16_size_bytes, nullable=nullable)
    if field.kind == "bytes":
        return _sized_writer(_put_bytes, compact_size_bytes if flexible else int32_size_bytes, nullable=nullable)
    if field.kind == "struct":
        return _struct_value_writer(_struct_writer(field.fields, version, flexible=flexible), nullable=nullable)
    return _fixed_writer(field.kind)


def _string_writer(size_bytes: _SizeBytes, *, nullable: bool) -> _Put:
    def put_string(out: bytearray, value: object) -> None:
        if value is None:
            _put_null(out, size_bytes, nullable=nullable)
            return
        encoded = cast("str", value).encode()
        if len(encoded) > MAX_STRING_BYTES:
            raise ValueError(f"a string of {len(encoded)} bytes, more than {MAX_STRING_BYTES}")
        out += size_bytes(len(encoded))
        out += encoded

    return put_string


def _sized_writer(put: _Put, size_bytes: _SizeBytes, *, nullable: bool) -> _Put:
    def put_sized(out: bytearray, value: object) -> None:
        if value is None:
            _put_null(out, size_bytes, nullable=nullable)
            return
        out += size_bytes(len(cast("Sequence[object]", value)))
        put(out, value)

    return put_sized


def _put_null(out: bytearray, size_bytes: _SizeBytes, *, nullable: bool) -> None:
    if not nullable:
        raise _NullRefused
    out += size_bytes(-1)


def _put_bytes(out: bytearray, value: object) -> None:
    out += cast("bytes", value)


def _elements_writer(field: Field, version: int, *, flexible: bool) -> _Put:
    if field.kind in FIXED_FORMS:

        def put_fixed_elements(out: bytearray, value: object) -> None:
            elements = cast("Sequence[object]", value)
            out += array_struct(field.kind, len(elements)).pack(*elements)

        return put_fixed_elements
    put = (
        _struct_value_writer(_struct_writer(field.fields, version, flexible=flexible), nullable=False)
        if field.kind == "struct"
        else _string_writer(compact_size_bytes if flexible else int16_size_bytes, nullable=False)
    )

    def put_elements(out: bytearray, value: object) -> None:
        for element in cast("Sequence[object]", value):
            put(out, element)

    return put_elements


def _struct_value_writer(write: WriteFields, *, nullable: bool) -> _Put:
    def put_struct(out: bytearray, value: object) -> None:
        write(out, cast("Mapping[str, object]", value))

    def put_nullable_struct(out: bytearray, value: object) -> None:
        out += b"\xff" if value is None else b"\x01"
        if value is not None:
            put_struct(out, value)

    return put_nullable_struct if nullable else put_struct


def _fixed_writer(kind: str) -> _Put:
    pack = Struct(">" + FIXED_FORMS[kind]).pack

    def put_fixed(out: bytearray, value: object) -> None:
        out += pack(value)

    return put_fixed


def _tags_step(tagged: Sequence[Field], version: int) -> WriteFields:
    """Tagged fields go out only where they differ from their default, as Kafka's own writers do."""
    writers = [(field, _value_writer(field, version, flexible=True)) for field in sorted(tagged, key=lambda f: f.tag)]

    def write_tags(out: bytearray, values: Fields) -> None:
        sent = [(field, put, values[field.name]) for field, put in writers if _differs(field, values[field.name])]
        out += uvarint_bytes(len(sent))
        for field, put, value in sent:
            content = bytearray()
            put(content, value)
            out += uvarint_bytes(field.tag) + uvarint_bytes(len(content)) + content

    return write_tags


def _differs(field: Field, value: object) -> bool:
    return bool(value) if field.is_array else value != field.default
