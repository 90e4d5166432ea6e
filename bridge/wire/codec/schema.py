"""Kafka's message schemas as values: what fields a message has, in which versions and forms.

It knows Kafka's JSON form and where the texts lie, and must not know how bytes are read or written.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache, lru_cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from struct import Struct
from typing import NotRequired, TypedDict, cast

from bridge.wire.apis import ApiKey


class Direction(Enum):
    """Which way a message goes."""

    REQUEST = "Request"
    RESPONSE = "Response"


@dataclass(frozen=True, slots=True)
class Versions:
    """A range of versions, both ends included; an empty one ends before it begins."""

    first: int
    last: int

    def __contains__(self, version: int) -> bool:
        return self.first <= version <= self.last


NO_VERSION = Versions(0, -1)
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
    versions: Versions
    nullable: Versions
    tagged: Versions
    tag: int
    default: object
    fields: tuple["Field", ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message: its api, the versions that Kafka still describes, and its fields."""

    name: str
    api_key: int
    versions: Versions
    flexible: Versions
    fields: tuple[Field, ...]


MESSAGE_NAMES: dict[int, str] = {
    ApiKey.METADATA: "Metadata",
    ApiKey.OFFSET_COMMIT: "OffsetCommit",
    ApiKey.OFFSET_FETCH: "OffsetFetch",
    ApiKey.FIND_COORDINATOR: "FindCoordinator",
    ApiKey.JOIN_GROUP: "JoinGroup",
    ApiKey.HEARTBEAT: "Heartbeat",
    ApiKey.LEAVE_GROUP: "LeaveGroup",
    ApiKey.SYNC_GROUP: "SyncGroup",
    ApiKey.DESCRIBE_GROUPS: "DescribeGroups",
    ApiKey.LIST_GROUPS: "ListGroups",
    ApiKey.API_VERSIONS: "ApiVersions",
    ApiKey.TXN_OFFSET_COMMIT: "TxnOffsetCommit",
    ApiKey.DELETE_GROUPS: "DeleteGroups",
    ApiKey.OFFSET_DELETE: "OffsetDelete",
    ApiKey.DESCRIBE_CLUSTER: "DescribeCluster",
    ApiKey.CONSUMER_GROUP_HEARTBEAT: "ConsumerGroupHeartbeat",
    ApiKey.CONSUMER_GROUP_DESCRIBE: "ConsumerGroupDescribe",
}
"""The apis that can be read and written here."""

_OWN = frozenset({ApiKey.CONSUMER_GROUP_HEARTBEAT, ApiKey.CONSUMER_GROUP_DESCRIBE})
_OWN_PACKAGE = "bridge.wire.codec.schemas"


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


@cache
def load_message(api_key: int, direction: Direction) -> Message:
    """The schema of an api's request or answer; KeyError for an api that isn't in `MESSAGE_NAMES`."""
    return parse_message(_message_text(MESSAGE_NAMES[api_key] + direction.value, own=api_key in _OWN))


def parse_message(text: str) -> Message:
    """Read a schema in Kafka's JSON form, whose comments are lines that begin with two slashes."""
    raw = cast("_MessageText", json.loads(re.sub(r"(?m)^\s*//.*$", "", text)))
    return Message(
        name=raw["name"],
        api_key=raw["apiKey"],
        versions=parse_versions(raw["validVersions"]),
        flexible=parse_versions(raw["flexibleVersions"]),
        fields=_fields(raw["fields"]),
    )


def parse_versions(text: str) -> Versions:
    """Read a version range: `0+`, `2-7`, `1` or `none`."""
    if text == "none":
        return NO_VERSION
    first, plus, _ = text.partition("+")
    if plus:
        return Versions(int(first), _NEWEST)
    first, dash, last = text.partition("-")
    return Versions(int(first), int(last) if dash else int(first))


@lru_cache(maxsize=128)
def array_struct(kind: str, count: int) -> Struct:
    """The `struct` of so many values of one fixed type."""
    form = FIXED_FORMS[kind]
    return Struct(">" + (f"{count}{form}" if len(form) == 1 else form * count))


def _fields(raw: Sequence[_FieldText]) -> tuple[Field, ...]:
    return tuple(_field(each) for each in raw)


def _field(raw: _FieldText) -> Field:
    is_array = raw["type"].startswith("[]")
    kind = raw["type"].removeprefix("[]")
    if "fields" in raw:
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
        fields=_fields(raw.get("fields", [])),
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


def _message_text(name: str, *, own: bool) -> str:
    if own:
        return files(_OWN_PACKAGE).joinpath(f"{name}.json").read_text(encoding="utf-8")
    return (_kafka_python_schemas() / f"{name}.json").read_text(encoding="utf-8")


@cache
def _kafka_python_schemas() -> Path:
    """The folder of the schemas in kafka-python, found without importing it: that would start its whole client."""
    spec = find_spec("kafka")
    places = list(spec.submodule_search_locations or ()) if spec else []
    if not places:
        raise ModuleNotFoundError(
            "EB-WIRE-003: no package 'kafka' found, whose schemas are needed; run: pip install 'kafka-python==3.0.*'"
        )
    return Path(places[0], "protocol", "schemas", "resources")
