"""Dataclasses whose methods are made when they are first looked up, for a process that is a bridge.

A start imports some 550 values and makes few of them before its first answer. `dataclasses` writes and compiles up to
six functions for each, which was half of all that a start took.
"""

import dataclasses
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError, InitVar, fields, is_dataclass
from reprlib import recursive_repr
from types import FunctionType
from typing import ClassVar, Protocol, TypeVar

ValueT = TypeVar("ValueT")
Options = Mapping[str, bool]
STANDARD = dataclasses.dataclass
OURS = frozenset({"bridge", "translators"})
UNDERSTOOD = frozenset({"eq", "frozen", "kw_only", "slots", "unsafe_hash"})
GUARDS = frozenset({"__setattr__", "__delattr__"})


class Value(Protocol):
    """What `dataclasses.fields` takes."""

    __dataclass_fields__: ClassVar[dict[str, Field[object]]]


class Factory:
    """What a parameter has by default where a value is made anew each time."""

    def __repr__(self) -> str:
        """As `dataclasses` writes it into signatures."""
        return "<factory>"


ABSENT = Factory()


class Late:
    """Stands for a method until somebody looks it up, and is then replaced by it."""

    __slots__ = ("_cls", "_make", "_name")

    def __init__(self, cls: type[Value], name: str, make: Callable[[type[Value]], FunctionType]) -> None:
        self._cls = cls
        self._name = name
        self._make = make

    def __get__(self, value: object, owner: type[object] | None = None) -> object:
        """The method, of a value or of its class. Two threads that come at once make it twice, and alike."""
        method = self._make(self._cls)
        method.__module__ = self._cls.__module__
        method.__qualname__ = f"{self._cls.__qualname__}.{self._name}"
        setattr(self._cls, self._name, method)
        return method.__get__(value, owner)


def make_methods_late() -> None:
    """From now on `dataclasses.dataclass` does this for modules of ours, in a process that has to be ours."""
    vars(dataclasses)["dataclass"] = late_dataclass


def late_dataclass(cls: type[object] | None = None, /, **options: bool) -> object:
    """As `dataclasses.dataclass`, with late methods where a class of ours asks for nothing rare."""

    def decorated(plain: type[ValueT]) -> type[ValueT]:
        if not _is_plain(plain, options):
            return STANDARD(**options)(plain)
        bare = STANDARD(init=False, repr=False, eq=False, slots=True, kw_only=options.get("kw_only", False))
        made = bare(plain)
        _give_methods(made, vars(plain), options)  # type: ignore[arg-type]  # it is a dataclass by now
        return made

    return decorated if cls is None else decorated(cls)


def _is_plain(cls: type[object], options: Options) -> bool:
    body = vars(cls)
    annotations = cls.__annotations__
    return (
        cls.__module__.partition(".")[0] in OURS
        and UNDERSTOOD.issuperset(options)
        and options.get("slots", False)
        and cls.__doc__ is not None
        and not (options.get("frozen") and GUARDS & body.keys())
        and not (options.get("unsafe_hash") and "__hash__" in body)
        and "self" not in annotations
        and not any(_is_for_init_only(kind) for kind in annotations.values())
        and not any(map(is_dataclass, cls.__mro__[1:]))
    )


def _is_for_init_only(annotation: object) -> bool:
    return isinstance(annotation, InitVar) or (isinstance(annotation, str) and "InitVar" in annotation)


def _give_methods(cls: type[Value], body: Mapping[str, object], options: Options) -> None:
    """What `dataclasses` would have given to a class with this body."""
    has_eq, is_frozen, is_hashed = (options.get(name, name == "eq") for name in ("eq", "frozen", "unsafe_hash"))
    has_hash = "__hash__" in body and not (body["__hash__"] is None and "__eq__" in body)
    told = vars(cls)["__dataclass_params__"]
    told.init = told.repr = True
    told.eq, told.frozen, told.unsafe_hash = has_eq, is_frozen, is_hashed
    for name, make in (("__init__", _init_of), ("__repr__", _repr_of), *((("__eq__", _eq_of),) if has_eq else ())):
        if name not in body:
            setattr(cls, name, Late(cls, name, make))
    if is_hashed or (has_eq and is_frozen and not has_hash):
        setattr(cls, "__hash__", Late(cls, "__hash__", _hash_of))  # noqa: B010 - the type checker knows no such method
    elif has_eq and not has_hash:
        setattr(cls, "__hash__", None)  # noqa: B010 - as above
    if is_frozen:
        _guard(cls, body)


