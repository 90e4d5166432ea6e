"""Fields of any message, made from its schema, with as many elements in one array as asked for."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bridge.wire.codec.primitives import uvarint_bytes
from bridge.wire.codec.registry import body_bytes
from bridge.wire.codec.schema import Direction, Field, load_message
from translators.dialects.consumer_protocol import Subscription, encode_subscription
from translators.dialects.ids import TopicName

BLOB = encode_subscription(Subscription(version=1, topics=(TopicName("t"),), owned=frozenset()))
"""What stands for bytes of any meaning: most are a member's metadata."""


def array_paths(fields: Sequence[Field], version: int, before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every array of a message, as the names that lead there."""
    for field in fields:
        if version not in field.versions:
            continue
        path = (*before, field.name)
        if field.is_array:
            yield path
        yield from array_paths(field.fields, version, path)


@dataclass(frozen=True, slots=True)
class Grown:
    """Messages of one version with `count` elements in one array, each like the other or each another."""

    version: int
    count: int
    are_alike: bool = False

    def body(self, api_key: int, direction: Direction, path: tuple[str, ...]) -> bytes:
        """A body whose array at `path` is the long one; all others have one element."""
        fields = self.fields(load_message(api_key, direction).fields, path)
        return bytes(body_bytes(api_key, self.version, direction, fields))

    def fields(self, fields: Sequence[Field], path: tuple[str, ...]) -> dict[str, object]:
        """The same as fields."""
        made: dict[str, object] = {}
        for field in fields:
            if self.version not in field.versions:
                continue
            rest = path[1:] if path[:1] == (field.name,) else None
            if not field.is_array:
                made[field.name] = self._value(field, rest or (), 0)
                continue
            numbers = range(self.count if rest == () else 1)
            made[field.name] = [self._value(field, rest or (), 0 if self.are_alike else n) for n in numbers]
        return made

    def _value(self, field: Field, rest: tuple[str, ...], number: int) -> object:
        if field.kind != "struct":
            return _plain(field, number)
        made = self.fields(field.fields, rest)
        first = next((each for each in field.fields if self.version in each.versions and not each.is_array), None)
        if first is not None and first.kind != "struct":
            made[first.name] = _plain(first, number)
        return made


def _plain(field: Field, number: int) -> object:
    if field.kind == "string":
        return f"n{number:05}"
    if field.kind == "bytes":
        return BLOB
    if field.kind == "uuid":
        return number.to_bytes(16)
    return bool(number % 2) if field.kind == "bool" else number % 100


def tags(count: int, tag: int = 99, value: bytes = b"") -> bytes:
    """A tag section with one tag again and again."""
    return uvarint_bytes(count) + (uvarint_bytes(tag) + uvarint_bytes(len(value)) + value) * count
