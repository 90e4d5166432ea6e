"""The table of assignors by name: the built-in ones, and how plugged-in ones are added."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from bridge.engine.assignors.interface import Assignor
from bridge.engine.assignors.range import Range
from bridge.engine.assignors.uniform import Uniform

_BUILT_IN: tuple[Assignor, ...] = (Uniform(), Range())

registry: Mapping[str, Assignor] = MappingProxyType({assignor.name: assignor for assignor in _BUILT_IN})
"""The built-in assignors; the first is the default, as in Kafka's `group.consumer.assignors`."""


def extend_registry(plugins: Iterable[Assignor]) -> Mapping[str, Assignor]:
    """Return the built-in assignors followed by `plugins`; a name that is taken raises ValueError (EB-ASSIGNOR-001)."""
    table = dict(registry)
    for plugin in plugins:
        if plugin.name in table:
            raise ValueError(
                f"EB-ASSIGNOR-001: two assignors are named {plugin.name!r}; a plug-in probably reuses the name of a "
                f"built-in one or is installed twice. Rename it or uninstall one of them; taken: {sorted(table)}."
            )
        table[plugin.name] = plugin
    return MappingProxyType(table)