def _guard(cls: type[Value], body: Mapping[str, object]) -> None:
    """Let nobody set or delete a field, and have copies and pickles made all the same."""

    def set_attribute(self: object, name: str, value: object) -> None:
        if type(self) is cls or name in cls.__dataclass_fields__:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)  # type: ignore[misc]  # its values have this method only

    def delete_attribute(self: object, name: str) -> None:
        if type(self) is cls or name in cls.__dataclass_fields__:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)  # type: ignore[misc]  # its values have this method only

    given = {
        "__setattr__": set_attribute,
        "__delattr__": delete_attribute,
        "__getstate__": _state_of,
        "__setstate__": _set_state,
    }
    for name in given.keys() - body.keys():
        setattr(cls, name, given[name])


def _state_of(self: Value) -> list[object]:
    return [getattr(self, one.name) for one in fields(self)]


def _set_state(self: Value, state: Iterable[object]) -> None:
    for one, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, one.name, value)


def _init_of(cls: type[Value]) -> FunctionType:
    """`__init__`. That of a frozen value calls the setters of its slots, which takes two thirds of `object`'s own."""
    is_frozen = vars(cls)["__dataclass_params__"].frozen
    every = fields(cls)
    known: dict[str, object] = {"absent__": ABSENT}
    lines = [line for one in every for line in _line_of(cls if is_frozen else None, one, known)]
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    asked = [one for one in every if one.init]
    by_place = [_parameter(one, known) for one in asked if not one.kw_only]
    by_name = [_parameter(one, known) for one in asked if one.kw_only]
    parameters = ("self", *by_place, *(("*", *by_name) if by_name else ()))
    method = _written(cls, f"__init__({', '.join(parameters)})", lines or ["pass"], known)
    method.__annotations__ = {**{one.name: one.type for one in asked}, "return": None}
    return method


def _line_of(frozen: type[Value] | None, one: Field[object], known: dict[str, object]) -> list[str]:
    value = one.name
    if one.default_factory is not MISSING:
        known[f"make__{one.name}"] = one.default_factory
        value = f"make__{one.name}()" + (f" if {one.name} is absent__ else {one.name}" if one.init else "")
    elif not one.init:
        if one.default is MISSING:
            return []
        known[f"default__{one.name}"] = one.default
        value = f"default__{one.name}"
    if frozen is None:
        return [f"self.{one.name} = {value}"]
    known[f"set__{one.name}"] = getattr(frozen, one.name).__set__
    return [f"set__{one.name}(self, {value})"]


def _parameter(one: Field[object], known: dict[str, object]) -> str:
    if one.default_factory is not MISSING:
        return f"{one.name}=absent__"
    if one.default is MISSING:
        return one.name
    known[f"default__{one.name}"] = one.default
    return f"{one.name}=default__{one.name}"


def _repr_of(cls: type[Value]) -> FunctionType:
    names = [one.name for one in fields(cls) if one.repr]

    def told(self: object) -> str:
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{self.__class__.__qualname__}({values})"

    told.__name__ = "__repr__"
    guarded = recursive_repr("...")(told)
    assert isinstance(guarded, FunctionType), "reprlib wraps a function in a function"
    return guarded


def _eq_of(cls: type[Value]) -> FunctionType:
    names = [one.name for one in fields(cls) if one.compare]
    lines = (
        "if other.__class__ is self.__class__:",
        f"    return {_tuple_of('self', names)} == {_tuple_of('other', names)}",
        "return NotImplemented",
    )
    return _written(cls, "__eq__(self, other)", lines, {})


def _hash_of(cls: type[Value]) -> FunctionType:
    names = [one.name for one in fields(cls) if (one.compare if one.hash is None else one.hash)]
    return _written(cls, "__hash__(self)", (f"return hash({_tuple_of('self', names)})",), {})


def _tuple_of(value: str, names: Sequence[str]) -> str:
    return f"({''.join(f'{value}.{name}, ' for name in names)})"


def _written(cls: type[object], head: str, lines: Iterable[str], known: Mapping[str, object]) -> FunctionType:
    """A function of these lines that sees `known` and, as any of its class, the names of its module."""
    name = head.partition("(")[0]
    body = "".join(f"\n        {line}" for line in lines)
    place: dict[str, FunctionType] = {}
    text = f"def make({', '.join(known)}):\n    def {head}:{body}\n    return {name}"
    exec(text, vars(sys.modules[cls.__module__]), place)  # noqa: S102 - as `dataclasses` makes them
    method = place["make"](**known)
    assert isinstance(method, FunctionType), "the text defines one"
    return method
