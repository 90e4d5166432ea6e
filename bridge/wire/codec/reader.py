"""Compiles a schema and a version into a reader of bytes that knows where it is at every moment."""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from struct import Struct
from typing import cast

from bridge.wire.codec.api import Record
from bridge.wire.codec.primitives import (
    AllowedBytes,
    Fault,
    Read,
    ReadSize,
    bytes_reader,
    fault_of_cut,
    part_of,
    read_compact_size,
    read_int32_size,
    read_uvarint,
    string_reader,
)
from bridge.wire.codec.schema import FIXED_FORMS, NO_VERSION, Field, Message, array_struct

ReadRecord = Callable[[bytes, int], tuple[Record, int]]
_Step = Callable[[Record, bytes, int], int]
"""Reads one or more fields into a record and returns the position behind them."""


def compile_reader(message: Message, version: int) -> ReadRecord:
    """Make the reader of one version of a message; it raises `Fault` and doesn't ask for the end of the bytes."""
    return _struct_reader(message.fields, version, flexible=version in message.flexible)


def smallest_bytes(field: Field, version: int, *, flexible: bool) -> int:
    """The fewest bytes that a value of this field can take; of an array field, the array itself."""
    if field.is_array:
        return 1 if flexible else 4
    if field.kind == "struct":
        return _smallest_struct_bytes(field.fields, version, flexible=flexible)
    if field.kind in FIXED_FORMS:
        return Struct(">" + FIXED_FORMS[field.kind]).size
    if flexible:
        return 1
    return 2 if field.kind == "string" else 4


def _smallest_struct_bytes(fields: Sequence[Field], version: int, *, flexible: bool) -> int:
    plain = _plain_fields(fields, version)
    return sum(
        1 if _is_nullable_struct(field, version) else smallest_bytes(field, version, flexible=flexible)
        for field in plain
    ) + int(flexible)


def _plain_fields(fields: Sequence[Field], version: int) -> list[Field]:
    return [field for field in fields if version in field.versions and version not in field.tagged]


def _is_nullable_struct(field: Field, version: int) -> bool:
    return field.kind == "struct" and not field.is_array and version in field.nullable


def _struct_reader(fields: Sequence[Field], version: int, *, flexible: bool) -> ReadRecord:
    absent = Record({field.name: field.default for field in fields})
    steps = tuple(_steps(fields, version, flexible=flexible))

    def read_struct(buf: bytes, at: int) -> tuple[Record, int]:
        record = Record(absent)
        for step in steps:
            at = step(record, buf, at)
        return record, at

    return read_struct


def _steps(fields: Sequence[Field], version: int, *, flexible: bool) -> Iterable[_Step]:
    for fixed, run in groupby(_plain_fields(fields, version), key=lambda field: field.is_fixed):
        if fixed:
            yield _fixed_step(list(run))
        else:
            for field in run:
                yield _step(field.name, _value_reader(field, version, flexible=flexible))
    if flexible:
        tagged = [field for field in fields if version in field.tagged]
        yield _tags_step(
            {field.tag: _step(field.name, _value_reader(field, version, flexible=True)) for field in tagged}
        )


def _fixed_step(run: Sequence[Field]) -> _Step:
    """Neighbours of fixed size are read at once."""
    names = tuple(field.name for field in run)
    form = Struct(">" + "".join(FIXED_FORMS[field.kind] for field in run))
    size, unpack_from = form.size, form.unpack_from

    def read_fixed(record: Record, buf: bytes, at: int) -> int:
        end = at + size
        if end > len(buf):
            raise _fault_in_run(run, buf, at)
        record.update(zip(names, unpack_from(buf, at), strict=True))
        return end

    def read_one(record: Record, buf: bytes, at: int) -> int:
        end = at + size
        if end > len(buf):
            raise _fault_in_run(run, buf, at)
        (record[name],) = unpack_from(buf, at)
        return end

    name = names[0]
    return read_one if len(names) == 1 else read_fixed


def _fault_in_run(run: Sequence[Field], buf: bytes, at: int) -> Fault:
    """The fault names the first field of the run that doesn't fit."""
    for field in run:
        size = Struct(">" + FIXED_FORMS[field.kind]).size
        if at + size > len(buf):
            fault = fault_of_cut(buf, at, size)
            fault.path.append(field.name)
            return fault
        at += size
    raise AssertionError("every field of the run fits")


def _step(name: str, read: Read) -> _Step:
    def read_named(record: Record, buf: bytes, at: int) -> int:
        try:
            record[name], at = read(buf, at)
        except Fault as fault:
            fault.path.append(name)
            raise
        return at

    return read_named


