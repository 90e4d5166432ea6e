"""Any value of a dialect class, made from its type hints: what a codec must carry."""

from collections.abc import Hashable
from dataclasses import fields, is_dataclass
from enum import IntEnum
from functools import cache
from types import NoneType, UnionType
from typing import NewType, Union, cast, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from translators.dialects.ids import TopicId

_PLAIN: dict[object, st.SearchStrategy[object]] = {
    str: st.text(max_size=6),
    bytes: st.binary(max_size=6),
    bool: st.booleans(),
    int: st.integers(-128, 127),
    NoneType: st.none(),
    TopicId: st.binary(min_size=16, max_size=16),
}
"""Numbers fit the smallest type on the wire."""


def values_of(kind: object) -> st.SearchStrategy[object]:
    """Any value of a type: a dataclass, named tuple, enum, NewType, union, tuple, frozenset or plain type.

    Made once for each: tests ask in every example, and Hypothesis would look through each new one anew.
    """
    return _values_of(kind)


@cache
def _values_of(kind: Hashable) -> st.SearchStrategy[object]:
    if kind in _PLAIN:
        return _PLAIN[kind]
    if isinstance(kind, NewType):
        return values_of(kind.__supertype__)
    if get_origin(kind) in {Union, UnionType}:
        return st.one_of(*map(values_of, get_args(kind)))
    if get_origin(kind) is tuple:
        return st.lists(values_of(get_args(kind)[0]), max_size=3).map(tuple)
    if get_origin(kind) is frozenset:
        return st.frozensets(values_of(get_args(kind)[0]), max_size=4)
    return _values_of_class(cast("type[object]", kind))


def _values_of_class(kind: type[object]) -> st.SearchStrategy[object]:
    if issubclass(kind, IntEnum):
        return st.sampled_from(list(kind))
    assert is_dataclass(kind) or issubclass(kind, tuple)
    taken = {each.name for each in fields(kind) if each.init} if is_dataclass(kind) else set(kind.__annotations__)
    return st.builds(kind, **{name: values_of(hint) for name, hint in get_type_hints(kind).items() if name in taken})
