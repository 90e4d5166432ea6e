"""Kafka's wire format read and written by field lists, in one line a message: a codec of this suite's own.

It knows primitive types, versions and tagged fields, and must not know the bridge's codecs, which it is to judge.
"""

import re
import struct
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Value: TypeAlias = "Mapping[str, Value] | Sequence[Value] | str | bytes | int | bool | None"

FORMATS = {"i8": ">b", "i16": ">h", "i32": ">i", "i64": ">q", "bool": ">?"}
TOKEN = re.compile(r"[\[\](){}]|[^\s\[\](){}]+")
CLOSING = {"[": ("]", "list"), "{": ("}", "struct"), "(": (")", "plain")}
VERSION_MAX = 99


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field: its name, type (`list` and `struct` have `parts`) and the versions that have it."""

    name: str
    kind: str
    parts: tuple["Field", ...]
    first: int
    last: int

    def is_in(self, version: int) -> bool:
        """Whether this version has it."""
        return self.first <= version <= self.last


def parse_fields(text: str) -> tuple[Field, ...]:
    """Read a field list: `name:type@first-last`, `name:[ ... ]@3+` for arrays, `name:{ ... }` for nullable
    structs, `name:( ... )` for others."""
    return _parse_until(TOKEN.findall(text)[::-1], "")


def _parse_until(tokens: list[str], end: str) -> tuple[Field, ...]:
    fields: list[Field] = []
    while tokens and tokens[-1] != end:
        name, _, kind = tokens.pop().partition(":")
        parts: tuple[Field, ...] = ()
        if not kind.partition("@")[0] and name and tokens and tokens[-1] in CLOSING:
            closing, kind = CLOSING[tokens.pop()]
            parts = _parse_until(tokens, closing)
            tokens.pop()
            kind += tokens.pop() if tokens and tokens[-1].startswith("@") else ""
        kind, _, span = kind.partition("@")
        first, last = _parse_span(span)
        fields.append(Field(name=name, kind=kind, parts=parts, first=first, last=last))
    return tuple(fields)


def _parse_span(span: str) -> tuple[int, int]:
    if not span:
        return 0, VERSION_MAX
    first, _, last = span.rstrip("+").partition("-")
    return int(first), int(last) if last else (VERSION_MAX if span.endswith("+") else int(first))


class Writer:
    """Bytes of one message in one version."""

    def __init__(self, version: int, *, flexible: bool) -> None:
        self._version, self._flexible = version, flexible
        self.data = bytearray()

    def write_struct(self, fields: Sequence[Field], values: Mapping[str, Value]) -> None:
        """Append the fields that this version has; missing ones are empty."""
        names = {field.name for field in fields}
        assert set(values) <= names, f"no such field: {set(values) - names} among {sorted(names)}"
        for field in fields:
            if field.is_in(self._version):
                self._write(field, values.get(field.name))
        if self._flexible:
            self.data += b"\x00"

    def _write(self, field: Field, value: Value) -> None:
        if field.kind in FORMATS:
            assert value is None or isinstance(value, int)
            self.data += struct.pack(FORMATS[field.kind], value or 0)
        elif field.kind == "uuid":
            assert isinstance(value, str)
            self.data += uuid.UUID(value).bytes
        elif field.kind == "list":
            self._write_list(field, value)
        else:
            self._write_bytes(value, wide=field.kind == "b")

    def _write_list(self, field: Field, value: Value) -> None:
        if value is None:
            self.data += b"\x00" if self._flexible else struct.pack(">i", -1)
            return
        assert isinstance(value, Sequence)
        self.data += varint(len(value) + 1) if self._flexible else struct.pack(">i", len(value))
        for element in value:
            if field.parts[0].name:
                assert isinstance(element, Mapping)
                self.write_struct(field.parts, element)
            else:
                self._write(field.parts[0], element)

    def _write_bytes(self, value: Value, *, wide: bool) -> None:
        assert value is None or isinstance(value, str | bytes), value
        data = value.encode() if isinstance(value, str) else value
        if self._flexible:
            self.data += varint(0 if data is None else len(data) + 1)
        else:
            self.data += struct.pack(">i" if wide else ">h", -1 if data is None else len(data))
        self.data += data or b""


class Reader:
    """Values out of the bytes of one message in one version; leftover or missing bytes are a ValueError."""

    def __init__(self, data: bytes, version: int, *, flexible: bool) -> None:
        self._data, self._at = data, 0
        self._version, self._flexible = version, flexible

    def read_struct(self, fields: Sequence[Field]) -> dict[str, Value]:
        """Take the fields that this version has."""
        values = {field.name: self._read(field) for field in fields if field.is_in(self._version)}
        if self._flexible:
            self.skip_tags()
        return values

    def check_end(self) -> None:
        """Fail if bytes are left."""
        if self._at != len(self._data):
            raise ValueError(f"{len(self._data) - self._at} bytes are left of {self._data!r}")

    def take(self, count: int) -> bytes:
        """The next bytes."""
        piece = self._data[self._at : self._at + count]
        if len(piece) != count:
            raise ValueError(f"{count} bytes wanted at {self._at} of {self._data!r}")
        self._at += count
        return piece

    def skip_tags(self) -> None:
        """Pass over tagged fields."""
        for _ in range(self.varint()):
            self.varint()
            self.take(self.varint())

    def varint(self) -> int:
        """An unsigned variable-length number."""
        number, shift = 0, 0
        while True:
            byte = self.take(1)[0]
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                return number
            shift += 7

    def number(self, kind: str) -> int:
        """A number of fixed width."""
        form = FORMATS[kind]
        unpacked: tuple[int] = struct.unpack(form, self.take(struct.calcsize(form)))
        return unpacked[0]

    def _read(self, field: Field) -> Value:
        if field.kind in FORMATS:
            return self.number(field.kind)
        if field.kind == "uuid":
            return str(uuid.UUID(bytes=self.take(16)))
        if field.kind == "struct":
            return self.read_struct(field.parts) if self.number("i8") >= 0 else None
        if field.kind == "plain":
            return self.read_struct(field.parts)
        if field.kind == "list":
            count = self.varint() - 1 if self._flexible else self.number("i32")
            return None if count < 0 else [self._element(field.parts) for _ in range(count)]
        wide = field.kind == "b"
        count = self.varint() - 1 if self._flexible else self.number("i32" if wide else "i16")
        if count < 0:
            return None
        return self.take(count) if wide else self.take(count).decode()

    def _element(self, parts: Sequence[Field]) -> Value:
        return self.read_struct(parts) if parts[0].name else self._read(parts[0])


def varint(number: int) -> bytes:
    """An unsigned number in groups of seven bits, least first."""
    data = bytearray()
    while number >= 0x80:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*data, number])
