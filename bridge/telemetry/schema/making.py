"""Makes values of the event log quick to make: the type checker keeps them frozen, the interpreter need not.

It must not know what the values say.
"""

from dataclasses import MISSING, Field, field, fields, make_dataclass
from typing import ClassVar, Protocol, TypeVar


class Value(Protocol):
    """A dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Field[object]]]


ValueT = TypeVar("ValueT", bound=Value)


def unguarded(value: type[ValueT]) -> type[ValueT]:
    """The frozen dataclass without its guard at run time, as are to be those that it inherits from.

    The guard has to be evaded for each field of each new value: 2 µs of a fact's 4 µs, 18 times a moved member.
    All else stays: fields, equality, hash, `replace`. A default that is made for each value is not taken over.
    """
    arguments = [_as_argument(each) for each in fields(value)]
    # Only `__init__` is wanted; a text of its own saves the class the one that is made of its signature.
    plain = make_dataclass(value.__name__, arguments, namespace={"__doc__": value.__doc__}, repr=False, eq=False)
    type.__setattr__(value, "__init__", vars(plain)["__init__"])
    for guard in ("__setattr__", "__delattr__"):
        type.__delattr__(value, guard)
    return value


def _as_argument(known: Field[object]) -> tuple[str, type[object], object]:
    """The same field as an argument of `__init__`, by position or name, and with the same default."""
    if known.default is MISSING:
        return known.name, object, field(kw_only=known.kw_only)
    return known.name, object, field(default=known.default, kw_only=known.kw_only)
