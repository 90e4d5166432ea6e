"""How a key of the configuration is written down: as a field of a frozen value, with name, bounds and meaning."""

from dataclasses import Field, dataclass, field
from enum import StrEnum
from typing import TypeVar, cast

Names = tuple[str, ...]
Value = int | bool | str | Names
ValueT = TypeVar("ValueT", int, bool, str)

INT_MIN, INT_MAX, LONG_MAX = -(2**31), 2**31 - 1, 2**63 - 1


class Origin(StrEnum):
    """Who gave a key its name and meaning."""

    KAFKA = "kafka"
    BRIDGE = "bridge"


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """What is known of one key; bounds are inclusive, `choices` empty means any."""

    name: str
    field_name: str
    default: Value
    text: str
    minimum: int | None = None
    maximum: int | None = None
    choices: tuple[str, ...] = ()
    origin: Origin = Origin.BRIDGE
    per_group: bool = False
    is_secret: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What is allowed for a key besides its kind."""

    minimum: int | None = None
    maximum: int | None = None
    choices: tuple[str, ...] = ()
    origin: Origin = Origin.BRIDGE
    per_group: bool = False
    is_secret: bool = False
    """Values that are never shown, and that may hold a comma: NAME=VALUE pairs."""


def key(name: str, default: ValueT, text: str, bounds: Bounds | None = None) -> ValueT:
    """Make the field of a key with one value."""
    metadata = {"name": name, "text": text, "bounds": bounds or Bounds()}
    value: ValueT = field(default=default, metadata=metadata)
    return value


def names(name: str, default: Names, text: str, bounds: Bounds | None = None) -> Names:
    """Make the field of a key with several values."""
    metadata = {"name": name, "text": text, "bounds": bounds or Bounds()}
    value: Names = field(default=default, metadata=metadata)
    return value


def within(minimum: int = 1, maximum: int = INT_MAX) -> Bounds:
    """Return the bounds of a number, both inclusive."""
    return Bounds(minimum=minimum, maximum=maximum)


def kafka(minimum: int = 1, *, per_group: bool = False) -> Bounds:
    """Return the bounds of a number that Kafka named, both inclusive."""
    return Bounds(minimum=minimum, maximum=INT_MAX, origin=Origin.KAFKA, per_group=per_group)


def describe(item: "Field[Value]") -> Key:
    """Return what a field of settings says of its key."""
    bounds = cast(Bounds, item.metadata["bounds"])
    return Key(
        name=str(item.metadata["name"]),
        field_name=item.name,
        default=cast(Value, item.default),
        text=str(item.metadata["text"]),
        minimum=bounds.minimum,
        maximum=bounds.maximum,
        choices=bounds.choices,
        origin=bounds.origin,
        per_group=bounds.per_group,
        is_secret=bounds.is_secret,
    )
