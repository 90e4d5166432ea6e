"""Assignors that other distributions bring, found by the entry point group `epochbridge.assignors`."""

from collections.abc import Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import TypeGuard

from bridge.engine.assignors.interface import Assignor
from bridge.engine.assignors.registry import extend_registry

GROUP = "epochbridge.assignors"


class PluginUnusable(Exception):
    """An entry point brings no assignor (EB-ASSIGNOR-002) or one whose name is taken (EB-ASSIGNOR-001)."""


def load_assignors(found: Iterable[EntryPoint] | None = None) -> Mapping[str, Assignor]:
    """The built-in assignors followed by the plugged-in ones, by name; raises PluginUnusable.

    An entry point names an `Assignor`, or a class or function without arguments that makes one.
    """
    points = entry_points(group=GROUP) if found is None else found
    plugins = [_load(point) for point in sorted(points, key=lambda point: point.name)]
    try:
        return extend_registry(plugins)
    except ValueError as problem:
        raise PluginUnusable(str(problem)) from problem


def _load(point: EntryPoint) -> Assignor:
    try:
        loaded: object = point.load()
        made: object = loaded() if callable(loaded) else loaded
    except Exception as problem:
        raise PluginUnusable(
            f"EB-ASSIGNOR-002: the assignor {point.name!r} ({point.value}) can't be loaded: {problem!r}; "
            f"repair or uninstall the distribution that brings it"
        ) from problem
    if not _is_assignor(made):
        raise PluginUnusable(
            f"EB-ASSIGNOR-002: the entry point {point.name!r} ({point.value}) brings {made!r}, which has no name and "
            f"assign(spec); see bridge.engine.assignors.interface.Assignor"
        )
    return made


def _is_assignor(made: object) -> TypeGuard[Assignor]:
    name: object = getattr(made, "name", None)
    return isinstance(name, str) and bool(name) and callable(getattr(made, "assign", None))
