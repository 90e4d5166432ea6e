"""Kafka's message schemas as values: what fields a message has, in which versions and forms."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache, lru_cache
from importlib.resources import files
from struct import Struct
from typing import NotRequired, TypedDict, cast

from bridge.wire.apis import ApiKey, api_name
from bridge.wire.versions import VersionRange


class Direction(Enum):
    """Which way a message goes."""

    REQUEST = "Request"
    RESPONSE = "Response"


NO_VERSION = VersionRange(0, -1)
_NEWEST = 32767

FIXED_FORMS = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "int64": "q",
    "float64": "d",
    "uuid": "16s",
}
"""Types of fixed size, as format characters of `struct`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field; `kind` is a type of `FIXED_FORMS`, `string`, `bytes` or `struct`, of which an array may hold many."""

    name: str
    kind: str
    is_array: bool
    versions: VersionRange
    nullable: VersionRange
    tagged: VersionRange
    tag: int
    default: object
    fields: tuple["Field", ...]

    @property
    def is_fixed(self) -> bool:
        """Whether it takes as many bytes in every message."""
        return self.kind in FIXED_FORMS and not self.is_array


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message: its api, the versions that Kafka still describes, and its fields."""

    name: str
    api_key: int
    versions: VersionRange
    flexible: VersionRange
    fields: tuple[Field, ...]


MESSAGE_KEYS = (
    ApiKey.METADATA,
    ApiKey.OFFSET_COMMIT,
    ApiKey.OFFSET_FETCH,
    ApiKey.FIND_COORDINATOR,
    ApiKey.JOIN_GROUP,
    ApiKey.HEARTBEAT,
    ApiKey.LEAVE_GROUP,
    ApiKey.SYNC_GROUP,
    ApiKey.DESCRIBE_GROUPS,
    ApiKey.LIST_GROUPS,
    ApiKey.API_VERSIONS,
    ApiKey.TXN_OFFSET_COMMIT,
    ApiKey.DELETE_GROUPS,
    ApiKey.OFFSET_DELETE,
    ApiKey.DESCRIBE_CLUSTER,
    ApiKey.CONSUMER_GROUP_HEARTBEAT,
    ApiKey.CONSUMER_GROUP_DESCRIBE,
    ApiKey.DESCRIBE_CONFIGS,
    ApiKey.ALTER_CONFIGS,
    ApiKey.INCREMENTAL_ALTER_CONFIGS,
    ApiKey.LIST_CONFIG_RESOURCES,
)
"""The apis whose definitions lie in `bridge.wire.codec.schemas`."""

_PACKAGE = "bridge.wire.codec.schemas"


class _FieldText(TypedDict):
    name: str
    type: str
    versions: str
    nullableVersions: NotRequired[str]
    taggedVersions: NotRequired[str]
    tag: NotRequired[int]
    default: NotRequired[object]
    fields: NotRequired[list["_FieldText"]]


class _MessageText(TypedDict):
    name: str
    apiKey: int
    validVersions: str
    flexibleVersions: str
    fields: list[_FieldText]
    commonStructs: NotRequired[list[_FieldText]]


@cache
def load_message(api_key: int, direction: Direction) -> Message:
    """The schema of an api's request or answer; FileNotFoundError for an api that isn't in `MESSAGE_KEYS`."""
    name = api_name(api_key) + direction.value
    return parse_message(files(_PACKAGE).joinpath(f"{name}.json").read_text(encoding="utf-8"))


def parse_message(text: str) -> Message:
    """Read a schema in Kafka's JSON form, whose comments are lines that begin with two slashes."""
    raw = cast("_MessageText", json.loads(re.sub(r"(?m)^\s*//.*$", "", text)))
    common = {each["name"]: each["fields"] for each in raw.get("commonStructs", [])}
    return Message(
        name=raw["name"],
        api_key=raw["apiKey"],
        versions=parse_versions(raw["validVersions"]),
        flexible=parse_versions(raw["flexibleVersions"]),
        fields=_fields(raw["fields"], common),
    )


def parse_versions(text: str) -> VersionRange:
    """Read a version range: `0+`, `2-7`, `1` or `none`."""
    if text == "none":
        return NO_VERSION
    first, plus, _ = text.partition("+")
    if plus:
        return VersionRange(int(first), _NEWEST)
    first, dash, last = text.partition("-")
    return VersionRange(int(first), int(last) if dash else int(first))


@lru_cache(maxsize=128)
def array_struct(kind: str, count: int) -> Struct:
    """The `struct` of so many values of one fixed type."""
    form = FIXED_FORMS[kind]
    return Struct(">" + (f"{count}{form}" if len(form) == 1 else form * count))


_Structs = Mapping[str, Sequence[_FieldText]]
"""Fields by the name of their struct: those that a message uses in several places."""


def _fields(raw: Sequence[_FieldText], common: _Structs) -> tuple[Field, ...]:
    return tuple(_field(each, common) for each in raw)


def _field(raw: _FieldText, common: _Structs) -> Field:
    is_array = raw["type"].startswith("[]")
    kind = raw["type"].removeprefix("[]")
    inner = raw.get("fields", common.get(kind))
    if inner is not None:
        kind = "struct"
    elif kind not in FIXED_FORMS and kind not in {"string", "bytes"}:
        raise ValueError(f"field {raw['name']} has type {raw['type']}, which this reader doesn't know")
    return Field(
        name=_snake_case(raw["name"]),
        kind=kind,
        is_array=is_array,
        versions=parse_versions(raw["versions"]),
        nullable=parse_versions(raw.get("nullableVersions", "none")),
        tagged=parse_versions(raw.get("taggedVersions", "none")),
        tag=raw.get("tag", -1),
        default=_default(kind, is_array, raw.get("default")),
        fields=_fields(inner or (), common),
    )


def _default(kind: str, is_array: bool, text: object) -> object:
    """What a field is worth in versions without it, as Kafka's generated classes have it."""
    if text == "null":
        return None
    if is_array:
        return ()
    if kind == "bool":
        return str(text).lower() == "true"
    if kind == "string":
        return "" if text is None else str(text)
    if kind in {"bytes", "uuid"}:
        return bytes(16 if kind == "uuid" else 0)
    return None if kind == "struct" else int(str(text or 0))


def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