def _value_reader(field: Field, version: int, *, flexible: bool) -> Read:
    nullable = version in field.nullable
    if field.is_array:
        return _array_reader(field, version, flexible=flexible, nullable=nullable)
    if field.kind == "string":
        return string_reader(compact=flexible, nullable=nullable)
    if field.kind == "bytes":
        return bytes_reader(compact=flexible, nullable=nullable)
    if field.kind == "struct":
        read = _struct_reader(field.fields, version, flexible=flexible)
        return _nullable_struct_reader(read) if nullable else read
    return _fixed_reader(field)


def _fixed_reader(field: Field) -> Read:
    form = Struct(">" + FIXED_FORMS[field.kind])

    def read_fixed(buf: bytes, at: int) -> tuple[object, int]:
        end = at + form.size
        if end > len(buf):
            raise fault_of_cut(buf, at, form.size)
        return cast("object", form.unpack_from(buf, at)[0]), end

    return read_fixed


def _nullable_struct_reader(read: ReadRecord) -> Read:
    """A struct that may be null comes behind a signed byte, negative for null (KIP-893)."""

    def read_nullable(buf: bytes, at: int) -> tuple[object, int]:
        if at >= len(buf):
            raise fault_of_cut(buf, at, 1)
        return (None, at + 1) if buf[at] >= 0x80 else read(buf, at + 1)

    return read_nullable


def _array_reader(field: Field, version: int, *, flexible: bool, nullable: bool) -> Read:
    element = _element(field)
    read_elements = (
        _fixed_elements_reader(element)
        if element.is_fixed
        else _elements_reader(_value_reader(element, version, flexible=flexible))
    )
    read_size: ReadSize = read_compact_size if flexible else read_int32_size
    least = max(smallest_bytes(element, version, flexible=flexible), 1)
    are_structs = element.kind == "struct"

    def read_array(buf: bytes, at: int) -> tuple[object, int]:
        count, start = read_size(buf, at)
        if count < 0:
            if not nullable:
                raise Fault(at, "null, which it may not be")
            return None, start
        if count * least > len(buf) - start:
            raise Fault(at, f"{count} elements claimed, {len(buf) - start} bytes left")
        if isinstance(buf, AllowedBytes):
            buf.allowance.take(count, at, are_structs=are_structs)
        return read_elements(buf, start, count)

    return read_array


def _element(field: Field) -> Field:
    return Field(
        name=field.name,
        kind=field.kind,
        is_array=False,
        versions=field.versions,
        nullable=NO_VERSION,
        tagged=NO_VERSION,
        tag=-1,
        default=None,
        fields=field.fields,
    )


_ReadElements = Callable[[bytes, int, int], tuple[object, int]]


def _fixed_elements_reader(element: Field) -> _ReadElements:
    size = Struct(">" + FIXED_FORMS[element.kind]).size

    def read_fixed_elements(buf: bytes, at: int, count: int) -> tuple[object, int]:
        return array_struct(element.kind, count).unpack_from(buf, at), at + count * size

    return read_fixed_elements


def _elements_reader(read: Read) -> _ReadElements:
    def read_elements(buf: bytes, at: int, count: int) -> tuple[object, int]:
        found: list[object] = []
        try:
            for _ in range(count):
                value, at = read(buf, at)
                found.append(value)
        except Fault as fault:
            fault.path.append(f"[{len(found)}]")
            raise
        return found, at

    return read_elements


def _tags_step(known: dict[int, _Step]) -> _Step:
    def read_tags(record: Record, buf: bytes, at: int) -> int:
        if at < len(buf) and buf[at] == 0:
            return at + 1
        try:
            count, at = read_uvarint(buf, at)
            for _ in range(count):
                at = _read_tag(known, record, buf, at)
        except Fault as fault:
            if not fault.path:
                fault.path.append("tagged_fields")
            raise
        return at

    return read_tags


def _read_tag(known: dict[int, _Step], record: Record, buf: bytes, at: int) -> int:
    tag, at = read_uvarint(buf, at)
    size, start = read_uvarint(buf, at)
    end = start + size
    if end > len(buf):
        raise fault_of_cut(buf, start, size)
    step = known.get(tag)
    if step is not None:
        _read_known(step, record, part_of(buf, start, end), start)
    return end


def _read_known(step: _Step, record: Record, value: bytes, start: int) -> None:
    """Read a tag's value from bytes of its own, so that a tag costs what it has and not what stands before it."""
    try:
        found = step(record, value, 0)
        if found != len(value):
            raise Fault(found, f"{len(value) - found} bytes of the tag are left after its value")
    except Fault as fault:
        fault.offset += start
        raise
